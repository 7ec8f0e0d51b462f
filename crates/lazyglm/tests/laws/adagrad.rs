//! Laws of AdaGrad: lazy is dense, zeros included, whatever the chunks; units do not matter; sliding never overshoots.

use crate::common::problem::{Problem, learns_alike_in_chunks, losses, one_of};
use crate::common::{Weighted, difference, log_uniform, penalty, rows, sign, tolerance};
use lazyglm::loss::{self, Admits, Loss};
use lazyglm::optim::adagrad::{Adagrad, AdagradOptions};
use lazyglm::optim::learner::Learner;
use lazyglm::optim::prox_steps;
use lazyglm::optim::scales::{Scales, Units};
use lazyglm::util::random::Random;
use lazyglm::{ElasticNet, Examples, Method, Rows, Settings, Solver, synth, train};
use proptest::prelude::*;
use std::sync::Arc;

struct Drawn {
    problem: Problem,
    loss: Arc<dyn Loss>,
    metrics: Vec<f64>,
    start: Vec<f64>,
    options: AdagradOptions,
    units: Units,
    bias: bool,
    weighted: Weighted,
}

impl Drawn {
    fn new(seed: u64, count: usize) -> Drawn {
        let random = &mut Random::new(seed);
        let loss = one_of(random, losses());
        let log_link = loss.variance_power().is_some(); // e^s overflows: rates must be low
        let columns = 1 + random.below(40) as usize;
        let options = AdagradOptions {
            penalty: penalty(random, 0.3, 30.0),
            eta: log_uniform(random, 1e-3, if log_link { 0.02 } else { 1.0 }),
            aware: random.below(2) == 0,
        };
        let size = if log_link { 1e-3 } else { 3.0 };
        let weighted = Weighted::draw(random, columns, size);
        let start = |random: &mut Random, j| weighted.clip(j, sign(random) * log_uniform(random, 1e-6, size));
        Drawn {
            problem: Problem::draw(random, &*loss, count, columns),
            loss,
            metrics: (0..columns).map(|_| log_uniform(random, 0.05, 5.0)).collect(),
            start: (0..columns).map(|j| start(random, j)).collect(),
            options,
            units: Units {
                score: log_uniform(random, 0.3, 3.0),
                slope: log_uniform(random, 0.3, 3.0),
                start: 0.0,
            },
            bias: random.below(3) > 0,
            weighted,
        }
    }

    fn lazy(&self) -> Adagrad {
        Adagrad::new(self.options, self.metrics.clone(), self.units, self.bias)
            .weighted(&self.weighted.of(self.options.penalty))
            .starting_from(&self.start, 0.1)
    }

    /// The definition: every weight at every step. The largest weight ever seen is the yardstick.
    fn dense(&self) -> Dense {
        let (mut w, examples, AdagradOptions { penalty, eta, aware }) =
            (self.start.clone(), self.problem.examples(), self.options);
        let Units { score: u, slope: v, .. } = self.units;
        let (mut g, mut bias, mut g_bias) = (vec![0.0; w.len()], if self.bias { 0.1 } else { 0.0 }, v * v);
        let rate = |g: f64, m: f64| eta * u * m / (g + 0.01 * v * v).sqrt();
        let mut largest = w.iter().fold(0.0f64, |most, w| most.max(w.abs()));
        let mut on_a_kink = false;
        for i in 0..examples.len() {
            let (y, omega) = (self.problem.targets[i], self.problem.weights[i]);
            let mut x = vec![0.0; w.len()];
            examples.rows.for_each(i, |j, value| x[j] = value);
            let s = x.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() + bias + examples.offset(i);
            let slope = omega * self.loss.slope(s, y);
            let [below, above] = [-1.0, 1.0].map(|way| self.loss.slope(s + way * 1e-12 * largest, y));
            on_a_kink |= s != 0.0 && (above - below).abs() > 1e-6;
            (0..w.len()).for_each(|j| g[j] += self.metrics[j] * (slope * x[j]).powi(2));
            let rates: Vec<f64> = (0..w.len()).map(|j| rate(g[j], self.metrics[j])).collect();
            g_bias += slope * slope;
            let of_bias = if self.bias { eta * u / g_bias.sqrt() } else { 0.0 };
            let q = rates.iter().zip(&x).map(|(rate, x)| rate * x * x).sum::<f64>() + of_bias;
            let amount = match self.loss.slide(s, y, omega * q) {
                Some(fall) if aware && q > 0.0 && slope != 0.0 => fall / q,
                _ => slope,
            };
            for j in 0..w.len() {
                let penalty = self.weighted.of(penalty).at(j);
                let moved = Method::Fobos.step(penalty, rates[j], w[j] - amount * rates[j] * x[j]);
                w[j] = self.weighted.clip(j, moved);
                largest = largest.max(w[j].abs());
            }
            bias -= amount * of_bias;
        }
        Dense { weights: w, bias, largest, on_a_kink }
    }
}

struct Dense {
    weights: Vec<f64>,
    bias: f64,
    largest: f64,
    /// Whether a score came so close to a kink of the loss that a last bit decides about the step: then runs may part.
    on_a_kink: bool,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn lazy_is_dense(seed in any::<u64>(), steps in 1usize..600) {
        let drawn = Drawn::new(seed, steps);
        let mut lazy = drawn.lazy();
        let order: Vec<u32> = (0..steps as u32).collect();
        lazy.learn(&*drawn.loss, drawn.problem.examples(), &order).unwrap();
        let Dense { weights: dense, bias, largest, on_a_kink } = drawn.dense();
        prop_assume!(!on_a_kink);
        let apart = difference(&lazy.weights(), &dense, largest);
        prop_assert!(apart.worst < 20.0 * tolerance(steps) && apart.worst_zero < 1e-12, "{}: {apart:?}", drawn.loss.spec());
        prop_assert!((lazy.bias() - bias).abs() < 20.0 * tolerance(steps) * bias.abs().max(1.0));
        prop_assert!(lazy.weights().iter().all(|w| *w != 0.0 || w.is_sign_positive()), "no −0");
    }

    #[test]
    fn any_chunks_give_the_bits_of_one_fit_and_looking_changes_none(seed in any::<u64>(), cuts in 1u64..20) {
        let (drawn, mut random) = (Drawn::new(seed, 200), Random::new(seed ^ 1));
        learns_alike_in_chunks(|| drawn.lazy(), &*drawn.loss, drawn.problem.examples(), &mut random, cuts);
    }

    #[test]
    fn many_steps_at_once_are_many_steps(seed in any::<u64>(), n in 0u64..5000) {
        let mut random = Random::new(seed);
        let (penalty, eta) = (penalty(&mut random, 1.0, 1e3), log_uniform(&mut random, 1e-9, 10.0));
        let w = sign(&mut random) * log_uniform(&mut random, 1e-6, 1e3);
        let dense = (0..n).fold(w, |w, _| Method::Fobos.step(penalty, eta, w));
        let at_once = prox_steps::shrink(penalty, eta, n as f64, w);
        prop_assert!((at_once - dense).abs() <= tolerance(n as usize) * w.abs(), "{penalty:?} {eta} {n} {w}: {at_once} {dense}");
        let (a, b) = (random.below(n + 1), n);
        let in_two = prox_steps::shrink(penalty, eta, (b - a) as f64, prox_steps::shrink(penalty, eta, a as f64, w));
        prop_assert!((at_once - in_two).abs() <= 1e-13 * w.abs(), "a semigroup");
    }

    #[test]
    fn units_do_not_matter(seed in 0u64..200) {
        let random = &mut Random::new(seed);
        let loss = loss::parse(["squared", "logistic"][random.below(2) as usize]).unwrap();
        let classes = loss.admits() == Admits::Classes;
        let powers: Vec<i32> = (0..20).map(|_| random.below(60) as i32 - 30).collect();
        let of_target = if classes { 1.0 } else { 2f64.powi(random.below(40) as i32 - 20) };
        let (plain, penalty) = (rows(random, 200, 20), ElasticNet { l1: 0.0, l2: 0.0 });
        let targets: Vec<f64> = (0..200).map(|_| if classes { sign(random) } else { 3.0 + random.uniform() }).collect();
        let mut scaled = Rows::new();
        for i in 0..200 {
            let mut row = Vec::new();
            plain.borrow().for_each(i, |j, x| row.push((j as u32, x * 2f64.powi(powers[j]))));
            scaled.push(&row).unwrap();
        }
        scaled.declare_columns(20);
        let other: Vec<f64> = targets.iter().map(|y| y * of_target).collect();
        let fit = |rows: &Rows, targets: &[f64]| {
            let examples = Examples::new(rows.borrow(), targets, None).unwrap();
            let (scales, options) = (Scales::of(examples), AdagradOptions { penalty, eta: 0.1, aware: seed % 2 == 0 });
            let mut model = Adagrad::new(options, scales.max(), scales.units(&*loss, true), true);
            model.learn(&*loss, examples, &(0..200).collect::<Vec<_>>()).unwrap();
            (model.weights(), model.bias())
        };
        let ((a, a_bias), (b, b_bias)) = (fit(&plain, &targets), fit(&scaled, &other));
        for j in 0..20 {
            let in_plain_units = b[j] * 2f64.powi(powers[j]) / of_target;
            prop_assert!((a[j] - in_plain_units).abs() <= 1e-11 * a[j].abs().max(1e-3), "{} {in_plain_units}", a[j]);
        }
        prop_assert!((a_bias - b_bias / of_target).abs() <= 1e-11 * a_bias.abs().max(1e-3));
    }

    #[test]
    fn a_slide_solves_its_equation_and_stops_at_the_bottom(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        for entry in loss::TABLE {
            let loss = loss::parse(entry.name).unwrap();
            let y = sign(&mut random) * if loss.admits() == Admits::Classes { 1.0 } else { log_uniform(&mut random, 0.1, 10.0) };
            let (s, time) = (sign(&mut random) * log_uniform(&mut random, 1e-2, 30.0), log_uniform(&mut random, 1e-6, 10.0));
            let Some(fall) = loss.slide(s, y, time) else { continue };
            // Runge and Kutta, in small steps.
            let (mut at, steps) = (s, 2000);
            let h = time / steps as f64;
            for _ in 0..steps {
                let k1 = -loss.slope(at, y);
                let k2 = -loss.slope(at + 0.5 * h * k1, y);
                let k3 = -loss.slope(at + 0.5 * h * k2, y);
                let k4 = -loss.slope(at + h * k3, y);
                at += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
            }
            prop_assert!((s - fall - at).abs() < 1e-9 * s.abs().max(1.0), "{}: {s} {y} {time}: {} {at}", entry.name, s - fall);
            let long = loss.slide(s, y, 1e12).unwrap();
            prop_assert!(loss.slope(s - long, y) * loss.slope(s, y) >= -1e-12, "not past the bottom");
            prop_assert!(loss.value(s - long, y) <= loss.value(s, y));
        }
    }
}

#[test]
fn a_rate_is_found_and_the_given_one_is_taken() {
    let all = synth::documents(&synth::Shape { rows: 3_000, features: 200, ..Default::default() }).task;
    let part = |from, to| all.select(&(from..to).collect::<Vec<_>>());
    let (task, held_out) = (part(0, 2_000), part(2_000, 3_000));
    let fit = |solver: &str, eta0| {
        let settings = Settings { solver: solver.parse().unwrap(), eta0, ..Settings::default() };
        let report = train(&task, Some(&held_out), &settings, &mut |_| {}).unwrap().report;
        (report.validation.unwrap().loss, report)
    };
    assert_eq!(fit("adagrad", Some(0.3)).1.eta0, 0.3);
    let (loss, found) = fit("adagrad", None);
    assert!(loss < fit("adagrad", Some(1e-4)).0 && loss < fit("adagrad", Some(30.0)).0);
    assert_eq!((found.solver.name(), found.epochs, found.history.len()), ("adagrad", 5, 5));
    let online = fit("online", None).0;
    assert!(loss < 1.25 * online, "{loss} {online}");
}

#[test]
fn what_has_no_meaning_is_refused() {
    let task = synth::documents(&synth::Shape { rows: 50, features: 20, ..Default::default() }).task;
    let base = Settings { solver: Solver::Adagrad, ..Settings::default() };
    for settings in [
        Settings { method: Method::Sgd, ..base.clone() },
        Settings { update: lazyglm::UpdateName::Table, ..base.clone() },
        Settings { average: Some(0), ..base.clone() },
    ] {
        assert!(train(&task, None, &settings, &mut |_| {}).is_err());
    }
}
