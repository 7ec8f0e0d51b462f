//! The algorithms there are, by name. To add one: a file that trains a task, and its line in [`SOLVERS`].

use super::{Progress, Trained, newton, train_online};
use crate::error::{Error, Result};
use crate::registry::suggest;
use crate::settings::Settings;
use crate::task::Task;

/// Trains a task; held-out rows are measured if there are any.
pub type Train = fn(&Task, Option<&Task>, &Settings, &mut dyn FnMut(&Progress)) -> Result<Trained>;

/// An algorithm.
///
/// ```
/// use lazyglm::SOLVERS;
/// let names: Vec<&str> = SOLVERS.iter().map(|solver| solver.name).collect();
/// assert_eq!(names, ["online", "newton"]);
/// ```
pub struct Solver {
    /// As it is asked for.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Whether it can go through rows that are not in memory.
    pub streams: bool,
    /// Does it.
    pub train: Train,
}

/// Every solver there is.
pub static SOLVERS: &[Solver] = &[
    Solver {
        name: "online",
        about: "stochastic steps, a row at a time, for a given number of epochs",
        streams: true,
        train: train_online,
    },
    Solver {
        name: "newton",
        about: "the minimiser, to a proved --tolerance; rows in memory, losses without kinks",
        streams: false,
        train: newton::train,
    },
];

/// The solver of this name.
pub(super) fn find(name: &str) -> Result<&'static Solver> {
    let names: Vec<&str> = SOLVERS.iter().map(|solver| solver.name).collect();
    SOLVERS
        .iter()
        .find(|solver| solver.name == name)
        .ok_or_else(|| Error::call(format!("there is no solver '{name}'"), suggest(name, &names)))
}
