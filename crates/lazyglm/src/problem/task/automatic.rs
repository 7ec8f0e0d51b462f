//! The automatic choice of a loss for targets.

use super::targets::{one_class, too_many_classes};
use crate::data::labels::Labels;
use crate::problem::loss::{self, Loss};
use crate::util::error::{Place, Result};
use crate::util::parameter::{Parameter, WARNING};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The automatic loss: logistic for two distinct targets, squared for more than two distinct numbers.
pub(crate) fn automatic(labels: &Labels, file: Place, notes: &mut Vec<String>) -> Result<Arc<dyn Loss>> {
    match (labels.distinct(3).len(), labels) {
        (0 | 1, _) => Err(one_class(labels, file)),
        (2, _) => loss::parse("logistic"),
        (_, Labels::Numbers(numbers)) => {
            let (classify, regress) = (Parameter::Task.set("classify"), Parameter::Task.set("regress"));
            notes.push(match few_integers(numbers) {
                Some((count, low, high)) => format!(
                    "{WARNING}targets are {count} distinct whole numbers from {low} to {high}, and are learnt as numbers (loss \
                     squared, regression). If they are classes, use {classify}; {regress} says that they are numbers"
                ),
                None => format!(
                    "targets are more than two numbers: loss squared (regression). If they are classes, use {classify}"
                ),
            });
            loss::parse("squared")
        }
        _ => Err(too_many_classes(labels, file)),
    }
}

/// Most distinct whole numbers that may be meant as classes.
const FEW: usize = 100;

/// The number of distinct targets, the lowest and the highest, if they are few whole numbers.
fn few_integers(numbers: &[f64]) -> Option<(usize, f64, f64)> {
    let mut distinct = BTreeSet::new();
    for &y in numbers {
        if y.fract() != 0.0 || y.abs() > 1e9 || (distinct.insert(y as i64) && distinct.len() > FEW) {
            return None;
        }
    }
    let (low, high) = (distinct.first()?, distinct.last()?);
    Some((distinct.len(), *low as f64, *high as f64))
}
