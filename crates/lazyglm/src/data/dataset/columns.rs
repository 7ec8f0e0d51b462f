//! What the columns of a table say of its values: numbers in units far apart, and categories that name single rows.

use super::Dataset;
use crate::data::feature_ids::FeatureIds;
use crate::data::features::Features;
use crate::data::read_config::ReadConfig;
use crate::data::scaling::{Columns, Scale, Scaling};
use crate::util::error::{Result, excerpt};
use crate::util::parameter::{Parameter, WARNING};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Least ratio of the largest to the smallest standard deviation at which units are far apart.
const FAR_APART: f64 = 10.0;
/// Least number of rows that can tell a category from a name of each row.
const ENOUGH_ROWS: usize = 20;

/// Factors that divide each column of numbers by its standard deviation. Other columns have the factor one. `None` if the data are
/// not a table, or if all columns have about the same unit.
pub(crate) fn scale_of_numbers(
    features: &Features,
    reading: &ReadConfig,
    mut scale: Vec<f64>,
) -> Option<Vec<f64>> {
    let numbers: HashSet<String> = reading.spec.number_columns().into_iter().collect();
    if numbers.is_empty() || !matches!(*features.feature_ids, FeatureIds::Words(_)) {
        return None;
    }
    let [mut least, mut most] = [1.0f64; 2]; // the unit of one-hot features
    for (j, factor) in scale.iter_mut().enumerate() {
        match numbers.contains(&features.name(j)) {
            true => (least, most) = (least.min(*factor), most.max(*factor)),
            false => *factor = 1.0,
        }
    }
    (most >= FAR_APART * least).then_some(scale)
}

impl Dataset {
    /// The same rows with each column of numbers divided by its standard deviation. `None` if the data are no table, are scaled, or
    /// all columns have about the same unit. One-hot features have standard deviations near one, and stay as they are.
    pub(crate) fn with_scaled_numbers(&self, as_f32: bool) -> Result<Option<Dataset>> {
        if *self.features.scaling != Scaling::default() || self.reading.spec.number_columns().is_empty() {
            return Ok(None);
        }
        let mut columns = Columns::new(self.rows.columns());
        columns.see(self.rows.borrow());
        let scale = columns
            .scale(Scale::Std)
            .and_then(|scale| scale_of_numbers(&self.features, &self.reading, scale));
        let Some(scale) = scale else { return Ok(None) };
        let mut scaled = self.clone();
        scaled.features.scaling = Arc::new(Scaling { scale: Some(scale), ..Scaling::default() });
        scaled.features.scaling.apply(&mut scaled.rows, as_f32);
        Ok(Some(scaled))
    }

    /// Warnings about columns of categories of which nearly every row has its own: numbers that are written in another way,
    /// or names of rows.
    pub(super) fn many_categories(&self) -> Vec<String> {
        let columns: HashSet<String> = self.reading.spec.category_columns().into_iter().collect();
        if self.rows.len() < ENOUGH_ROWS || columns.is_empty() {
            return Vec::new();
        }
        let mut found: BTreeMap<String, (usize, String)> = BTreeMap::new();
        for j in 0..self.features.columns() {
            let name = self.features.name(j);
            let column = self.reading.spec.namespace(&name).into_owned();
            if column.len() < name.len() && columns.contains(&column) {
                let example = name[column.len()..].trim_start_matches(['=', '\\']).to_string();
                found.entry(column).or_insert((0, example)).0 += 1;
            }
        }
        let rows = self.rows.len();
        let of_column = |(column, (count, example)): (String, (usize, String))| {
            let (column, example) = (excerpt(column), excerpt(example));
            let drop = Parameter::Drop.set(&column);
            (2 * count > rows).then(|| {
                format!("{WARNING}column '{column}' has {count} categories in {rows} rows, such as '{example}': if they are numbers, write them as 1234.5; if each names a row, use {drop}")
            })
        };
        found.into_iter().filter_map(of_column).collect()
    }
}
