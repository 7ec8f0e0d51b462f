//! Checks of what a leader sends: the numbers fit the shard, and the loss is one that rounds can minimise.

use crate::data::rows::Examples;
use crate::problem::loss::{self, Loss};
use crate::util::error::{Error, Place, Result};
use std::sync::Arc;

/// The loss of this name. Rounds over shards need a slope that does not jump.
///
/// ```
/// use lazyglm::optim::shard::smooth_loss;
/// assert_eq!(smooth_loss("logistic").unwrap().spec(), "logistic");
/// assert!(smooth_loss("hinge").unwrap_err().to_string().contains("the slope of hinge jumps"));
/// ```
pub fn smooth_loss(name: &str) -> Result<Arc<dyn Loss>> {
    let loss = loss::parse(name)?;
    match loss.kinks(1.0).is_empty() {
        true => Ok(loss),
        false => {
            let what = format!("the slope of {name} jumps, and rounds over shards need one that does not");
            Err(refused(&what, "take squared-hinge, modified-huber, huber or logistic"))
        }
    }
}

/// Refuses arrays that do not have one number per column of the shard.
pub fn check_columns(examples: Examples, lengths: &[usize]) -> Result<()> {
    let columns = examples.rows.columns();
    match lengths.iter().find(|&&given| given != columns) {
        None => Ok(()),
        Some(given) => {
            let what = format!("the shard has {columns} columns, and {given} numbers were sent");
            Err(refused(&what, "give every partition the same features"))
        }
    }
}

/// An error about what a shard was sent.
pub fn refused(what: &str, hint: &str) -> Error {
    Error::data(Place::file("a shard"), what, hint)
}
