//! A model made of a matrix of coefficients, as other libraries have it.

use super::report::Report;
use super::{Counting, Model, Seen, TfIdf, Training, Words};
use crate::data::read_config::ReadConfig;
use crate::data::scaling::CountScaling;
use crate::data::vocabulary::Vocabulary;
use crate::problem::heads::{HeadKind, Heads};
use crate::problem::loss::Loss;
use crate::problem::penalty::ElasticNet;
use crate::util::error::{Error, Result};
use std::sync::Arc;

/// Coefficients of a linear model: one row per head.
pub struct Coefficients<'a> {
    /// The weights, head by head.
    pub weights: &'a [f64],
    /// The number of features.
    pub columns: usize,
    /// One bias per head.
    pub biases: &'a [f64],
    /// The names of the classes: two for one head, else one per head; none for numbers.
    pub classes: Option<Vec<String>>,
    /// How several heads belong together.
    pub kind: HeadKind,
    /// The names of the features; indices if `None`.
    pub names: Option<&'a [String]>,
    /// The index of the first feature, 0 or 1.
    pub index_base: u32,
    /// If the weights are those of tf-idf values: how counts become these.
    pub tf_idf: Option<CountScaling<'a>>,
}

impl Coefficients<'_> {
    /// The model with these coefficients. The report of the training has what they tell: penalty and non-zeros.
    pub fn model(&self, loss: Arc<dyn Loss>, reading: ReadConfig, mut training: Training) -> Result<Model> {
        let Coefficients { weights, columns, biases, index_base, .. } = *self;
        let heads = biases.len();
        let finite = weights.iter().chain(biases).all(|w| w.is_finite());
        if !finite || weights.len() != heads * columns {
            return Err(Error::call("there are weights that are not finite", "train the model again"));
        }
        if self.tf_idf.is_some_and(|scaling| scaling.idf.len() != columns) {
            return Err(Error::call("there are features without an idf", "train the model again"));
        }
        let last = columns as u64 + u64::from(index_base);
        if columns == 0 || last > 1 << 32 {
            return Err(Error::call("a model file holds 1 to 2³² features", "train on fewer"));
        }
        let penalty = ElasticNet { l1: training.l1, l2: training.l2 };
        training.report = Report {
            l1: penalty.l1,
            l2: penalty.l2,
            penalty: penalty.value(weights),
            nonzeros: weights.iter().filter(|w| **w != 0.0).count(),
            features: columns,
            ..training.report
        };
        let weight = |k: usize, j: usize| weights[k * columns + j];
        let is_alive = |j: &usize| (0..heads).any(|k| weight(k, *j) != 0.0);
        let alive: Vec<usize> = (0..columns).filter(is_alive).collect();
        let (mut kept, mut ids, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        for &j in &alive {
            for k in (0..heads).filter(|&k| weight(k, j) != 0.0) {
                kept.push(weight(k, j));
                ids.push(k as u32);
            }
            ends.push(kept.len());
        }
        let (words, features, runs) = match self.names {
            None => {
                let features = alive.iter().map(|&j| j as u32 + index_base).collect();
                (None, features, vec![(index_base, (last - 1) as u32)])
            }
            Some(names) => {
                let zero: Vec<usize> = (0..columns).filter(|j| !is_alive(j)).collect();
                let (others, of_others) = Words::marked(&zero, |j| names[j].as_str());
                let words = Words {
                    names: alive.iter().map(|&j| names[j].as_str()).collect::<Vocabulary>(),
                    others,
                    idf: self.tf_idf.map(|CountScaling { idf, .. }| {
                        [&alive, &of_others].map(|all| all.iter().map(|&j| idf[j]).collect())
                    }),
                };
                let count = alive.len() as u32;
                (Some(words), (0..count).collect(), (count > 0).then(|| (0, count - 1)).into_iter().collect())
            }
        };
        let (classes, heads) = self.heads(ends, ids)?;
        Ok(Model {
            features,
            weights: kept,
            bias: if heads.is_some() { 0.0 } else { biases[0] },
            classes,
            heads,
            tf_idf: self.tf_idf.filter(|scaling| scaling.log || self.names.is_none()).map(
                |CountScaling { log, idf, norm }| TfIdf {
                    log,
                    norm,
                    idf: if self.names.is_none() { idf.to_vec() } else { Vec::new() },
                },
            ),
            seen: Seen { runs },
            words,
            reading,
            counting: Counting { index_base, count: columns },
            training,
            loss,
            limits: None,
        })
    }

    /// Two classes have one head, more have one each.
    fn heads(&self, ends: Vec<usize>, ids: Vec<u32>) -> Result<(Option<[String; 2]>, Option<Heads>)> {
        match (self.biases.len(), self.classes.clone()) {
            (1, None) => Ok((None, None)),
            (1, Some(names)) if names.len() == 2 => Ok((names.try_into().ok(), None)),
            (heads, Some(names)) if names.len() == heads => {
                let (kind, biases) = (self.kind, self.biases.to_vec());
                Ok((None, Some(Heads { kind, names, biases, ends, ids, thresholds: None })))
            }
            (heads, _) => {
                Err(Error::call(format!("{heads} models, and classes for another number"), "fit it again"))
            }
        }
    }
}
