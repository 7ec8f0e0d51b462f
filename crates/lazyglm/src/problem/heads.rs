//! Models with one head per class or label; a head has its own weights and bias.
//!
//! ```text
//! ovr       pₖ = link(sₖ)/Σ link(s)      the class of the greatest score
//! softmax   pₖ = e^sₖ/Σ e^s              the same
//! labels    pₖ = link(sₖ)                every label whose score is above its threshold
//! ```

use crate::problem::loss::Loss;
use crate::util::checkpoint::Key;
use crate::util::state::{Fields, State};
use serde::{Deserialize, Serialize};

/// How the heads of a model belong together.
///
/// ```
/// use lazyglm::HeadKind;
/// assert_eq!(serde_json::to_value(HeadKind::Softmax).unwrap(), "softmax"); // in a model file
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum HeadKind {
    /// One-vs-rest: a row has one class, and each head separates its class from all others.
    Ovr,
    /// Softmax: a row has one class, and all heads are trained together.
    Softmax,
    /// Multi-label: a row has any number of labels, and each head predicts one label.
    Labels,
}

impl HeadKind {
    /// What a head stands for: "class" or "label".
    pub fn noun(self) -> &'static str {
        if self == HeadKind::Labels { "label" } else { "class" }
    }

    /// What heads stand for, in the plural: "classes" or "labels".
    pub fn nouns(self) -> &'static str {
        if self == HeadKind::Labels { "labels" } else { "classes" }
    }
}

/// A trained head: its non-zero weights by column, and its bias.
///
/// ```
/// let head = lazyglm::Head::of([0.0, 0.5, 0.0, -2.0].into_iter(), 0.1);
/// assert_eq!((head.columns, head.weights, head.bias), (vec![1, 3], vec![0.5, -2.0], 0.1));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head {
    /// The columns with a non-zero weight, in ascending order.
    pub columns: Vec<u32>,
    /// The weights of these columns.
    pub weights: Vec<f64>,
    /// The bias.
    pub bias: f64,
}

impl Head {
    /// Makes a head from dense weights, without the zeros.
    pub fn of(weights: impl Iterator<Item = f64>, bias: f64) -> Head {
        let mut head = Head { bias, ..Head::default() };
        for (column, weight) in weights.enumerate().filter(|(_, weight)| *weight != 0.0) {
            head.columns.push(column as u32);
            head.weights.push(weight);
        }
        head.columns.shrink_to_fit();
        head.weights.shrink_to_fit();
        head
    }

    /// All weights, with the zeros.
    pub fn dense(&self, columns: usize) -> Vec<f64> {
        let mut weights = vec![0.0; columns];
        self.columns.iter().zip(&self.weights).for_each(|(&column, &w)| weights[column as usize] = w);
        weights
    }

    /// A key with this head.
    pub(crate) fn and_key(&self, key: Key) -> Key {
        key.and_ids(&self.columns).and_numbers(&self.weights).and_numbers(&[self.bias])
    }

    /// Whether all weights and the bias are finite.
    pub fn is_finite(&self) -> bool {
        self.bias.is_finite() && self.weights.iter().all(|w| w.is_finite())
    }

    /// Bytes per weight.
    pub const WEIGHT: usize = 12;
}

impl State for Head {
    fn fields(&mut self, fields: &mut Fields) {
        self.columns.fields(fields);
        self.weights.fields(fields);
        self.bias.fields(fields);
        let limit = fields.columns();
        let within = self.columns.iter().all(|&column| (column as usize) < limit);
        fields.require(within && self.columns.len() == self.weights.len());
    }
}

/// The heads of a model. Their weights lie feature by feature: those of feature k are
/// `ends[k − 1]..ends[k]` of [`crate::Model::weights`], and `ids` says whose each is.
///
/// ```
/// use lazyglm::{Heads, HeadKind, loss};
/// let names = ["ham", "spam", "eggs"].map(String::from).to_vec();
/// let heads = Heads { kind: HeadKind::Softmax, names, biases: vec![0.0; 3], ends: vec![], ids: vec![], thresholds: None };
/// let mut scores = [0.0, 3f64.ln(), 0.0];
/// assert_eq!(heads.best(&scores), 1);
/// heads.probabilities(&*loss::parse("logistic").unwrap(), &mut scores);
/// assert!(scores.iter().zip([0.2, 0.6, 0.2]).all(|(p, expected)| (p - expected).abs() < 1e-12));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Heads {
    /// How the heads belong together.
    pub kind: HeadKind,
    /// The name of each head.
    pub names: Vec<String>,
    /// The bias of each head.
    pub biases: Vec<f64>,
    /// The end of the weights of each feature.
    pub ends: Vec<usize>,
    /// The head of each weight, in ascending order per feature.
    pub ids: Vec<u32>,
    /// The score above which each label is predicted; 0 if `None`.
    pub thresholds: Option<Vec<f64>>,
}

impl Heads {
    /// The range of the weights of feature `k` in the arrays.
    pub fn span(&self, k: usize) -> std::ops::Range<usize> {
        (if k == 0 { 0 } else { self.ends[k - 1] })..self.ends[k]
    }

    /// The head with the largest score; the first of equals.
    pub fn best(&self, scores: &[f64]) -> usize {
        (1..scores.len()).fold(0, |best, k| if scores[k] > scores[best] { k } else { best })
    }

    /// The labels whose score is above their threshold.
    pub fn chosen<'a>(&'a self, scores: &'a [f64]) -> impl Iterator<Item = usize> + 'a {
        let threshold = |k: usize| self.thresholds.as_ref().map_or(0.0, |of| of[k]);
        (0..scores.len()).filter(move |&k| scores[k] > threshold(k))
    }

    /// Converts scores to probabilities: by softmax, or by the inverse link of the loss for independent heads.
    pub fn probabilities(&self, loss: &dyn Loss, scores: &mut [f64]) {
        match self.kind {
            HeadKind::Softmax => {
                let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                scores.iter_mut().for_each(|s| *s = (*s - most).exp());
                share(scores);
            }
            HeadKind::Ovr => {
                scores.iter_mut().for_each(|s| *s = loss.inverse_link(*s));
                share(scores);
            }
            HeadKind::Labels => scores.iter_mut().for_each(|s| *s = loss.inverse_link(*s)),
        }
    }
}

/// Scales the numbers to sum one; equal numbers if all are zero.
fn share(parts: &mut [f64]) {
    let (sum, count) = (parts.iter().sum::<f64>(), parts.len() as f64);
    parts.iter_mut().for_each(|part| *part = if sum > 0.0 { *part / sum } else { 1.0 / count });
}
