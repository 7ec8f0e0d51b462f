//! Grids of penalties, judged on rows held out, all as lanes of one pass: see [`search`]; and what becomes of a model
//! along λ₁: see [`path`].

mod folds;
mod grid;
mod halving;
mod lane_grid;
mod path;

pub use folds::Folds;
pub use grid::{Numbers, Point, points};
pub use halving::{Dropped, Outcome, Score, Search, Stage, choose, search, summed};
pub use path::{Stop, path};

use crate::optim::sgd::Diverged;
use crate::problem::task::Task;
use crate::util::error::{Error, Kind, Place};
use crate::util::parameter::Parameter;

/// Rows that are not learnt, but judged on.
#[derive(Clone, Debug)]
pub enum Held<'a> {
    /// Each row is held out from the lanes of its fold.
    Folds(Folds),
    /// Rows of their own.
    Rows(&'a Task),
    /// None.
    Nothing,
}

impl Held<'_> {
    /// How many lanes a point has.
    fn folds(&self) -> usize {
        match self {
            Held::Folds(folds) => folds.count(),
            Held::Rows(_) | Held::Nothing => 1,
        }
    }

    /// How many of all rows the lanes of a fold learn.
    fn learnt(&self, fold: usize, rows: usize) -> usize {
        match self {
            Held::Folds(folds) => rows - folds.rows(fold).len(),
            Held::Rows(_) | Held::Nothing => rows,
        }
    }
}

/// The error for a grid that diverged.
fn lost(at: Diverged, place: Place, epoch: u64) -> Error {
    let what = "every model of the grid diverged (NaN or infinity)".to_string();
    let hint = format!("lower {}, or use {}", Parameter::Eta0, Parameter::Scale.set("std"));
    Kind::Diverged { place, epoch, step: at.t, what, hint }.into()
}
