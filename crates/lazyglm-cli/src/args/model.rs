//! Verbs that take a model: `predict`, `evaluate`, `certify` and `inspect`.

use clap::{Args as ClapArgs, ValueEnum};
use std::path::PathBuf;

/// Arguments of `lazyglm predict`.
#[derive(ClapArgs)]
pub struct Predict {
    /// Model file, written by `lazyglm train -o`
    pub model: PathBuf,
    /// Data with the features of the training data: plain, gzip or zstd; '-' for standard input; targets may be missing
    pub data: PathBuf,
    /// Data format [default: by file name, or as in training]
    #[arg(long, value_name = "F")]
    pub format: Option<String>,
    /// File to write the predictions to, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Kind of prediction [default: probability if the loss has one, else score for two classes and target for numbers; target for
    /// more classes and for labels, whose probabilities or scores are one tab-separated line per row, after a header of names];
    /// csv or json change the form, as in --as score,json
    #[arg(long = "as", value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub what: Vec<What>,
    /// Columns of the data to copy as text before each prediction; 'target' is the row's target, 'tag' the tag of Vowpal Wabbit data
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Print the K classes or labels with the largest scores, each with its probability (or its score)
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Probability above which the positive class or a label is predicted, or the score if the loss gives no probability
    /// [default: 0.5, or the tuned thresholds of the model]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub threshold: Option<f64>,
    /// File with one offset per row, which is added to the row's score, for a model that was trained with offsets
    #[arg(long, value_name = "FILE")]
    pub offset: Option<PathBuf>,
    /// Fail on a feature that does not occur in training, instead of ignoring it
    #[arg(long)]
    pub strict: bool,
    /// Print no notes and no warnings
    #[arg(short, long)]
    pub quiet: bool,
    /// Print the time of each stage on standard error: read, evaluate and write
    #[arg(long)]
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

/// Arguments of `lazyglm evaluate`.
#[derive(ClapArgs)]
pub struct Evaluate {
    /// Model file, written by `lazyglm train -o`
    pub model: PathBuf,
    /// Data with the features of the training data: plain, gzip or zstd; '-' for standard input
    pub data: PathBuf,
    /// Data format [default: by file name, or as in training]
    #[arg(long, value_name = "F")]
    pub format: Option<String>,
    /// File with one offset per row, which is added to the row's score, for a model that was trained with offsets
    #[arg(long, value_name = "FILE")]
    pub offset: Option<PathBuf>,
    /// File with one weight per row; multiplied with the importances of Vowpal Wabbit data, which count as weights, too
    #[arg(long, value_name = "FILE")]
    pub sample_weights: Option<PathBuf>,
    /// Column of the data whose values are groups: show the metrics of each group, too
    #[arg(long, value_name = "COLUMN")]
    pub by: Option<String>,
    /// Draw the rows N times with replacement, and show the 95 % interval of each metric
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub bootstrap: Option<u32>,
    /// Seed of the bootstrap
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Fail on a feature that does not occur in training, instead of ignoring it
    #[arg(long)]
    pub strict: bool,
    /// Print no notes and no warnings
    #[arg(short, long)]
    pub quiet: bool,
    /// Print the results as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print the time of each stage on standard error: read, evaluate and write
    #[arg(long)]
    pub timings: bool,
}

/// Arguments of `lazyglm certify`.
#[derive(ClapArgs)]
pub struct Certify {
    /// Model file, written by `lazyglm train -o`, which holds the loss and the penalty
    pub model: PathBuf,
    /// The training data of the model: plain, gzip or zstd
    pub data: PathBuf,
    /// File of weights to certify instead of the model's: one `feature<TAB>weight` per line, as `inspect --tsv` prints them
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
    /// λ₁ [default: that of the model]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub l1: Option<f64>,
    /// λ₂ [default: that of the model]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub l2: Option<f64>,
    /// As in training: file with one weight per row
    #[arg(long, value_name = "FILE")]
    pub sample_weights: Option<PathBuf>,
    /// As in training: file with one offset per row
    #[arg(long, value_name = "FILE")]
    pub offset: Option<PathBuf>,
    /// As in training: balanced, or CLASS=WEIGHT,CLASS=WEIGHT
    #[arg(long, value_name = "W", allow_hyphen_values = true)]
    pub class_weight: Option<String>,
    /// As in training: file of penalty factors
    #[arg(long, value_name = "FILE")]
    pub penalty_factor: Option<PathBuf>,
    /// As in training: all weights are at least zero
    #[arg(long)]
    pub nonnegative: bool,
    /// As in training: lowest value of the weights, or a file with one per feature
    #[arg(long, value_name = "X|FILE", allow_hyphen_values = true)]
    pub lower: Option<String>,
    /// As in training: highest value of the weights, or a file with one per feature
    #[arg(long, value_name = "X|FILE", allow_hyphen_values = true)]
    pub upper: Option<String>,
    /// As in training: features whose weight is zero
    #[arg(long, value_name = "NAMES|@FILE", allow_hyphen_values = true)]
    pub exclude: Option<String>,
    /// As in training: how values were scaled
    #[arg(long, default_value = "none", value_name = "none|maxabs|std|tfidf")]
    pub scale: String,
    /// Data format [default: by file name, or as in training]
    #[arg(long, value_name = "F")]
    pub format: Option<String>,
    /// Print no notes and no warnings
    #[arg(short, long)]
    pub quiet: bool,
    /// Print the results as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `lazyglm inspect`.
#[derive(ClapArgs)]
pub struct Inspect {
    /// Model file, written by `lazyglm train -o`
    pub model: PathBuf,
    /// Show the N largest weights, per class or label if there are many [default: 20, or all with --tsv and --json]
    #[arg(long, value_name = "N", conflicts_with = "all")]
    pub top: Option<usize>,
    /// Show every non-zero weight, in the order of features
    #[arg(long)]
    pub all: bool,
    /// Print one `feature<TAB>weight` per line, after a line `(bias)<TAB>value`; with many classes or labels, each line starts with its name
    #[arg(long, conflicts_with = "json")]
    pub tsv: bool,
    /// Print one JSON object with the training settings, bias and weights
    #[arg(long)]
    pub json: bool,
}
