//! Laws of variance-reduced steps: many drifting steps at once are many steps; lazy is dense; it ends at the minimum.

use crate::common::problem::{Problem, losses, one_of};
use crate::common::{Weighted, difference, log_uniform, penalty, sign, tolerance};
use lazyglm::loss::{self, Loss};
use lazyglm::objective::mean_loss;
use lazyglm::optim::learner::Learner;
use lazyglm::optim::prox_steps::drift;
use lazyglm::optim::scales::Scales;
use lazyglm::optim::svrg::{Svrg, SvrgOptions};
use lazyglm::util::random::Random;
use lazyglm::{ElasticNet, Examples, Method, Settings, Solver, Stop, synth, train};
use proptest::prelude::*;
use std::sync::Arc;

/// One step with a slope of its own: the definition.
fn step(penalty: ElasticNet, eta: f64, slope: f64, weight: f64) -> f64 {
    Method::Fobos.step(penalty, eta, weight - eta * slope)
}

fn smooth() -> impl Iterator<Item = Arc<dyn Loss>> {
    losses().filter(|loss| loss.second_derivative(0.0, 1.0).is_some() && loss.curvature().is_some())
}

struct Drawn {
    problem: Problem,
    loss: Arc<dyn Loss>,
    start: Vec<f64>,
    options: SvrgOptions,
    bias: bool,
    weighted: Weighted,
}

impl Drawn {
    fn new(seed: u64, count: usize) -> Drawn {
        let random = &mut Random::new(seed);
        let loss = one_of(random, smooth());
        let columns = 1 + random.below(30) as usize;
        let options = SvrgOptions {
            penalty: penalty(random, 0.3, 3.0),
            step: log_uniform(random, 0.02, 2.0),
            tolerance: 1e-9,
            seed,
        };
        let weighted = Weighted::draw(random, columns, 1.0);
        let start = |random: &mut Random, j| weighted.clip(j, sign(random) * log_uniform(random, 1e-6, 3.0));
        Drawn {
            problem: Problem::draw(random, &*loss, count, columns),
            start: (0..columns).map(|j| start(random, j)).collect(),
            options,
            bias: random.below(3) > 0,
            loss,
            weighted,
        }
    }

    fn lazy(&self) -> Svrg {
        Svrg::new(self.options, Scales::of(self.problem.examples()).spreads(), self.bias)
            .weighted(&self.weighted.of(self.options.penalty))
            .starting_from(&self.start, 0.1)
    }

    fn fit(&self, model: &mut Svrg, epochs: u64, mut learn: impl FnMut(&mut Svrg, &[u32])) {
        let order: Vec<u32> = (0..self.problem.targets.len() as u32).collect();
        for _ in 0..epochs {
            let mut pass = |see: &mut dyn FnMut(Examples)| {
                see(self.problem.examples());
                Ok(())
            };
            model.look(&*self.loss, &mut pass).unwrap();
            let visits = model.visits(self.problem.examples(), &order).unwrap();
            learn(model, &visits);
        }
    }

    /// The definition: every weight at every visit. The largest weight ever seen is the yardstick.
    fn dense(&self, epochs: u64) -> (Vec<f64>, f64, f64) {
        let (examples, d, n) = (self.problem.examples(), self.start.len(), self.problem.targets.len());
        let x: Vec<Vec<f64>> = (0..n)
            .map(|i| {
                let mut row = vec![0.0; d];
                examples.rows.for_each(i, |j, value| row[j] = value);
                row
            })
            .collect();
        let swift: Vec<f64> =
            Scales::of(examples).spreads().iter().map(|m| f64::from((1.0 / m) as f32)).collect();
        let of_bias = if self.bias { 1.0 } else { 0.0 };
        let length = |i: usize| {
            self.problem.weights[i] * ((0..d).map(|j| x[i][j].powi(2) * swift[j]).sum::<f64>() + of_bias)
        };
        let mean = (0..n).map(length).sum::<f64>() / n as f64;
        let factor = self.options.step / (self.loss.curvature().unwrap() * mean);
        let (mut w, mut b) = (self.start.clone(), 0.1 * of_bias);
        let (mut random, mut largest) = (Random::new(self.options.seed), 0.0f64);
        let slope = |w: &[f64], b: f64, i: usize| {
            let score = (0..d).map(|j| x[i][j] * w[j]).sum::<f64>() + b + examples.offset(i);
            self.loss.slope(score, self.problem.targets[i])
        };
        let penalty = self.weighted.of(self.options.penalty);
        let value = |w: &[f64], b: f64| mean_loss(examples, &*self.loss, w, b) + penalty.value(w);
        let (mut old, mut old_b, mut factor) = (w.clone(), b, factor);
        for epoch in 0..epochs {
            if epoch == 0 || value(&w, b) <= value(&old, old_b) {
                (old, old_b) = (w.clone(), b);
            } else {
                (w, b, factor) = (old.clone(), old_b, 0.5 * factor);
            }
            let slopes: Vec<f64> = (0..n).map(|i| slope(&old, old_b, i)).collect();
            let all = |of: &dyn Fn(usize) -> f64| {
                (0..n).map(|i| self.problem.weights[i] * slopes[i] * of(i)).sum::<f64>() / n as f64
            };
            let gradient: Vec<f64> = (0..d).map(|j| all(&|i| x[i][j])).collect();
            let of_bias = of_bias * all(&|_| 1.0);
            let mut visits = Vec::new();
            for i in 0..n {
                let times = length(i) / mean;
                let rounded = times.floor() as usize + usize::from(random.uniform() < times - times.floor());
                visits.extend(std::iter::repeat_n(i, rounded));
            }
            random.shuffle(&mut visits);
            for i in visits {
                let amount = self.problem.weights[i] * mean / length(i) * (slope(&w, b, i) - slopes[i]);
                for j in 0..d {
                    let moved = step(penalty.at(j), factor * swift[j], gradient[j] + amount * x[i][j], w[j]);
                    w[j] = self.weighted.clip(j, moved);
                    largest = largest.max(w[j].abs());
                }
                b -= if self.bias { factor * (amount + of_bias) } else { 0.0 };
            }
        }
        (w, b, largest.max(1e-3))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn many_drifting_steps_at_once_are_many_steps(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let (penalty, eta) = (penalty(&mut random, 1.0, 30.0), log_uniform(&mut random, 1e-4, 2.0));
        let w = if random.below(8) == 0 { 0.0 } else { sign(&mut random) * log_uniform(&mut random, 1e-4, 10.0) };
        let g = match random.below(8) {
            0 => penalty.l1, // ties
            1 => -penalty.l1,
            2 => 0.0,
            _ => sign(&mut random) * log_uniform(&mut random, 1e-3, 3.0),
        };
        let n = log_uniform(&mut random, 1.0, 1000.0) as u64;
        let (mut dense, mut largest) = (w, w.abs());
        for _ in 0..n {
            dense = step(penalty, eta, g, dense);
            largest = largest.max(dense.abs());
        }
        let at_once = drift(penalty, eta, g, n as f64, w);
        prop_assert!((at_once - dense).abs() <= 4.0 * tolerance(n as usize) * largest, "{penalty:?} eta {eta} g {g} n {n} w {w}: {at_once} {dense}");
        if (at_once == 0.0) != (dense == 0.0) {
            prop_assert!(at_once.abs().max(dense.abs()) <= 1e-12 * largest, "{at_once} {dense}");
        }
    }
}

#[test]
fn every_way_of_meeting_zero_was_drawn() {
    let penalty = ElasticNet { l1: 0.5, l2: 0.25 };
    let cases = [
        (1.0, -0.6, "goes up"),
        (1.0, 0.2, "sticks at zero"),
        (1.0, 2.0, "jumps over zero"),
        (0.0, 2.0, "leaves zero downwards"),
        (0.0, 0.5, "stays there"),
        (-1.0, -2.0, "crosses upwards"),
    ];
    for (w, g, way) in cases {
        let dense = (0..40).fold(w, |w, _| step(penalty, 0.1, g, w));
        assert!((drift(penalty, 0.1, g, 40.0, w) - dense).abs() < 1e-13, "{way}");
        assert_eq!(drift(penalty, 0.1, g, 40.0, w) == 0.0, dense == 0.0, "{way}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn lazy_is_dense(seed in any::<u64>(), count in 2usize..80, epochs in 1u64..4) {
        let drawn = Drawn::new(seed, count);
        let mut lazy = drawn.lazy();
        drawn.fit(&mut lazy, epochs, |model, order| {
            model.learn(&*drawn.loss, drawn.problem.examples(), order).unwrap();
        });
        let (dense, bias, largest) = drawn.dense(epochs);
        let apart = difference(&lazy.weights(), &dense, largest);
        prop_assert!(apart.worst < 1e-10 && apart.worst_zero < 1e-10, "{}: {apart:?}", drawn.loss.spec());
        prop_assert!((lazy.bias() - bias).abs() < 1e-10 * bias.abs().max(1.0), "{} {bias}", lazy.bias());
    }

    #[test]
    fn any_chunks_give_the_bits_of_one_fit_and_looking_changes_none(seed in any::<u64>(), size in 1usize..60) {
        let drawn = Drawn::new(seed, 60);
        let (mut whole, mut parts) = (drawn.lazy(), drawn.lazy());
        drawn.fit(&mut whole, 3, |model, order| {
            model.learn(&*drawn.loss, drawn.problem.examples(), order).unwrap();
        });
        drawn.fit(&mut parts, 3, |model, order| {
            for part in order.chunks(size) {
                model.learn(&*drawn.loss, drawn.problem.examples(), part).unwrap();
                let _looked = model.weights();
            }
        });
        prop_assert_eq!(whole.weights(), parts.weights());
        prop_assert_eq!(whole.bias(), parts.bias());
    }
}

#[test]
fn it_ends_at_the_minimum_with_its_zeros() {
    let task = synth::documents(&synth::Shape { rows: 1_000, features: 150, ..Default::default() }).task;
    for (l1, l2) in [(3e-3, 3e-3), (3e-3, 0.0), (0.0, 1e-2)] {
        let fit = |solver: &str| {
            let penalty = ElasticNet { l1, l2 };
            let settings = Settings {
                solver: solver.parse().unwrap(),
                penalty,
                tolerance: 1e-6,
                epochs: 2_000,
                ..Settings::default()
            };
            train(&task, None, &settings, &mut |_| {}).unwrap()
        };
        let (found, best) = (fit("svrg"), fit("newton"));
        let (f, least) = (found.report.objective, best.report.objective);
        assert!((f - least).abs() <= 2e-6 * least, "l1 {l1} l2 {l2}: {f} {least} {:?}", found.report.stop);
        assert_eq!(found.report.stop, if l2 > 0.0 { Stop::Gap } else { Stop::PredictedDecrease });
        assert!(found.report.nonzeros.abs_diff(best.report.nonzeros) <= 1);
    }
}

#[test]
fn numbers_are_learnt_too_and_kinks_are_refused() {
    let mut data = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    let target = |(i, y): (usize, &f64)| y * 3.0 + (i % 7) as f64;
    data.targets = lazyglm::Targets::Real(data.numbers().iter().enumerate().map(target).collect());
    for name in ["squared", "huber"] {
        data.loss = loss::parse(name).unwrap();
        let fit = |solver: &str| {
            let penalty = ElasticNet { l1: 1e-2, l2: 1e-2 };
            let settings = Settings {
                solver: solver.parse().unwrap(),
                penalty,
                tolerance: 1e-5,
                epochs: 500,
                ..Settings::default()
            };
            train(&data, None, &settings, &mut |_| {}).unwrap().report
        };
        let (found, best) = (fit("svrg"), fit("newton"));
        assert!((found.objective - best.objective).abs() <= 2e-5 * best.objective, "{name}");
    }
    for name in ["quantile", "poisson"] {
        data.loss = loss::parse(name).unwrap();
        let settings = Settings { solver: Solver::Svrg, ..Settings::default() };
        assert!(
            train(&data, None, &settings, &mut |_| {}).unwrap_err().to_string().contains("without kinks")
        );
    }
}
