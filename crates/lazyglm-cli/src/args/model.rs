//! Verbs that take a model: `predict`, `evaluate`, `certify` and `inspect`.

use clap::{Args as ClapArgs, ValueEnum};
use std::path::PathBuf;

/// `lazyglm predict`.
#[derive(ClapArgs)]
pub struct Predict {
    /// A file written by `lazyglm train -o`
    pub model: PathBuf,
    /// Data of the kind the model was trained on, plain, gzip or zstd; '-' for standard input; targets may be missing
    pub data: PathBuf,
    /// The format [default: by the file's name, or as in training]
    #[arg(long, value_name = "F")]
    pub format: Option<String>,
    /// Write the predictions here instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What to print [default: probability if the loss gives one, else score for classes, target for numbers; target with many
    /// classes or labels, whose probabilities or scores are a tab-separated line a row, after a line of names]
    #[arg(long = "as", value_enum, value_name = "WHAT")]
    pub what: Option<What>,
    /// Fail on a feature that never occurred in training, instead of counting it as zero
    #[arg(long)]
    pub strict: bool,
    /// No notes
    #[arg(long)]
    pub quiet: bool,
}

/// What to print for a row.
#[derive(Clone, Copy, ValueEnum)]
pub enum What {
    /// Of the positive class.
    Probability,
    /// w·x + b.
    Score,
    /// The class or the predicted number.
    Target,
}

/// `lazyglm evaluate`.
#[derive(ClapArgs)]
pub struct Evaluate {
    /// A file written by `lazyglm train -o`
    pub model: PathBuf,
    /// Data of the kind the model was trained on, plain, gzip or zstd; '-' for standard input
    pub data: PathBuf,
    /// The format [default: by the file's name, or as in training]
    #[arg(long, value_name = "F")]
    pub format: Option<String>,
    /// Fail on a feature that never occurred in training, instead of counting it as zero
    #[arg(long)]
    pub strict: bool,
    /// No notes
    #[arg(long)]
    pub quiet: bool,
    /// The figures as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `lazyglm certify`.
#[derive(ClapArgs)]
pub struct Certify {
    /// A file written by `lazyglm train -o`: it says which problem is to be solved
    pub model: PathBuf,
    /// The data it was trained on, plain, gzip or zstd
    pub data: PathBuf,
    /// Judge these weights instead of the model's own: one `feature<TAB>weight` a line, as `inspect --tsv` prints them
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
    /// λ₁ [default: that of the model]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub l1: Option<f64>,
    /// λ₂ [default: that of the model]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub l2: Option<f64>,
    /// As in training: a file with one weight a row
    #[arg(long, value_name = "FILE")]
    pub sample_weights: Option<PathBuf>,
    /// As in training: balanced, or CLASS=WEIGHT,CLASS=WEIGHT
    #[arg(long, value_name = "W", allow_hyphen_values = true)]
    pub class_weight: Option<String>,
    /// As in training: factors of the penalty
    #[arg(long, value_name = "FILE")]
    pub penalty_factor: Option<PathBuf>,
    /// As in training: no weight below zero
    #[arg(long)]
    pub nonnegative: bool,
    /// As in training: what each feature was divided by
    #[arg(long, default_value = "none", value_name = "none|maxabs|std")]
    pub scale: String,
    /// The format [default: by the file's name, or as in training]
    #[arg(long, value_name = "F")]
    pub format: Option<String>,
    /// No notes
    #[arg(long)]
    pub quiet: bool,
    /// The figures as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `lazyglm inspect`.
#[derive(ClapArgs)]
pub struct Inspect {
    /// A file written by `lazyglm train -o`
    pub model: PathBuf,
    /// Show the N largest weights, of each class or label if there are many [default: 20, or all with --tsv and --json]
    #[arg(long, value_name = "N", conflicts_with = "all")]
    pub top: Option<usize>,
    /// Show every weight that is not zero, in the order of features
    #[arg(long)]
    pub all: bool,
    /// One `feature<TAB>weight` a line, after one line `(bias)<TAB>value`; with many classes or labels, its name and a tab first
    #[arg(long, conflicts_with = "json")]
    pub tsv: bool,
    /// One JSON object: how it was trained, bias and weights
    #[arg(long)]
    pub json: bool,
}
