//! The algorithms there are, by name. To add one: a file that trains a task, and its line in [`SOLVERS`].

use super::{Job, Progress, Trained, adagrad, auto, ftrl, newton, online, saga, train_in_memory, zeros};
use crate::error::{Error, Result};
use crate::registry::suggest;
use crate::settings::Settings;
use crate::task::Task;

/// Trains a task; held-out rows are measured if there are any.
pub type Train = fn(&Task, Option<&Task>, &Settings, &mut dyn FnMut(&Progress)) -> Result<Trained>;

/// The same on rows wherever they are.
type TrainOn = fn(&Job, &Settings, &mut dyn FnMut(&Progress)) -> Result<Trained>;

/// An algorithm.
///
/// ```
/// use lazyglm::SOLVERS;
/// let names: Vec<&str> = SOLVERS.iter().map(|solver| solver.name).collect();
/// assert_eq!(names, ["auto", "online", "newton", "adagrad", "ftrl", "saga"]);
/// ```
pub struct Solver {
    /// As it is asked for.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Whether it knows factors of the penalty and bounds of weights.
    pub prices: bool,
    /// Whether it can give the mean of several runs.
    pub runs: bool,
    /// Does it.
    pub train: Train,
    streams: Option<TrainOn>, // if it can go through rows that are not in memory
}

/// Every run has weights of its own in memory.
const MOST_RUNS: u64 = 1000;

/// Every solver there is.
pub static SOLVERS: &[Solver] = &[
    Solver {
        name: "auto",
        about: "newton where rows are in memory and the loss is smooth, else online, and then the zero test; without --l1 and --l2 it chooses them on held-out rows, and ftrl where that is better there",
        prices: true,
        runs: false,
        train: auto::train,
        streams: Some(zeros::train),
    },
    Solver {
        name: "online",
        about: "stochastic steps, a row at a time, for a given number of epochs",
        prices: true,
        runs: false,
        train: train_in_memory,
        streams: Some(online::train),
    },
    Solver {
        name: "newton",
        about: "the minimiser, to a proved --tolerance; rows in memory, losses without kinks",
        prices: true,
        runs: false,
        train: newton::train,
        streams: None,
    },
    Solver {
        name: "adagrad",
        about: "stochastic steps with a rate for each weight, in any units; --eta0 is their common factor",
        prices: false,
        runs: true,
        train: train_in_memory,
        streams: Some(adagrad::train),
    },
    Solver {
        name: "ftrl",
        about: "the best weights for all rows so far, as far as they are known (FTRL-proximal); rates as adagrad's",
        prices: false,
        runs: true,
        train: train_in_memory,
        streams: Some(ftrl::train),
    },
    Solver {
        name: "saga",
        about: "steps whose noise fades (SVRG): to the minimum, at --tolerance or after --epochs; losses without kinks",
        prices: false,
        runs: false,
        train: train_in_memory,
        streams: Some(saga::train),
    },
];

impl Solver {
    /// Whether it can go through rows that are not in memory.
    pub fn streams(&self) -> bool {
        self.streams.is_some()
    }

    /// Trains on rows wherever they are.
    pub(super) fn on(
        &self,
        job: &Job,
        settings: &Settings,
        watch: &mut dyn FnMut(&Progress),
    ) -> Result<Trained> {
        let Some(train) = self.streams else {
            return Err(Error::call(
                format!("--solver {} needs all rows in memory, and they do not fit into --memory", self.name),
                "raise --memory, or use --solver online",
            ));
        };
        train(job, settings, watch)
    }

    /// Refuses what it does not know, and arrays of another length than there are columns.
    pub(super) fn check(&self, settings: &Settings, columns: usize) -> Result<()> {
        if (settings.factors.is_some() || settings.nonnegative) && !self.prices {
            return Err(Error::call(
                format!("--penalty-factor and --nonnegative are not for --solver {}", self.name),
                "use --solver newton or online",
            ));
        }
        if !(1..=MOST_RUNS).contains(&settings.runs) {
            let hint = format!("give a number from 1 to {MOST_RUNS}");
            return Err(Error::call(format!("the mean of {} runs", settings.runs), hint));
        }
        if settings.runs != 1 && !self.runs {
            let able: Vec<&str> =
                SOLVERS.iter().filter(|solver| solver.runs).map(|solver| solver.name).collect();
            return Err(Error::call(
                format!("--runs is not for --solver {}", self.name),
                format!("leave it out, or use --solver {}", able.join(" or ")),
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
