//! Laws of FTRL-proximal: its weights are the leader's by definition, zeros included, whatever the chunks.

use crate::common::problem::{Problem, learns_alike_in_chunks, losses, one_of};
use crate::common::{Weighted, difference, log_uniform, penalty, sign, tolerance};
use lazyglm::loss::Loss;
use lazyglm::objective::Bias;
use lazyglm::optim::ftrl::Ftrl;
use lazyglm::optim::learner::Learner;
use lazyglm::optim::scales::Units;
use lazyglm::util::random::Random;
use lazyglm::{ElasticNet, Settings, objective, synth, train};
use proptest::prelude::*;
use std::sync::Arc;

struct Drawn {
    problem: Problem,
    loss: Arc<dyn Loss>,
    metrics: Vec<f64>,
    start: Vec<f64>,
    penalty: ElasticNet,
    eta: f64,
    units: Units,
    bias: bool,
    weighted: Weighted,
}

impl Drawn {
    fn new(seed: u64, count: usize) -> Drawn {
        let random = &mut Random::new(seed);
        let loss = one_of(random, losses().filter(|loss| loss.variance_power().is_none()));
        let columns = 1 + random.below(40) as usize;
        let weighted = Weighted::draw(random, columns, 3.0);
        let start = |random: &mut Random, j| weighted.clip(j, sign(random) * log_uniform(random, 1e-6, 3.0));
        Drawn {
            problem: Problem::draw(random, &*loss, count, columns),
            metrics: (0..columns).map(|_| log_uniform(random, 0.05, 5.0)).collect(),
            start: (0..columns).map(|j| start(random, j)).collect(),
            penalty: penalty(random, 0.3, 30.0),
            eta: log_uniform(random, 1e-3, 0.5),
            units: Units {
                score: log_uniform(random, 0.3, 3.0),
                slope: log_uniform(random, 0.3, 3.0),
                start: 0.0,
            },
            bias: random.below(3) > 0,
            loss,
            weighted,
        }
    }

    fn lazy(&self) -> Ftrl {
        let model = Ftrl::new(self.penalty, self.eta, self.metrics.clone(), self.units, self.bias);
        model.weighted(&self.weighted.of(self.penalty)).starting_from(&self.start, 0.1)
    }

    /// The definition: after each row, every weight minimises what the leader minimises, kept as plain sums
    /// Σg, Σσ and Σσw, the first of them the start.
    fn dense(&self) -> (Vec<f64>, f64, f64) {
        let Units { score: u, slope: v, .. } = self.units;
        let (examples, d) = (self.problem.examples(), self.start.len());
        let rate = |j: usize| self.eta * u * self.metrics[j];
        let mut squares = vec![0.01 * v * v; d];
        let (mut slopes, mut sigmas) =
            (vec![0.0; d], (0..d).map(|j| 0.1 * v / rate(j)).collect::<Vec<f64>>());
        let mut pulls: Vec<f64> = (0..d).map(|j| sigmas[j] * self.start[j]).collect();
        let (mut w, mut bias, mut bias_square) =
            (self.start.clone(), if self.bias { 0.1 } else { 0.0 }, v * v);
        let mut largest = w.iter().fold(0.0f64, |most, w| most.max(w.abs()));
        for i in 0..examples.len() {
            let mut x = vec![0.0; d];
            examples.rows.for_each(i, |j, value| x[j] = value);
            let s = x.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() + bias + examples.offset(i);
            let slope = self.problem.weights[i] * self.loss.slope(s, self.problem.targets[i]);
            let k = (i + 1) as f64;
            for j in 0..d {
                let before = squares[j].sqrt();
                squares[j] += self.metrics[j] * (slope * x[j]).powi(2);
                let sigma = (squares[j].sqrt() - before) / rate(j);
                slopes[j] += slope * x[j];
                sigmas[j] += sigma;
                pulls[j] += sigma * w[j];
                let steep = pulls[j] - slopes[j]; // minus the slope of the smooth part at 0
                let penalty = self.weighted.of(self.penalty).at(j);
                let least = match steep.abs() - k * penalty.l1 {
                    over if over > 0.0 => over.copysign(steep) / (sigmas[j] + k * penalty.l2),
                    _ => 0.0,
                };
                w[j] = self.weighted.clip(j, least);
                largest = largest.max(w[j].abs());
            }
            bias_square += slope * slope;
            bias -= if self.bias { self.eta * u * slope / bias_square.sqrt() } else { 0.0 };
        }
        (w, bias, largest)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn lazy_is_the_leader_by_definition(seed in any::<u64>(), steps in 1usize..400) {
        let drawn = Drawn::new(seed, steps);
        let mut lazy = drawn.lazy();
        lazy.learn(&*drawn.loss, drawn.problem.examples(), &(0..steps as u32).collect::<Vec<_>>()).unwrap();
        let (dense, bias, largest) = drawn.dense();
        let apart = difference(&lazy.weights(), &dense, largest);
        prop_assert!(apart.worst < 100.0 * tolerance(steps) && apart.worst_zero < 1e-11, "{}: {apart:?}", drawn.loss.spec());
        prop_assert!((lazy.bias() - bias).abs() < 1e-10 * bias.abs().max(1.0));
    }

    #[test]
    fn any_chunks_give_the_bits_of_one_fit_and_looking_changes_none(seed in any::<u64>(), cuts in 1u64..20) {
        let (drawn, mut random) = (Drawn::new(seed, 200), Random::new(seed ^ 1));
        learns_alike_in_chunks(|| drawn.lazy(), &*drawn.loss, drawn.problem.examples(), &mut random, cuts);
    }
}

#[test]
fn the_penalty_is_that_of_the_objective() {
    let task = synth::documents(&synth::Shape { rows: 2_000, features: 200, ..Default::default() }).task;
    let most = objective::l1_max(task.examples(), &*task.loss, Bias::Best);
    let fit = |solver: &str, l1: f64, eta0| {
        let penalty = ElasticNet { l1, l2: 1e-3 };
        let settings =
            Settings { solver: solver.parse().unwrap(), penalty, eta0, epochs: 20, ..Settings::default() };
        train(&task, None, &settings, &mut |_| {}).unwrap().report
    };
    assert_eq!(fit("ftrl", 2.0 * most, Some(0.1)).nonzeros, 0);
    let (found, best) = (fit("ftrl", 0.1 * most, None), fit("newton", 0.1 * most, None));
    assert!(found.objective < 1.001 * best.objective, "{} {}", found.objective, best.objective);
    assert!(found.nonzeros.abs_diff(best.nonzeros) <= 8, "{} {}", found.nonzeros, best.nonzeros);
}
