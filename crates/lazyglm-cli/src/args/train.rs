//! `lazyglm train`: its flags, in the groups that the help shows. `tune` and `path` take them, too.

use super::choices::{
    Limit, Method, Multiclass, OnDivergence, Order, Precision, ShowProgress, Task, Thresholds, Update,
};
use super::data::ReadConfig;
use super::values::{NamedSolver, interval, one_pass, size, tolerance};
use clap::{Arg, Args as ClapArgs};
use lazyglm::{Error, Parameter, Result, Solver, excerpt};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Examples below the help of `train`.
const EXAMPLES: &str = "\
Examples:
  lazyglm train mails.txt -o spam.model       choose a penalty, train a model
  lazyglm train data.svm --l1 1e-5 -o model   find the optimum for this penalty
";

/// Where the tables are.
pub(super) const TABLES: &str = "\
Tables: lazyglm list solvers | losses | schedules | formats | messages
Keys of a loss or schedule: --loss huber:delta=1.0 --schedule power:p=0.75,t0=1000
";

/// The seed if none is given.
pub(super) const DEFAULT_SEED: u64 = 1;

/// The flags that `-h` shows. `--help` shows all.
const COMMON: [&str; 16] = [
    "data",
    "target",
    "scale",
    "loss",
    "task",
    "l1",
    "l2",
    "solver",
    "tolerance",
    "epochs",
    "validation",
    "memory",
    "threads",
    "output",
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
    after_help = format!("{EXAMPLES}\nAll flags: lazyglm train --help. Tables of solvers and losses: lazyglm list"),
    after_long_help = format!("{EXAMPLES}\n{TABLES}"),
    mut_args(for_short_help)
)]
pub struct Train {
    /// Training data: plain, gzip or zstd; '-' for standard input
    pub data: PathBuf,

    /// How to read the data.
    #[command(flatten)]
    pub reading: ReadConfig,
    /// How to scale values: auto, none, maxabs, std or tfidf
    ///
    /// maxabs and std divide each feature by its largest magnitude or its standard deviation. tfidf is for counts and
    /// for values that are all one; parts of it can be left out: tfidf:log=no,idf=no or norm=no. auto takes tfidf if the default solver predicts held-out rows better with it, else none.
    #[arg(long, default_value = "auto", value_name = "SCALE", help_heading = "Input")]
    pub scale: String,
    /// File with one weight per row; lazyglm divides the weights by their mean
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub sample_weights: Option<PathBuf>,
    /// File with one offset per row, which is added to the row's score: w·x + b + offset; --offset-column reads them from the data
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub offset: Option<PathBuf>,

    /// Loss, from `lazyglm list losses`
    #[arg(long, default_value = "auto", value_name = "LOSS", help_heading = "Model")]
    pub loss: String,
    /// Kind of the targets [default: by the targets]
    ///
    /// The default is classify if the targets are words or have two distinct values, else regress.
    #[arg(long, value_enum, help_heading = "Model")]
    pub task: Option<Task>,
    /// Weight of the ℓ₁ penalty ‖w‖₁ [default: chosen by auto]
    ///
    /// If only --l2 is given, --l1 is 0. If neither is given, solvers other than auto use 1e-6.
    #[arg(long, value_name = "NUMBER", help_heading = "Model", allow_hyphen_values = true)]
    pub l1: Option<String>,
    /// Weight of the ℓ₂ penalty ½‖w‖² [default: chosen by auto]
    ///
    /// If only --l1 is given, --l2 is 0. If neither is given, solvers other than auto use 1e-6.
    #[arg(long, value_name = "NUMBER", help_heading = "Model", allow_hyphen_values = true)]
    pub l2: Option<String>,
    /// Weight of the whole penalty, as in scikit-learn: l1 = alpha·ratio and l2 = alpha·(1 − ratio), with the ratio of --l1-ratio
    #[arg(long, value_name = "NUMBER", help_heading = "Model", allow_hyphen_values = true, conflicts_with_all = ["l1", "l2"])]
    pub alpha: Option<String>,
    /// Share of ℓ₁ in the penalty of --alpha, from 0 to 1 [default: 0.5]
    #[arg(long, value_name = "RATIO", help_heading = "Model", conflicts_with = "l2")]
    pub l1_ratio: Option<String>,
    /// Weight of each class: 'balanced', or CLASS=WEIGHT,CLASS=WEIGHT
    ///
    /// The weight is 1 for a class that is not named. The weight of a row is its sample weight times the weight of its class.
    #[arg(long, value_name = "WEIGHTS", help_heading = "Model", allow_hyphen_values = true)]
    pub class_weight: Option<String>,
    /// More than two classes: one model per class against all others (ovr), or one softmax model (softmax)
    ///
    /// The default is softmax if the targets are words, and ovr if --loss is a loss for classes. Numbers are otherwise regression targets.
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Model")]
    pub multiclass: Option<Multiclass>,
    /// Read targets as sets of labels, as in 3,17, and train one model per label
    ///
    /// This is the default if a target of svmlight data has a comma, or a line of fastText data several labels.
    #[arg(long, help_heading = "Model", conflicts_with = "multiclass")]
    pub multilabel: bool,
    /// Score above which a label is predicted: zero (a probability of 0.5), or tuned
    ///
    /// tuned finds a threshold per label, for the largest micro-F1 on held-out rows. These rows are those of --validation, or a fifth of the rows; the final model then uses all rows.
    #[arg(long, value_enum, default_value_t = Thresholds::Zero, value_name = "HOW", help_heading = "Model")]
    pub thresholds: Thresholds,
    /// Limit predicted numbers to the range of the training targets
    ///
    /// auto: only if this lowers the held-out loss by at least 1 %. The held-out rows are those of --validation, or those on which the
    /// penalty was chosen.
    #[arg(long, value_enum, default_value_t = Limit::Auto, value_name = "WHEN", help_heading = "Model")]
    pub limit_predictions: Limit,
    /// Train without a bias
    #[arg(long, help_heading = "Model")]
    pub no_bias: bool,
    /// File of penalty factors, one `feature<TAB>factor` per line; 1 for features not named, 0 removes the penalty
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    pub penalty_factor: Option<PathBuf>,
    /// Require all weights to be at least zero, as with --lower 0
    #[arg(long, help_heading = "Model")]
    pub nonnegative: bool,
    /// Lowest value of the weights, at most 0: a number for all features, or a file with one `feature<TAB>number` per line
    #[arg(long, value_name = "NUMBER|FILE", help_heading = "Model", allow_hyphen_values = true)]
    pub lower: Option<String>,
    /// Highest value of the weights, at least 0: a number for all features, or a file with one `feature<TAB>number` per line
    #[arg(long, value_name = "NUMBER|FILE", help_heading = "Model", allow_hyphen_values = true)]
    pub upper: Option<String>,
    /// Features whose weight is zero: names separated by commas, or @ and a file with one name per line
    #[arg(long, value_name = "NAMES|@FILE", help_heading = "Model", allow_hyphen_values = true)]
    pub exclude: Option<String>,
    /// Adaptive lasso: fit twice, and scale the penalties of the second fit by the weights of the first
    ///
    /// The second fit multiplies the penalty of feature j by (max|w|/|w_j|)^GAMMA, with w from the first fit. Features of weight zero are left
    /// out. GAMMA is 1 if not given.
    #[arg(long, value_name = "GAMMA", num_args = 0..=1, require_equals = true, default_missing_value = "1", help_heading = "Model")]
    pub adaptive: Option<f64>,

    /// Solver: auto, newton, sgd, adagrad, ftrl or svrg [default: auto]
    ///
    /// The default is sgd if --update, --method, --schedule, --eta0, --epochs, --passes, --order, --average or --early-stop is given.
    #[arg(long, value_name = "SOLVER", help_heading = "Solver")]
    pub solver: Option<NamedSolver>,
    /// Start from the weights of this model instead of zero
    #[arg(long, value_name = "MODEL", help_heading = "Solver")]
    pub start: Option<PathBuf>,
    /// Starting learning rate, or 'auto' to search for it on a sample of the rows [default: auto]
    #[arg(
        long,
        alias = "learning-rate",
        value_name = "NUMBER|auto",
        help_heading = "Solver",
        allow_negative_numbers = true
    )]
    pub eta0: Option<String>,
    /// Learning-rate schedule, from `lazyglm list schedules` [default: cosine]
    #[arg(long, value_name = "SCHEDULE", help_heading = "Solver")]
    pub schedule: Option<String>,
    /// Seed of the row orders and of the choice of held-out rows [default: 1]
    #[arg(long, value_name = "SEED", help_heading = "Solver")]
    pub seed: Option<u64>,

    /// Relative distance from the optimum at which to stop [default: 1e-4]
    ///
    /// For the solvers auto, newton and svrg. The default is 1e-3 if auto chooses the penalty.
    #[arg(long, value_name = "NUMBER", value_parser = tolerance, help_heading = "Stopping", allow_negative_numbers = true)]
    pub tolerance: Option<f64>,
    /// Number of passes of stochastic solvers [default: 5]
    ///
    /// For sgd, adagrad, ftrl and svrg. The default is up to 100 for svrg, which stops at --tolerance.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Stopping")]
    pub epochs: Option<u64>,
    /// Train by sgd in one pass over the rows, for standard input: constant memory, no files on disk, no certificate
    ///
    /// The only value is 1. The first 10,000 rows determine the loss, the bias and the learning rate. Memory grows with the
    /// features, or not at all with --hash-bits.
    #[arg(long, value_name = "1", value_parser = one_pass, help_heading = "Stopping")]
    pub passes: Option<u64>,
    /// Held-out rows: a file, or a fraction (0.1)
    ///
    /// lazyglm measures their mean unweighted loss after each epoch.
    #[arg(long, value_name = "FILE|FRACTION", help_heading = "Stopping")]
    pub validation: Option<OsString>,
    /// Stop after N epochs without a lower held-out loss, and keep the weights of the best epoch
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Stopping")]
    pub early_stop: Option<u64>,

    /// Memory limit, as in 2G or 500M: rows that do not fit are read one window at a time
    ///
    /// Units are powers of 1024. If rows do not fit, --validation must be a file, whose rows need memory of their own; auto holds out rows
    /// of the data. All rows must fit into memory if there are more than two classes, or labels.
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Performance")]
    pub memory: Option<usize>,
    /// Number of threads [default: all cores]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Performance")]
    pub threads: Option<u32>,
    /// Cache file for the training data, which reads faster: auto (DATA.lazyglm-cache), off, only (read the cache alone), or a file name
    #[arg(long, default_value = "auto", value_name = "WHEN|FILE", help_heading = "Performance")]
    pub cache: OsString,
    /// Number the features by frequency in memory and in the cache, so that frequent ones lie together; the cache takes longer to make
    ///
    /// The model is the same up to rounding, and names features as in the data.
    #[arg(long, help_heading = "Performance")]
    pub renumber: bool,
    /// Floating-point precision of weights and values in training [default: f32; table and dense updates always work in f64]
    #[arg(long, value_enum, help_heading = "Performance")]
    pub precision: Option<Precision>,
    /// Skip the lower bound on the objective that certifies the distance of the model from the optimum, which saves a pass over the rows
    #[arg(long, help_heading = "Performance")]
    pub no_certificate: bool,
    /// File that keeps the finished part of the run, for --resume
    ///
    /// An interrupted or killed run continues with --resume and ends in the same model. lazyglm removes the file when the run is done.
    #[arg(long, value_name = "FILE", help_heading = "Performance")]
    pub checkpoint: Option<PathBuf>,
    /// Time between two writes of the checkpoint
    #[arg(long, value_name = "TIME", value_parser = interval, default_value = "60s", help_heading = "Performance", requires = "checkpoint")]
    pub every: Duration,
    /// Continue from the checkpoint, with the same data and settings; without a checkpoint, start from the beginning
    #[arg(long, help_heading = "Performance", requires = "checkpoint")]
    pub resume: bool,

    /// File to write the model to
    #[arg(short, long, value_name = "MODEL", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Print no notes and no progress; warnings stay
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

    /// How a step applies the penalty: proximal (fobos) or by its gradient (sgd) [default: fobos]
    #[arg(long, value_enum, help_heading = "Advanced")]
    pub method: Option<Method>,
    /// Algorithm that applies the penalty; all give the same weights, and lazy is the fastest [default: lazy]
    #[arg(long, value_enum, help_heading = "Advanced")]
    pub update: Option<Update>,
    /// Number of steps in the tables of --update table [default: 131072]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Advanced")]
    pub table_budget: Option<u32>,
    /// Order of rows: shuffled anew for each epoch, or as in the file [default: shuffled]
    #[arg(long, value_enum, help_heading = "Advanced")]
    pub order: Option<Order>,
    /// Average the weights over all steps but the first FROM (Polyak–Ruppert averaging); the result is not sparse
    #[arg(long, value_name = "FROM", num_args = 0..=1, require_equals = true, default_missing_value = "0", help_heading = "Advanced")]
    pub average: Option<u64>,
    /// Average N training runs with different row orders, for adagrad and ftrl; more stable on few rows [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000), help_heading = "Advanced")]
    pub runs: Option<u64>,
    /// What to do if the weights diverge (NaN or infinity): stop with an error, or retry with half the learning rate
    ///
    /// The default is stop if --eta0 is a number, else retry.
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Advanced")]
    pub on_divergence: Option<OnDivergence>,
    /// Number of features [default: up to the highest index]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 32), help_heading = "Advanced")]
    pub features: Option<u64>,
    /// Index of the first feature; changes nothing but the number of features [default: 0 if an index 0 occurs, else 1]
    #[arg(long, value_name = "0|1", value_parser = clap::value_parser!(u32).range(0..=1), help_heading = "Advanced")]
    pub index_base: Option<u32>,
}

impl Train {
    /// The arguments with `--alpha` and `--l1-ratio` turned into `--l1` and `--l2`, for one model.
    pub fn with_one_alpha(mut self) -> Result<Train> {
        let ratio = match self.l1_ratio.as_deref() {
            None => 0.5,
            Some(text) => text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio)).ok_or_else(|| {
                Error::parameter(
                    Parameter::L1Ratio,
                    text,
                    "one number from 0 to 1 (`lazyglm tune` takes several)",
                )
            })?,
        };
        match self.alpha.as_deref() {
            None if self.l1_ratio.is_some() => Err(Error::call(
                "--l1-ratio is the share of ℓ₁ in --alpha, and --alpha is missing",
                "add --alpha, or give --l1 and --l2",
            )),
            None => Ok(self),
            Some(text) => {
                let alpha: f64 = text
                    .parse()
                    .ok()
                    .filter(|alpha: &f64| alpha.is_finite() && *alpha >= 0.0)
                    .ok_or_else(|| {
                    Error::call(
                        format!("invalid --alpha '{}': expected one number, at least 0", excerpt(text)),
                        "as in --alpha 0.01; `lazyglm tune` takes several",
                    )
                })?;
                (self.l1, self.l2) =
                    (Some(format!("{:?}", alpha * ratio)), Some(format!("{:?}", alpha * (1.0 - ratio))));
                Ok(self)
            }
        }
    }

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

    /// The solver: the one given, else sgd if settings of stochastic steps or one pass are given, else auto.
    pub fn solver(&self) -> Solver {
        let stochastic = !self.of_steps().is_empty() || self.passes.is_some();
        let silent = if stochastic { Solver::Sgd } else { Solver::Auto };
        self.solver.map_or(silent, |named| named.solver)
    }

    /// The seed, with its default.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or(DEFAULT_SEED)
    }
}
