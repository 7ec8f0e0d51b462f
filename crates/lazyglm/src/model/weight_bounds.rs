//! Bounds of weights by feature name: numbers for all features or files with one number per feature, and features to
//! exclude from a model.

use super::warm_start::{column, numbers_by_name};
use crate::data::bytes;
use crate::data::features::Features;
use crate::util::error::{Error, Result, excerpt};
use crate::util::parameter::Parameter;
use crate::util::registry::suggest;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// Lower and upper bounds of weights by feature name, in the units of the data. Zero lies between the bounds of each
/// weight, and the weight of an excluded feature is zero.
///
/// ```
/// use lazyglm::{Features, WeightBounds};
/// let bounds = WeightBounds::parse(Some("-1"), None, Some("2")).unwrap().unwrap();
/// let (of_columns, strangers) = bounds.on(&Features::columns_from(1, 3)).unwrap();
/// assert_eq!((of_columns[0], of_columns[1], strangers), ([-1.0, f64::INFINITY], [0.0, 0.0], 0));
/// let error = WeightBounds::parse(Some("0.5"), None, None).unwrap_err().to_string();
/// assert!(error.contains("expected a number of at most 0"), "{error}");
/// ```
#[derive(Clone, Debug)]
pub struct WeightBounds {
    lower: Limit,
    upper: Limit,
    excluded: BTreeSet<String>,
    listed: bool, // whether the excluded names were given one by one, and not in a file
}

/// One side of the bounds.
#[derive(Clone, Debug)]
enum Limit {
    All(f64),
    ByName(HashMap<String, f64>),
}

impl WeightBounds {
    /// Parses bounds. Each is a number for all features, or a file with one `feature<TAB>number` per line, where other
    /// features have no bound. The features to exclude are names, separated by commas, or `@` and a file with one name
    /// per line. Returns `None` if nothing is given.
    pub fn parse(
        lower: Option<&str>,
        upper: Option<&str>,
        exclude: Option<&str>,
    ) -> Result<Option<WeightBounds>> {
        if lower.or(upper).or(exclude).is_none() {
            return Ok(None);
        }
        let excluded = exclude.map(names).transpose()?.unwrap_or_default();
        Ok(Some(WeightBounds {
            lower: Limit::parse(Parameter::Lower, lower, f64::NEG_INFINITY)?,
            upper: Limit::parse(Parameter::Upper, upper, f64::INFINITY)?,
            excluded,
            listed: exclude.is_some_and(|text| !text.starts_with('@')),
        }))
    }

    /// The bounds of a feature.
    pub fn of(&self, name: &str) -> [f64; 2] {
        match self.excluded.contains(name) {
            true => [0.0, 0.0],
            false => [self.lower.of(name, f64::NEG_INFINITY), self.upper.of(name, f64::INFINITY)],
        }
    }

    /// The bounds on the columns of a data set, in the units of these columns, and the number of names in files that
    /// have no column. A name that was given to be excluded, and has no column, is an error.
    pub fn on(&self, features: &Features) -> Result<(Vec<[f64; 2]>, usize)> {
        let (bounds, strangers) = self.on_columns(features);
        match strangers.iter().find(|name| self.listed && self.excluded.contains(**name)) {
            Some(name) => Err(unknown(name, features)),
            None => Ok((bounds, strangers.len())),
        }
    }

    /// The bounds on the columns of a data set, and on a column more for each of these features, which the data do not have.
    pub(crate) fn on_with(&self, features: &Features, more: &[String]) -> Vec<[f64; 2]> {
        let (mut bounds, _) = self.on_columns(features);
        bounds.extend(more.iter().map(|name| self.of(name)));
        bounds
    }

    /// The bounds on the columns, in the units of these columns, and the names without a column.
    fn on_columns(&self, features: &Features) -> (Vec<[f64; 2]>, Vec<&str>) {
        let (low, high) = (self.lower.of_all(f64::NEG_INFINITY), self.upper.of_all(f64::INFINITY));
        let (mut bounds, mut strangers) = (vec![[low, high]; features.columns()], Vec::new());
        for (side, limit) in [&self.lower, &self.upper].into_iter().enumerate() {
            let Limit::ByName(by_name) = limit else { continue };
            for (name, bound) in by_name {
                match column(features, name) {
                    Some(column) => bounds[column][side] = *bound,
                    None => strangers.push(name.as_str()),
                }
            }
        }
        for name in &self.excluded {
            match column(features, name) {
                Some(column) => bounds[column] = [0.0, 0.0],
                None => strangers.push(name),
            }
        }
        for (column, bounds) in bounds.iter_mut().enumerate() {
            *bounds = bounds.map(|bound| bound / features.scaling.factor(column));
        }
        (bounds, strangers)
    }
}

impl Limit {
    /// Parses one side; a bound that is not given is at this infinity.
    fn parse(parameter: Parameter, text: Option<&str>, infinity: f64) -> Result<Limit> {
        let Some(text) = text else { return Ok(Limit::All(infinity)) };
        let side = if infinity < 0.0 { "at most 0" } else { "at least 0" };
        let admits = |bound: f64| if infinity < 0.0 { bound <= 0.0 } else { bound >= 0.0 };
        match text.parse::<f64>() {
            Ok(bound) if admits(bound) => return Ok(Limit::All(bound + 0.0)), // not −0
            Err(_) if Path::new(text).exists() => {}
            _ => {
                let file = "a file with one feature<TAB>number per line";
                let expected =
                    format!("a number of {side}, because 0 must lie between the bounds, or {file}");
                return Err(Error::parameter(parameter, text, expected));
            }
        }
        let hint = format!("write feature<TAB>number, a number of {side}: 0 must lie between the bounds");
        let by_name = numbers_by_name(Path::new(text), "bound of a weight", &hint, admits)?;
        Ok(Limit::ByName(by_name))
    }

    fn of(&self, name: &str, infinity: f64) -> f64 {
        match self {
            Limit::All(bound) => *bound,
            Limit::ByName(by_name) => by_name.get(name).copied().unwrap_or(infinity),
        }
    }

    fn of_all(&self, infinity: f64) -> f64 {
        match self {
            Limit::All(bound) => *bound,
            Limit::ByName(_) => infinity,
        }
    }
}

/// The names of features to exclude.
fn names(text: &str) -> Result<BTreeSet<String>> {
    let listed: Vec<String> = match text.strip_prefix('@') {
        Some(file) => bytes::read_to_string(Path::new(file))?.lines().map(str::to_string).collect(),
        None => text.split(',').map(|name| name.trim().to_string()).collect(),
    };
    let names: BTreeSet<String> = listed.into_iter().filter(|name| !name.trim().is_empty()).collect();
    match names.is_empty() && !text.starts_with('@') {
        true => Err(Error::parameter(
            Parameter::Exclude,
            text,
            "names of features, separated by commas, or @ and a file with one name per line",
        )),
        false => Ok(names),
    }
}

fn unknown(name: &str, features: &Features) -> Error {
    let all: Vec<String> = (0..features.columns()).map(|column| features.name(column)).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let what = format!("{}: the data have no feature '{}'", Parameter::Exclude, excerpt(name));
    Error::call(what, suggest(name, &all))
}
