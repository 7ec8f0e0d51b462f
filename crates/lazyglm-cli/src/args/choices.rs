//! Flags of `train` that are one of a few words.

use clap::ValueEnum;

/// How more than two classes go together.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Multiclass {
    /// One against the rest.
    Ovr,
    /// Probabilities that sum to one.
    Softmax,
}

/// The score above which a label is given.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Thresholds {
    /// The same for all.
    Zero,
    /// Where F1 is greatest.
    Tuned,
}

/// How a step applies the penalty.
#[derive(Clone, Copy, ValueEnum)]
pub enum Method {
    /// Proximal step.
    Fobos,
    /// Clipped gradient step.
    Sgd,
}

/// When the penalty is paid.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Update {
    /// The folded frame: two numbers for all weights.
    Lazy,
    /// The paper's tables.
    Table,
    /// Every weight, every step.
    Dense,
    /// The same, with predictions over non-zeros.
    DenseSparsePredict,
}

/// The order of rows.
#[derive(Clone, Copy, ValueEnum)]
pub enum Order {
    /// Anew for each epoch.
    Shuffled,
    /// As in the data.
    Sequential,
}

/// Of weights.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Precision {
    /// Four bytes.
    F32,
    /// Eight bytes.
    F64,
}
