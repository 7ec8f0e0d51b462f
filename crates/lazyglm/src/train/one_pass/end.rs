//! The end of a pass: the zero test and the report.

use super::run::Run;
use super::{Passed, Streamed};
use crate::data::feature_ids::FeatureIds;
use crate::data::features::Features;
use crate::data::read_config::ReadConfig;
use crate::data::rows::Examples;
use crate::eval::objective;
use crate::model::report::{Report, Stop};
use crate::model::trained::Trained;
use crate::optim::shard::zero_test;
use crate::problem::solvers::Solver;
use crate::problem::task::Targets;
use crate::train::zero_test::TIMES;
use crate::util::error::Place;
use std::sync::Arc;

impl Run<'_> {
    /// The model of all rows that were seen.
    pub fn end(self, feature_ids: FeatureIds, reading: ReadConfig, stop: Stop) -> Passed {
        let (settings, loss, bias) = (self.pass.settings, self.first.loss.clone(), self.learner.bias());
        let (weights, n) = (self.learner.weights(), self.rows.max(1) as f64);
        let count = weights.len();
        let fewer = self.tested(&weights, bias, n);
        let nonzeros = |weights: &[f64]| objective::nonzeros(weights);
        let zeroed = fewer.as_ref().map_or(0, |fewer| nonzeros(&weights) - nonzeros(fewer));
        let weights = fewer.unwrap_or(weights);
        let (mean, penalty) = (self.learner.loss() / n, settings.weighted_penalty().value(&weights));
        let report = Report {
            objective: mean + penalty,
            loss: mean,
            penalty,
            l1: settings.penalty.l1,
            l2: settings.penalty.l2,
            nonzeros: nonzeros(&weights),
            features: count,
            rows: self.rows,
            epochs: 1,
            runs: 1,
            eta0: self.eta0,
            seconds_train: self.started.elapsed().as_secs_f64(),
            solver: Solver::Sgd,
            stop,
            ..Report::default()
        };
        let mut features = Features::columns_from(self.base, count);
        features.feature_ids = Arc::new(feature_ids);
        let targets = match self.first.targets.classes() {
            Some(classes) => Targets::Binary { classes: classes.clone(), signs: Vec::new() },
            None => Targets::Real(Vec::new()),
        };
        let first = self.first.len();
        let problem = Streamed {
            rows: self.rows,
            loss,
            targets,
            features,
            occurs: self.learner.occurs().to_vec(),
            reading,
            weighted: self.weighted,
            offsets: self.offsets,
            file: Place::file(self.pass.path),
        };
        Passed { problem, trained: Trained::one(weights, bias, report), zeroed, first, damped: self.damped }
    }

    /// The weights after the zero test, if it lowers the objective of the first rows.
    fn tested(&self, weights: &[f64], bias: f64, n: f64) -> Option<Vec<f64>> {
        let (from_zero, curvature) = self.learner.sums()?;
        let weighted_penalty = self.pass.settings.weighted_penalty();
        let mean =
            |sums: &[f64]| (0..weights.len()).map(|j| sums.get(j).map_or(0.0, |sum| sum / n)).collect();
        let (from_zero, curvature): (Vec<f64>, Vec<f64>) = (mean(from_zero), mean(curvature));
        let gradient: Vec<f64> =
            (0..weights.len()).map(|j| from_zero[j] + curvature[j] * weights[j]).collect();
        let mut first = self.first.data.rows.clone();
        first.declare_columns(weights.len());
        let examples = Examples { rows: first.borrow(), ..self.first.examples() };
        let f = |weights: &[f64]| {
            objective::mean_loss(examples, &*self.first.loss, weights, bias) + weighted_penalty.value(weights)
        };
        let before = f(weights);
        TIMES.into_iter().find_map(|times| {
            let mut fewer = weights.to_vec();
            let curvature: Vec<f64> = curvature.iter().map(|h| times * h).collect();
            let some = zero_test(&mut fewer, &gradient, &curvature, &weighted_penalty) > 0;
            (some && f(&fewer) < before).then_some(fewer)
        })
    }
}
