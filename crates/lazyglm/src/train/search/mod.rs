//! Grid search by held-out loss, with all models as lanes of one pass: [`search`]. The regularisation path: [`path`].

mod exact;
mod folds;
mod grid;
mod halving;
mod lane_grid;
mod path;

pub use exact::{ExactPath, ExactPaths, PathModel, PathProgress, strongest_l1};
pub use folds::Folds;
pub use grid::{Numbers, Point, points};
pub use halving::{Dropped, Outcome, Score, Search, Stage, choose, search, summed};
pub use path::{Stop, path};

use crate::optim::sgd::Diverged;
use crate::problem::task::Task;
use crate::util::error::{Error, Kind, Place};
use crate::util::parameter::Parameter;

/// The held-out rows of a grid search.
#[derive(Clone, Debug)]
pub enum Held<'a> {
    /// Cross-validation: each row is held out from the models of its fold.
    Folds(Folds),
    /// Separate rows.
    Rows(&'a Task),
    /// No held-out rows.
    Nothing,
}

impl Held<'_> {
    /// The number of models per grid point.
    fn folds(&self) -> usize {
        match self {
            Held::Folds(folds) => folds.count(),
            Held::Rows(_) | Held::Nothing => 1,
        }
    }

    /// The number of training rows for the models of a fold.
    fn learnt(&self, fold: usize, rows: usize) -> usize {
        match self {
            Held::Folds(folds) => rows - folds.rows(fold).len(),
            Held::Rows(_) | Held::Nothing => rows,
        }
    }
}

/// The error for a grid whose models have all diverged.
fn lost(at: Diverged, place: Place, epoch: u64) -> Error {
    let what = "every model of the grid diverged (NaN or infinity)".to_string();
    let hint = format!("lower {}, or use {}", Parameter::Eta0, Parameter::Scale.set("std"));
    Kind::Diverged { place, epoch, step: at.t, what, hint }.into()
}
