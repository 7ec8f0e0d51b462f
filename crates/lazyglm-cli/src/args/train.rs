//! `lazyglm train`: its flags, in the groups that the help shows. `tune` and `path` take them, too.

use super::choices::{Method, Multiclass, Order, Precision, Thresholds, Update};
use super::data::ReadConfig;
use super::tables::names;
use super::values::{size, tolerance};
use clap::Args as ClapArgs;
use lazyglm::Solver;
use std::ffi::OsString;
use std::path::PathBuf;

/// `lazyglm train`.
#[derive(ClapArgs)]
#[command(after_help = names())]
pub struct Train {
    /// The data, plain, gzip or zstd; '-' for standard input
    pub data: PathBuf,
    /// Write the model here (without it, nothing is written)
    #[arg(short, long, value_name = "MODEL")]
    pub output: Option<PathBuf>,
    /// The loss: auto, or one of those below
    #[arg(long, default_value = "auto", value_name = "L", help_heading = "Objective")]
    pub loss: String,
    /// More than two classes: one model each against all others (ovr), or their probabilities learnt together (softmax)
    /// [default: softmax if targets are words, ovr if --loss is one for classes; else numbers are numbers]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Objective")]
    pub multiclass: Option<Multiclass>,
    /// Targets are sets of labels, as in 3,17: one model a label [default: if a target of svmlight data has a comma]
    #[arg(long, help_heading = "Objective", conflicts_with = "multiclass")]
    pub multilabel: bool,
    /// The score above which a label is given: 0, or for each label where its F1 is greatest, on the held-out rows if there are any
    #[arg(long, value_enum, default_value_t = Thresholds::Zero, value_name = "T", help_heading = "Objective")]
    pub thresholds: Thresholds,
    /// λ₁, the price of a weight's magnitude [default: 1e-6, or chosen by --solver auto]; tune and path take several: A,B,C or LOW..HIGH:N
    #[arg(long, value_name = "X", help_heading = "Objective", allow_hyphen_values = true)]
    pub l1: Option<String>,
    /// λ₂, the price of half its square [default: 1e-6, or chosen by --solver auto]; tune and path take several: A,B,C or LOW..HIGH:N
    #[arg(long, value_name = "X", help_heading = "Objective", allow_hyphen_values = true)]
    pub l2: Option<String>,
    /// Leave the bias out
    #[arg(long, help_heading = "Objective")]
    pub no_bias: bool,
    /// A file with one weight a row; weights are divided by their mean
    #[arg(long, value_name = "FILE", help_heading = "Objective")]
    pub sample_weights: Option<PathBuf>,
    /// balanced, or CLASS=WEIGHT,CLASS=WEIGHT (1 for a class not named); times the sample weights, if any
    #[arg(long, value_name = "W", help_heading = "Objective", allow_hyphen_values = true)]
    pub class_weight: Option<String>,

    /// A file of factors of the penalty, one `feature<TAB>factor` a line; 1 for features not named, 0 for no penalty
    #[arg(long, value_name = "FILE", help_heading = "Objective")]
    pub penalty_factor: Option<PathBuf>,
    /// No weight below zero
    #[arg(long, help_heading = "Objective")]
    pub nonnegative: bool,

    /// Start from the weights of this model instead of zero
    #[arg(long, value_name = "MODEL", help_heading = "Learning")]
    pub start: Option<PathBuf>,
    /// The algorithm: one of those below [default: auto; sgd if --update, --method, --schedule, --eta0, --epochs, --order,
    /// --average or --early-stop is given]
    #[arg(long, value_name = "S", help_heading = "Learning")]
    pub solver: Option<Solver>,
    /// Solvers that find the minimum: stop at this relative distance from it [default: 1e-4; 1e-3 where the penalty is chosen]
    #[arg(long, value_name = "X", value_parser = tolerance, help_heading = "Learning", allow_negative_numbers = true)]
    pub tolerance: Option<f64>,
    /// How a step applies the penalty: proximal (fobos) or by its gradient (sgd) [default: fobos]
    #[arg(long, value_enum, help_heading = "Learning")]
    pub method: Option<Method>,
    /// When the penalty is paid; all give the same weights, lazy is the fast one [default: lazy]
    #[arg(long, value_enum, help_heading = "Learning")]
    pub update: Option<Update>,
    /// The rate of step t: one of those below [default: cosine]
    #[arg(long, value_name = "S", help_heading = "Learning")]
    pub schedule: Option<String>,
    /// The starting rate, or auto: the best of many rehearsed on a sample of the rows [default: auto]
    #[arg(long, value_name = "X|auto", help_heading = "Learning", allow_negative_numbers = true)]
    pub eta0: Option<String>,
    /// How many times to go through the rows [default: 5; --solver svrg: up to 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Learning")]
    pub epochs: Option<u64>,
    /// The order of rows, anew for each epoch or as in the file [default: shuffled]
    #[arg(long, value_enum, help_heading = "Learning")]
    pub order: Option<Order>,
    /// Of the order of rows and of the validation rows
    #[arg(long, default_value_t = 1, value_name = "N", help_heading = "Learning")]
    pub seed: u64,
    /// Of the weights and values while learning [default: f32; table and dense updates always work in f64]
    #[arg(long, value_enum, help_heading = "Learning")]
    pub precision: Option<Precision>,
    /// Keep the mean of the weights over all steps but the first FROM (Polyak–Ruppert) instead of the last; not sparse
    #[arg(long, value_name = "FROM", num_args = 0..=1, require_equals = true, default_missing_value = "0", help_heading = "Learning")]
    pub average: Option<u64>,
    /// Solvers adagrad and ftrl: the mean of N runs, each with an order of its own: surer on few rows [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000), help_heading = "Learning")]
    pub runs: Option<u64>,
    /// How many steps the tables of --update table hold [default: 131072]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Learning")]
    pub table_budget: Option<u32>,

    /// Measure the mean loss (unweighted) of held-out rows after each epoch: of a file, or of this share of the rows (0.1)
    #[arg(long, value_name = "FILE|FRACTION", help_heading = "Stopping")]
    pub validation: Option<OsString>,
    /// Stop after N epochs without a better held-out loss, and keep the best
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Stopping")]
    pub early_stop: Option<u64>,

    /// How to read the data.
    #[command(flatten)]
    pub reading: ReadConfig,
    /// Keep the training data in a file that reads faster: auto (DATA.lazyglm-cache), off, only (that file and nothing else), or a file
    #[arg(long, default_value = "auto", value_name = "WHEN|FILE", help_heading = "Data")]
    pub cache: OsString,
    /// Number the features by frequency in memory and in the cache: epochs are faster, above all shuffled ones, and the cache
    /// takes longer to make. The same model, but for the order of sums; it speaks of features as they are written
    #[arg(long, help_heading = "Data")]
    pub renumber: bool,
    /// Use so much memory (M and G are powers of 1024), and go through the rows a window at a time if they do not fit;
    /// held-out rows then come from a file, and are held on top: 2G, 500M. Many classes or labels need all rows in memory
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Data")]
    pub memory: Option<usize>,
    /// Divide each feature by its largest magnitude or its standard deviation (never shifted): the penalty is on the weights
    /// of scaled features, the model's weights are of the original units
    #[arg(long, default_value = "none", value_name = "none|maxabs|std", help_heading = "Data")]
    pub scale: String,
    /// How many features there are [default: up to the highest index]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 32), help_heading = "Data")]
    pub features: Option<u64>,
    /// Where counting starts: decides how many features there are, shifts none [default: 0 if an index 0 occurs, else 1]
    #[arg(long, value_name = "0|1", value_parser = clap::value_parser!(u32).range(0..=1), help_heading = "Data")]
    pub index_base: Option<u32>,
    /// Threads for reading and for measuring the objective [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Data")]
    pub threads: Option<u32>,

    /// No notes and no progress
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
    /// The figures as one JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

impl Train {
    /// When the penalty is paid.
    pub fn update(&self) -> Update {
        self.update.unwrap_or(Update::Lazy)
    }

    /// The starting rate.
    pub fn eta0(&self) -> &str {
        self.eta0.as_deref().unwrap_or("auto")
    }

    /// Flags given that say how stochastic steps are to be made.
    pub fn of_steps(&self) -> Vec<&'static str> {
        let flags = [
            ("--update", self.update.is_some()),
            ("--method", self.method.is_some()),
            ("--schedule", self.schedule.is_some()),
            ("--eta0", self.eta0.is_some()),
            ("--epochs", self.epochs.is_some()),
            ("--order", self.order.is_some()),
            ("--average", self.average.is_some()),
            ("--early-stop", self.early_stop.is_some()),
        ];
        flags.into_iter().filter(|(_, given)| *given).map(|(flag, _)| flag).collect()
    }

    /// The algorithm: the one asked for; else the one that what was said of steps is about; else auto.
    pub fn solver(&self) -> Solver {
        let silent = if self.of_steps().is_empty() { Solver::Auto } else { Solver::Sgd };
        self.solver.unwrap_or(silent)
    }
}
