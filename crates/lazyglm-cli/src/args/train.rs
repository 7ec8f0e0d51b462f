//! `lazyglm train`: its flags, in the groups that the help shows. `tune` and `path` take them, too.

use super::choices::{
    Limit, Method, Multiclass, OnDivergence, Order, Precision, ShowProgress, Task, Thresholds, Update,
};
use super::data::ReadConfig;
use super::tables::names;
use super::values::{interval, size, tolerance};
use clap::{Arg, Args as ClapArgs};
use lazyglm::Solver;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Examples below the help of `train`.
const EXAMPLES: &str = "\
Examples:
  lazyglm train mails.txt -o spam.model                 choose solver and penalty on held-out rows
  lazyglm train data.svm --l1 1e-5 --l2 1e-6 -o model   find the optimum for this penalty
  lazyglm train prices.csv --target price -o model      predict numbers of a table
";

/// The flags that `-h` shows. `--help` shows all.
const COMMON: [&str; 18] = [
    "data",
    "output",
    "loss",
    "task",
    "l1",
    "l2",
    "class_weight",
    "solver",
    "tolerance",
    "epochs",
    "validation",
    "format",
    "target",
    "scale",
    "memory",
    "threads",
    "quiet",
    "json",
];

/// Hides rare flags from `-h`.
fn for_short_help(arg: Arg) -> Arg {
    let is_rare = !COMMON.contains(&arg.get_id().as_str());
    arg.hide_short_help(is_rare)
}

/// Arguments of `lazyglm train`.
#[derive(ClapArgs)]
#[command(
    after_help = format!("{EXAMPLES}\nAll flags, losses, schedules, solvers and formats: lazyglm train --help"),
    after_long_help = format!("{EXAMPLES}\n{}", names()),
    mut_args(for_short_help)
)]
pub struct Train {
    /// The training data: plain, gzip or zstd; '-' for standard input
    pub data: PathBuf,
    /// File to write the model to
    #[arg(short, long, value_name = "MODEL")]
    pub output: Option<PathBuf>,
    /// The loss: auto, or a name from `lazyglm list losses`
    #[arg(long, default_value = "auto", value_name = "L", help_heading = "Objective")]
    pub loss: String,
    /// What the targets are [default: classes if they are text or two; else numbers]
    #[arg(long, value_enum, value_name = "TASK", help_heading = "Objective")]
    pub task: Option<Task>,
    /// How to train more than two classes: one model per class against all others (ovr), or one softmax model (softmax)
    /// [default: softmax if targets are words, ovr if --loss is a loss for classes; else numbers are regression targets]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Objective")]
    pub multiclass: Option<Multiclass>,
    /// Read targets as sets of labels, as in 3,17, and train one model per label [default: if a target of svmlight data has a comma, or a line of fastText data several labels]
    #[arg(long, help_heading = "Objective", conflicts_with = "multiclass")]
    pub multilabel: bool,
    /// Score above which a label is predicted: 0, or tuned per label for the largest micro-F1 on held-out rows, those of --validation or
    /// a fifth of the rows, which then are trained on a second time
    #[arg(long, value_enum, default_value_t = Thresholds::Zero, value_name = "T", help_heading = "Objective")]
    pub thresholds: Thresholds,
    /// Limit predictions of numbers to the range of the training targets; auto: where that lowers the loss on held-out rows by 1 %, which
    /// --validation gives, or the choice of a penalty
    #[arg(long, value_enum, default_value_t = Limit::Auto, value_name = "L", help_heading = "Objective")]
    pub limit_predictions: Limit,
    /// λ₁, the weight of the ℓ₁ penalty ‖w‖₁ [default: chosen by --solver auto]
    ///
    /// 0 if --l2 is given; 1e-6 for solvers other than auto if it is not.
    #[arg(long, value_name = "X", help_heading = "Objective", allow_hyphen_values = true)]
    pub l1: Option<String>,
    /// λ₂, the weight of the ℓ₂ penalty ½‖w‖² [default: chosen by --solver auto]
    ///
    /// 0 if --l1 is given; 1e-6 for solvers other than auto if it is not.
    #[arg(long, value_name = "X", help_heading = "Objective", allow_hyphen_values = true)]
    pub l2: Option<String>,
    /// Train without a bias
    #[arg(long, help_heading = "Objective")]
    pub no_bias: bool,
    /// File with one weight per row; lazyglm divides the weights by their mean
    #[arg(long, value_name = "FILE", help_heading = "Objective")]
    pub sample_weights: Option<PathBuf>,
    /// File with one offset per row, which is added to the row's score: w·x + b + offset; --offset-column reads them from the data
    #[arg(long, value_name = "FILE", help_heading = "Objective")]
    pub offset: Option<PathBuf>,
    /// Weight of each class: 'balanced', or CLASS=WEIGHT,CLASS=WEIGHT
    ///
    /// The weight is 1 for a class that is not named. It is multiplied with the sample weights.
    #[arg(long, value_name = "W", help_heading = "Objective", allow_hyphen_values = true)]
    pub class_weight: Option<String>,

    /// File of penalty factors, one `feature<TAB>factor` per line; 1 for features not named, 0 removes the penalty
    #[arg(long, value_name = "FILE", help_heading = "Objective")]
    pub penalty_factor: Option<PathBuf>,
    /// Require all weights to be at least zero, as with --lower 0
    #[arg(long, help_heading = "Objective")]
    pub nonnegative: bool,
    /// Lowest value of the weights, at most 0: a number for all features, or a file with one `feature<TAB>number` per line
    #[arg(long, value_name = "X|FILE", help_heading = "Objective", allow_hyphen_values = true)]
    pub lower: Option<String>,
    /// Highest value of the weights, at least 0: a number for all features, or a file with one `feature<TAB>number` per line
    #[arg(long, value_name = "X|FILE", help_heading = "Objective", allow_hyphen_values = true)]
    pub upper: Option<String>,
    /// Features whose weight is zero: names separated by commas, or @ and a file with one name per line
    #[arg(long, value_name = "NAMES|@FILE", help_heading = "Objective", allow_hyphen_values = true)]
    pub exclude: Option<String>,

    /// Adaptive lasso: fit twice, and multiply the penalty of each feature in the second fit by (largest weight/its weight)^GAMMA of the
    /// first, which excludes features of weight zero; GAMMA is 1 if not given
    #[arg(long, value_name = "GAMMA", num_args = 0..=1, require_equals = true, default_missing_value = "1", help_heading = "Objective")]
    pub adaptive: Option<f64>,

    /// Start from the weights of this model instead of zero
    #[arg(long, value_name = "MODEL", help_heading = "Learning")]
    pub start: Option<PathBuf>,
    /// Training algorithm: auto, newton, sgd, adagrad, ftrl or svrg [default: auto]
    ///
    /// The default is sgd if --update, --method, --schedule, --eta0, --epochs, --order, --average or --early-stop is given.
    #[arg(long, value_name = "S", help_heading = "Learning")]
    pub solver: Option<Solver>,
    /// Relative distance from the optimum at which to stop [default: 1e-4; 1e-3 if auto chooses the penalty]
    ///
    /// For the solvers auto, newton and svrg.
    #[arg(long, value_name = "X", value_parser = tolerance, help_heading = "Learning", allow_negative_numbers = true)]
    pub tolerance: Option<f64>,
    /// How a step applies the penalty: proximal (fobos) or by its gradient (sgd) [default: fobos]
    #[arg(long, value_enum, help_heading = "Learning")]
    pub method: Option<Method>,
    /// Algorithm that applies the penalty; all give the same weights, and lazy is the fastest [default: lazy]
    #[arg(long, value_enum, help_heading = "Learning")]
    pub update: Option<Update>,
    /// Learning-rate schedule, from the list below [default: cosine]
    #[arg(long, value_name = "S", help_heading = "Learning")]
    pub schedule: Option<String>,
    /// Starting learning rate, or 'auto' to search for it on a sample of the rows [default: auto]
    #[arg(
        long,
        alias = "learning-rate",
        value_name = "X|auto",
        help_heading = "Learning",
        allow_negative_numbers = true
    )]
    pub eta0: Option<String>,
    /// What to do if the weights diverge (NaN or infinity): end with an error, or begin anew with half the learning rate
    /// [default: stop if --eta0 is a number, else retry]
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Learning")]
    pub on_divergence: Option<OnDivergence>,
    /// Number of passes over the rows [default: 5; --solver svrg: up to 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Learning")]
    pub epochs: Option<u64>,
    /// Order of rows: shuffled anew for each epoch, or as in the file [default: shuffled]
    #[arg(long, value_enum, help_heading = "Learning")]
    pub order: Option<Order>,
    /// Seed of the row permutations and of the choice of validation rows
    #[arg(long, default_value_t = 1, value_name = "N", help_heading = "Learning")]
    pub seed: u64,
    /// Floating-point precision of weights and values in training [default: f32; table and dense updates always work in f64]
    #[arg(long, value_enum, help_heading = "Learning")]
    pub precision: Option<Precision>,
    /// Average the weights over all steps but the first FROM (Polyak–Ruppert averaging); the result is not sparse
    #[arg(long, value_name = "FROM", num_args = 0..=1, require_equals = true, default_missing_value = "0", help_heading = "Learning")]
    pub average: Option<u64>,
    /// Average N training runs with different row orders, for adagrad and ftrl; more stable on few rows [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000), help_heading = "Learning")]
    pub runs: Option<u64>,
    /// Number of steps in the tables of --update table [default: 131072]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Learning")]
    pub table_budget: Option<u32>,

    /// Held-out rows: a file, or a fraction of the rows (0.1)
    ///
    /// lazyglm measures their mean unweighted loss after each epoch.
    #[arg(long, value_name = "FILE|FRACTION", help_heading = "Stopping")]
    pub validation: Option<OsString>,
    /// Stop after N epochs without a lower held-out loss, and keep the weights of the best epoch
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Stopping")]
    pub early_stop: Option<u64>,

    /// File that keeps the finished part of the run: with --resume, an interrupted or killed run goes on and ends in the same model
    ///
    /// lazyglm removes the file when the run is done.
    #[arg(long, value_name = "FILE", help_heading = "Checkpoint")]
    pub checkpoint: Option<PathBuf>,
    /// Time between two writes of the checkpoint
    #[arg(long, value_name = "TIME", value_parser = interval, default_value = "60s", help_heading = "Checkpoint", requires = "checkpoint")]
    pub every: Duration,
    /// Go on from the checkpoint, with the same data and settings; without a file there, the run begins at its start
    #[arg(long, help_heading = "Checkpoint", requires = "checkpoint")]
    pub resume: bool,

    /// How to read the data.
    #[command(flatten)]
    pub reading: ReadConfig,
    /// Cache file for the training data, which reads faster: auto (DATA.lazyglm-cache), off, only (read the cache alone), or a file name
    #[arg(long, default_value = "auto", value_name = "WHEN|FILE", help_heading = "Data")]
    pub cache: OsString,
    /// Number the features by frequency in memory and in the cache: epochs are faster, and the cache takes longer to make.
    /// The model is the same up to rounding, and names features as in the data
    #[arg(long, help_heading = "Data")]
    pub renumber: bool,
    /// Memory limit, as in 2G or 500M: rows that do not fit are read one window at a time
    ///
    /// Units are powers of 1024. Held-out rows must then come from a file, and need memory of their own. More than two classes and
    /// labels need all rows in memory.
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Data")]
    pub memory: Option<usize>,
    /// How to scale values
    ///
    /// maxabs and std divide each feature by its largest magnitude or its standard deviation. tfidf is for counts. auto takes tfidf if the
    /// default solver predicts held-out rows better with it, else none.
    #[arg(long, default_value = "auto", value_name = "auto|none|maxabs|std|tfidf", help_heading = "Data")]
    pub scale: String,
    /// Number of features [default: up to the highest index]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 32), help_heading = "Data")]
    pub features: Option<u64>,
    /// Index of the first feature; affects the number of features only [default: 0 if an index 0 occurs, else 1]
    #[arg(long, value_name = "0|1", value_parser = clap::value_parser!(u32).range(0..=1), help_heading = "Data")]
    pub index_base: Option<u32>,
    /// Number of threads [default: all cores]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Data")]
    pub threads: Option<u32>,

    /// Skip the lower bound on the objective that certifies the distance of the model from the optimum, which saves a pass over the rows
    #[arg(long, help_heading = "Output")]
    pub no_certificate: bool,
    /// Print no notes, warnings or progress
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// How to show progress on standard error
    #[arg(long, value_enum, default_value = "auto", value_name = "HOW", help_heading = "Output")]
    pub progress: ShowProgress,
    /// Print the results as one JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Print the time of each stage on standard error: read, search, train, evaluate and write
    #[arg(long, help_heading = "Output")]
    pub timings: bool,
}

impl Train {
    /// How progress is shown: not at all if quiet.
    pub fn progress(&self) -> ShowProgress {
        if self.quiet { ShowProgress::None } else { self.progress }
    }

    /// The update algorithm, with its default.
    pub fn update(&self) -> Update {
        self.update.unwrap_or(Update::Lazy)
    }

    /// The starting learning rate as typed, or `auto`.
    pub fn eta0(&self) -> &str {
        self.eta0.as_deref().unwrap_or("auto")
    }

    /// The flags given that are settings of stochastic steps.
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

    /// The solver: the one given, else sgd if settings of stochastic steps are given, else auto.
    pub fn solver(&self) -> Solver {
        let silent = if self.of_steps().is_empty() { Solver::Auto } else { Solver::Sgd };
        self.solver.unwrap_or(silent)
    }
}
