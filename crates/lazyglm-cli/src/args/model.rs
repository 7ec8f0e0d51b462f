//! Verbs that take a model: `predict`, `evaluate`, `certify` and `inspect`.

use super::train::DEFAULT_SEED;
use super::values::size;
use clap::{Args as ClapArgs, ValueEnum};
use std::path::PathBuf;

/// Examples below the help of `predict`.
const PREDICT: &str = "\
Examples:
  lazyglm predict spam.model new.txt                  one probability per row
  lazyglm predict m data.csv --columns id --as csv    a table, with the column id";

/// Arguments of `lazyglm predict`.
#[derive(ClapArgs)]
#[command(after_help = PREDICT)]
pub struct Predict {
    /// Model file, written by `lazyglm train -o`
    pub model: PathBuf,
    /// Data with the features of the training data: plain, gzip or zstd; '-' for standard input; targets may be missing
    pub data: PathBuf,
    /// Data format [default: by file name, or as in training]
    #[arg(long, value_name = "FORMAT", help_heading = "Input")]
    pub format: Option<String>,
    /// File with one offset per row, which is added to the row's score, for a model that was trained with offsets
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub offset: Option<PathBuf>,
    /// Fail on a feature that does not occur in training, instead of ignoring it
    #[arg(long, help_heading = "Input")]
    pub strict: bool,
    /// Number of threads [default: all cores]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Performance")]
    pub threads: Option<u32>,
    /// File to write the predictions to, instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// What to print: probability, score or target; add csv or json for the form, as in --as score,json
    ///
    /// The default for two classes is probability if the loss has one, else score. The default for numbers, more classes and labels is target.
    /// Probabilities and scores of more classes and labels are one tab-separated line per row, after a header of names.
    #[arg(long = "as", value_enum, value_name = "WHAT", value_delimiter = ',', help_heading = "Output")]
    pub what: Vec<What>,
    /// Columns of the data to copy as text before each prediction; 'target' is the row's target, 'tag' the tag of Vowpal Wabbit data
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Output")]
    pub columns: Vec<String>,
    /// Print the N classes or labels with the largest scores, each with its probability (or its score)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Output")]
    pub top: Option<u32>,
    /// Probability above which the positive class or a label is predicted, or the score if the loss gives no probability
    /// [default: 0.5, or the tuned thresholds of the model]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, help_heading = "Output")]
    pub threshold: Option<f64>,
    /// Print no notes and no progress; warnings stay
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// Print the time of each stage on standard error: read, evaluate and write
    #[arg(long, help_heading = "Output")]
    pub timings: bool,
}

/// Kind of prediction to print per row.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// Probability of the positive class.
    Probability,
    /// Score w·x + b, plus the row's offset if there is one.
    Score,
    /// Predicted class or number.
    Target,
    /// Comma-separated values, after a header.
    Csv,
    /// One JSON object per row.
    Json,
}

/// Examples below the help of `evaluate`.
const EVALUATE: &str = "\
Examples:
  lazyglm evaluate spam.model test.txt            loss, AUC, F1, confusion matrix
  lazyglm evaluate m test.csv --by city           the same for each city";

/// Arguments of `lazyglm evaluate`.
#[derive(ClapArgs)]
#[command(after_help = EVALUATE)]
pub struct Evaluate {
    /// Model file, written by `lazyglm train -o`
    pub model: PathBuf,
    /// Data with the features of the training data: plain, gzip or zstd; '-' for standard input
    pub data: PathBuf,
    /// Data format [default: by file name, or as in training]
    #[arg(long, value_name = "FORMAT", help_heading = "Input")]
    pub format: Option<String>,
    /// File with one offset per row, which is added to the row's score, for a model that was trained with offsets
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub offset: Option<PathBuf>,
    /// File with one weight per row; multiplied with the importances of Vowpal Wabbit data, which count as weights, too
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub sample_weights: Option<PathBuf>,
    /// Fail on a feature that does not occur in training, instead of ignoring it
    #[arg(long, help_heading = "Input")]
    pub strict: bool,
    /// Number of threads [default: all cores]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Performance")]
    pub threads: Option<u32>,
    /// Column of the data whose values are groups: show the metrics of each group, too
    #[arg(long, value_name = "COLUMN", help_heading = "Output")]
    pub by: Option<String>,
    /// Draw the rows N times with replacement, and show the 95 % interval of each metric
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=100_000), help_heading = "Output")]
    pub bootstrap: Option<u32>,
    /// Seed of the bootstrap [default: 1]
    #[arg(long, value_name = "SEED", help_heading = "Output")]
    pub seed: Option<u64>,
    /// Print no notes and no progress; warnings stay
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// Print the results as one JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Print the time of each stage on standard error: read, evaluate and write
    #[arg(long, help_heading = "Output")]
    pub timings: bool,
}

impl Evaluate {
    /// The seed, with its default.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or(DEFAULT_SEED)
    }
}

/// Examples below the help of `certify`.
const CERTIFY: &str = "\
Examples:
  lazyglm certify model train.svm                       the gap of a model
  lazyglm certify model train.svm --weights other.tsv   the gap of other weights
  lazyglm certify model train.svm --memory 2G           within 2 GB";

/// Arguments of `lazyglm certify`.
#[derive(ClapArgs)]
#[command(after_help = CERTIFY)]
pub struct Certify {
    /// Model file, written by `lazyglm train -o`, which holds the loss and the penalty
    pub model: PathBuf,
    /// The training data of the model: plain, gzip or zstd
    pub data: PathBuf,
    /// Data format [default: by file name, or as in training]
    #[arg(long, value_name = "FORMAT", help_heading = "Input")]
    pub format: Option<String>,
    /// As in training: file with one weight per row
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub sample_weights: Option<PathBuf>,
    /// As in training: file with one offset per row
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub offset: Option<PathBuf>,
    /// As in training: how values were scaled
    ///
    /// none, maxabs, std or tfidf, with the same parts.
    #[arg(long, default_value = "none", value_name = "SCALE", help_heading = "Input")]
    pub scale: String,
    /// File of weights to certify instead of the model's: one `feature<TAB>weight` per line, as `inspect --tsv` prints them
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    pub weights: Option<PathBuf>,
    /// Weight of the ℓ₁ penalty ‖w‖₁ [default: that of the model]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, help_heading = "Model")]
    pub l1: Option<f64>,
    /// Weight of the ℓ₂ penalty ½‖w‖² [default: that of the model]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, help_heading = "Model")]
    pub l2: Option<f64>,
    /// As in training: balanced, or CLASS=WEIGHT,CLASS=WEIGHT
    #[arg(long, value_name = "WEIGHTS", allow_hyphen_values = true, help_heading = "Model")]
    pub class_weight: Option<String>,
    /// As in training: file of penalty factors
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    pub penalty_factor: Option<PathBuf>,
    /// As in training: all weights are at least zero
    #[arg(long, help_heading = "Model")]
    pub nonnegative: bool,
    /// As in training: lowest value of the weights, or a file with one per feature
    #[arg(long, value_name = "NUMBER|FILE", allow_hyphen_values = true, help_heading = "Model")]
    pub lower: Option<String>,
    /// As in training: highest value of the weights, or a file with one per feature
    #[arg(long, value_name = "NUMBER|FILE", allow_hyphen_values = true, help_heading = "Model")]
    pub upper: Option<String>,
    /// As in training: features whose weight is zero
    #[arg(long, value_name = "NAMES|@FILE", allow_hyphen_values = true, help_heading = "Model")]
    pub exclude: Option<String>,
    /// Memory limit, as in 2G: rows beyond it are read from disk
    ///
    /// One model is certified in one or two passes over the rows. More than two classes, and labels, must fit into the limit.
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Performance")]
    pub memory: Option<usize>,
    /// Number of threads [default: all cores]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Performance")]
    pub threads: Option<u32>,
    /// Print no notes and no progress; warnings stay
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// Print the results as one JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Examples below the help of `inspect`.
const INSPECT: &str = "\
Examples:
  lazyglm inspect model --top 10                            the ten largest weights
  lazyglm inspect model --tsv > weights.tsv                 all weights, one per line";

/// Arguments of `lazyglm inspect`.
#[derive(ClapArgs)]
#[command(after_help = INSPECT)]
pub struct Inspect {
    /// Model file, written by `lazyglm train -o`
    pub model: PathBuf,
    /// Show the N largest weights, per class or label if there are many [default: 20, or all with --tsv and --json]
    #[arg(long, value_name = "N", conflicts_with = "all", help_heading = "Output")]
    pub top: Option<usize>,
    /// Show every non-zero weight, in the order of features
    #[arg(long, help_heading = "Output")]
    pub all: bool,
    /// Print one `feature<TAB>weight` per line, after a line `(bias)<TAB>value`; with many classes or labels, each line starts with its name
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub tsv: bool,
    /// Print one JSON object with the training settings, bias and weights
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
