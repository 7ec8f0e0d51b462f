//! The algorithms there are, by name. To add one: a file that trains a task, and its line in [`SOLVERS`].

use super::{Progress, Trained, auto, newton, train_online};
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
/// assert_eq!(names, ["auto", "online", "newton"]);
/// ```
pub struct Solver {
    /// As it is asked for.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Whether it can go through rows that are not in memory.
    pub streams: bool,
    /// Whether it knows factors of the penalty and bounds of weights.
    pub prices: bool,
    /// Does it.
    pub train: Train,
}

/// Every solver there is.
pub static SOLVERS: &[Solver] = &[
    Solver {
        name: "auto",
        about: "newton where rows are in memory and the loss is smooth, else online, and then the zero test; without --l1 and --l2 it chooses them on held-out rows",
        streams: true,
        prices: true,
        train: auto::train,
    },
    Solver {
        name: "online",
        about: "stochastic steps, a row at a time, for a given number of epochs",
        streams: true,
        prices: true,
        train: train_online,
    },
    Solver {
        name: "newton",
        about: "the minimiser, to a proved --tolerance; rows in memory, losses without kinks",
        streams: false,
        prices: true,
        train: newton::train,
    },
];

impl Solver {
    /// Refuses what it does not know, and arrays of another length than there are columns.
    pub(super) fn check(&self, settings: &Settings, columns: usize) -> Result<()> {
        if (settings.factors.is_some() || settings.nonnegative) && !self.prices {
            return Err(Error::call(
                format!("--penalty-factor and --nonnegative are not for --solver {}", self.name),
                "use --solver newton",
            ));
        }
        let start = settings.start.as_ref().map(|start| start.weights.len());
        let factors = settings.factors.as_ref().map(|factors| factors.len());
        match [start, factors].into_iter().flatten().find(|length| *length != columns) {
            None => Ok(()),
            Some(length) => Err(Error::call(
                format!("a start or factors for {length} columns, and there are {columns}"),
                "give one number a column",
            )),
        }
    }
}

/// The solver of this name.
pub(super) fn find(name: &str) -> Result<&'static Solver> {
    let names: Vec<&str> = SOLVERS.iter().map(|solver| solver.name).collect();
    SOLVERS
        .iter()
        .find(|solver| solver.name == name)
        .ok_or_else(|| Error::call(format!("there is no solver '{name}'"), suggest(name, &names)))
}
