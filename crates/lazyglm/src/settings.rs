//! Everything a run depends on, besides the data.

use crate::penalty::{ElasticNet, Method};
use crate::schedule::Spec;
use serde::{Deserialize, Serialize};

/// How the penalty is paid: see [`crate::update`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UpdateName {
    /// The folded frame.
    Lazy,
    /// The paper's tables.
    Table,
    /// Every weight at every step.
    Dense,
    /// The same, with predictions over non-zeros only.
    DenseSparsePredict,
}

/// What weights are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Four bytes.
    F32,
    /// Eight bytes.
    F64,
}

/// The order of rows in an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Anew for each epoch, from the seed.
    Shuffled,
    /// As in the data.
    Sequential,
}

/// Everything a run depends on, besides the data.
#[derive(Clone, Debug)]
pub struct Settings {
    /// λ₁ and λ₂.
    pub net: ElasticNet,
    /// SGD or FoBoS.
    pub method: Method,
    /// How the penalty is paid.
    pub update: UpdateName,
    /// η(t).
    pub schedule: Spec,
    /// η₀; found on the first rows if not given.
    pub eta0: Option<f64>,
    /// How many times the rows are gone through.
    pub epochs: u64,
    /// In which order.
    pub order: Order,
    /// Of the order.
    pub seed: u64,
    /// Of the lazy update's weights; the others work in f64.
    pub precision: Precision,
    /// Whether there is a bias.
    pub bias: bool,
    /// Stop after so many epochs without a better validation loss, and return the best.
    pub early_stop: Option<u64>,
    /// How many steps the tables of [`UpdateName::Table`] hold.
    pub table_budget: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            net: ElasticNet { l1: 1e-6, l2: 1e-6 },
            method: Method::Fobos,
            update: UpdateName::Lazy,
            schedule: Spec::parse("cosine").expect("a schedule of the table"),
            eta0: None,
            epochs: 5,
            order: Order::Shuffled,
            seed: 1,
            precision: Precision::F32,
            bias: true,
            early_stop: None,
            table_budget: 1 << 17,
        }
    }
}
