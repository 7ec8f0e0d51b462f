//! Grid search by held-out loss, with all models as lanes of one pass: [`search`]. The regularisation path: [`path`].

mod abreast;
mod exact;
mod exact_run;
mod folds;
mod grid;
mod halving;
mod lane_grid;
mod path;
mod turns;

pub use exact::{ExactPath, ExactPaths, PathModel, PathProgress, strongest_l1};
pub use folds::Folds;
pub use grid::{Numbers, Point, points};
pub use halving::{Dropped, Outcome, Score, Search, Stage, choose, search, summed};
pub use path::{TrainedPoint, path};

use crate::optim::sgd::Diverged;
use crate::problem::source::Source;
use crate::problem::task::Task;
use crate::util::checkpoint::Key;
use crate::util::error::{Error, Kind, Place, Result};
use crate::util::parameter::Parameter;

/// The held-out rows of a grid search.
#[derive(Clone, Debug)]
pub enum HeldOutRows<'a> {
    /// Cross-validation: each row is held out from the models of its fold.
    Folds(Folds),
    /// Cross-validation with any training rows and held-out rows.
    Splits(Vec<Split>),
    /// Separate rows.
    Rows(&'a Task),
    /// No held-out rows.
    None,
}

/// The numbers of the training rows and of the held-out rows of one split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The training rows.
    pub learnt: Vec<usize>,
    /// The held-out rows.
    pub held: Vec<usize>,
}

impl HeldOutRows<'_> {
    /// Refuses splits without rows, and row numbers from `rows` up.
    fn check(&self, rows: usize) -> Result<()> {
        let HeldOutRows::Splits(splits) = self else { return Ok(()) };
        let wrong = |part: &Vec<usize>| part.is_empty() || part.iter().any(|&i| i >= rows);
        match splits.iter().any(|split| wrong(&split.learnt) || wrong(&split.held)) || splits.is_empty() {
            false => Ok(()),
            true => Err(Error::call(
                format!(
                    "a split has no training rows, no held-out rows, or rows beyond the {rows} there are"
                ),
                format!("give {} that hold out some rows and leave others to learn", Parameter::Folds),
            )),
        }
    }

    /// The rows to train on and the rows to evaluate on for one fold; `None` if all rows are trained on.
    fn split(&self, fold: usize, rows: usize) -> Option<Split> {
        match self {
            HeldOutRows::Folds(folds) => {
                let (held, learnt) = (0..rows).partition(|&i| folds.of(i) == fold);
                Some(Split { learnt, held })
            }
            HeldOutRows::Splits(splits) => splits.get(fold).cloned(),
            HeldOutRows::Rows(_) | HeldOutRows::None => None,
        }
    }

    /// A hash of the held-out rows.
    fn key(&self, rows: usize) -> Result<Key> {
        let key = Key::of("held");
        Ok(match self {
            HeldOutRows::Folds(folds) => {
                key.and_positions(&(0..rows).map(|i| folds.of(i)).collect::<Vec<_>>())
            }
            HeldOutRows::Splits(splits) => splits
                .iter()
                .fold(key, |key, split| key.and_positions(&split.learnt).and_positions(&split.held)),
            HeldOutRows::Rows(task) => key.and_key(task.fingerprint()?),
            HeldOutRows::None => key,
        })
    }

    /// The number of models per grid point.
    fn folds(&self) -> usize {
        match self {
            HeldOutRows::Folds(folds) => folds.count(),
            HeldOutRows::Splits(splits) => splits.len(),
            HeldOutRows::Rows(_) | HeldOutRows::None => 1,
        }
    }

    /// The number of training rows for the models of a fold.
    fn learnt(&self, fold: usize, rows: usize) -> usize {
        match self {
            HeldOutRows::Folds(folds) => rows - folds.rows(fold).len(),
            HeldOutRows::Splits(splits) => splits[fold].learnt.len(),
            HeldOutRows::Rows(_) | HeldOutRows::None => rows,
        }
    }
}

/// The error for a grid whose models have all diverged.
fn lost(at: Diverged, place: Place, epoch: u64) -> Error {
    let what = "every model of the grid diverged (NaN or infinity)".to_string();
    let hint = format!("lower {}, or use {}", Parameter::Eta0, Parameter::Scale.set("std"));
    Kind::Diverged { place, epoch, step: at.t, what, hint }.into()
}
