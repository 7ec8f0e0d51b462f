//! Flags of `train` whose value is one of a few words.

use clap::ValueEnum;

/// How more than two classes are trained.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Multiclass {
    /// One model per class, against all others.
    Ovr,
    /// One softmax model: the probabilities sum to one.
    Softmax,
}

/// How progress is shown on standard error.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShowProgress {
    /// A bar on a terminal; elsewhere at most one line per second, and none in the first second.
    Auto,
    /// A line for each epoch, step and penalty.
    Lines,
    /// Nothing.
    None,
}

/// What the targets are.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Task {
    /// Classes.
    Classify,
    /// Numbers.
    Regress,
    /// Sets of labels.
    Multilabel,
}

/// What a missing number of a table becomes.
#[derive(Clone, Copy, ValueEnum)]
pub enum Missing {
    /// Zero.
    Zero,
    /// The mean of its column in the first rows.
    Mean,
    /// The mean of its column in the first rows, and a feature that says that the number is missing.
    Indicator,
}

impl From<Missing> for lazyglm::data::format::Missing {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Zero => Self::Zero,
            Missing::Mean => Self::Mean,
            Missing::Indicator => Self::Indicator,
        }
    }
}

/// The score above which a label is predicted.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Thresholds {
    /// Zero for every label.
    Zero,
    /// Tuned per label for the largest micro-F1.
    Tuned,
}

/// Whether predictions are limited to the range of the training targets.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Limit {
    /// Where that lowers the loss on held-out rows.
    Auto,
    /// Always.
    Yes,
    /// Never.
    No,
}

/// How a step applies the penalty.
#[derive(Clone, Copy, ValueEnum)]
pub enum Method {
    /// Proximal step.
    Fobos,
    /// Clipped gradient step.
    Sgd,
}

/// The algorithm that applies the penalty.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Update {
    /// Lazy updates in constant time per non-zero.
    Lazy,
    /// Lazy updates with the tables of the paper.
    Table,
    /// Dense updates: every weight at every step.
    Dense,
    /// Dense updates, with predictions over non-zeros only.
    DenseSparsePredict,
}

/// What a run does that diverges.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnDivergence {
    /// End with an error.
    Stop,
    /// Begin anew with half the learning rate.
    Retry,
}

/// The order of rows.
#[derive(Clone, Copy, ValueEnum)]
pub enum Order {
    /// Shuffled anew for each epoch.
    Shuffled,
    /// The order of the data.
    Sequential,
}

/// Floating-point precision of the weights.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Precision {
    /// Four bytes per weight.
    F32,
    /// Eight bytes per weight.
    F64,
}
