//! The promise: lazy = table = dense, zeros included.
//!
//! Open loop: slopes, rates, gaps and weights are drawn, not learnt, so nothing pulls errors back. Closed loop:
//! real losses on drawn rows, every loss × schedule × method × penalty of the registries.

use crate::common::problem::{some_offsets, target};
use crate::common::{
    Difference, METHODS, OpenLoop, Yardstick, difference, log_uniform, rows, sign, tolerance,
};
use lazyglm::loss;
use lazyglm::optim::kernel::Folded;
use lazyglm::optim::reference::{Dense, Table};
use lazyglm::optim::sgd::{Online, Rule};
use lazyglm::optim::update::Update;
use lazyglm::schedule::{self, Setting, Spec};
use lazyglm::util::random::Random;
use lazyglm::{ElasticNet, Examples, Loss, Method, Rows};
use proptest::prelude::*;
use std::{cell::Cell, rc::Rc};

/// Dense weights of an open loop, and the largest weight on the way.
fn truth(run: &OpenLoop) -> (Vec<f64>, f64) {
    let start = run.start.iter().fold(0.0, |largest: f64, w| largest.max(w.abs()));
    let largest = Rc::new(Cell::new(start));
    let dense = Dense::<true>::new(run.start.clone(), run.penalty, run.method);
    let weights = run.run(Yardstick { inner: dense, largest: largest.clone() });
    (weights, largest.get())
}

fn check(name: &str, found: &Difference, tolerance: f64) -> Result<(), TestCaseError> {
    prop_assert!(found.worst <= tolerance, "{name}: {:e} against {tolerance:e}", found.worst);
    prop_assert!(found.worst_zero <= tolerance, "{name}: a zero differs by {:e}", found.worst_zero);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn open_loop_lazy_and_table_equal_dense(seed in any::<u64>(), steps in 1usize..400, constant in any::<bool>()) {
        let mut random = Random::new(seed);
        let method = METHODS[random.below(2) as usize];
        let run = OpenLoop::draw(&mut random, steps, method, constant);
        let (dense, scale) = truth(&run);
        let (start, penalty) = (|| run.start.clone(), run.penalty);
        let lazy = run.run(Folded::<f64>::new(start(), penalty, method));
        check("lazy", &difference(&lazy, &dense, scale), tolerance(steps))?;
        let table = run.run(Table::new(start(), penalty, method, 1 << 17, None));
        check("table", &difference(&table, &dense, scale), tolerance(steps))?;
        let full = run.run(Dense::<false>::new(start(), penalty, method));
        prop_assert_eq!(&full, &dense, "dense predictions do not matter when slopes are given");
        if constant {
            let closed = run.run(Table::new(start(), penalty, method, 1, Some(run.etas[0])));
            check("table at a constant rate", &difference(&closed, &dense, scale), tolerance(steps))?;
        }
    }

    #[test]
    fn flush_and_rebase_periods_do_not_matter(seed in any::<u64>(), steps in 1usize..300, budget in 1usize..50) {
        let mut random = Random::new(seed);
        let method = METHODS[random.below(2) as usize];
        let run = OpenLoop::draw(&mut random, steps, method, false);
        let (dense, scale) = truth(&run);
        let table = run.run(Table::new(run.start.clone(), run.penalty, method, budget, None));
        check("table", &difference(&table, &dense, scale), tolerance(steps))?;
        for times in [10.0, 1e3, f64::INFINITY] {
            let lazy = run.run(Folded::<f64>::new(run.start.clone(), run.penalty, method).rebasing_early(times));
            check("lazy", &difference(&lazy, &dense, scale), tolerance(steps))?;
        }
    }

    #[test]
    fn weights_no_row_ever_touches_are_brought_current(seed in any::<u64>(), steps in 1usize..200) {
        let mut random = Random::new(seed);
        let method = METHODS[random.below(2) as usize];
        let mut run = OpenLoop::draw(&mut random, steps, method, false);
        // Twenty more features, with weights from an earlier model and no row that has them.
        run.start.extend((0..20).map(|_| sign(&mut random) * log_uniform(&mut random, 1e-6, 1e3)));
        let (dense, scale) = truth(&run);
        let lazy = run.run(Folded::<f64>::new(run.start.clone(), run.penalty, method));
        check("lazy", &difference(&lazy, &dense, scale), tolerance(steps))?;
        let table = run.run(Table::new(run.start.clone(), run.penalty, method, 64, None));
        check("table", &difference(&table, &dense, scale), tolerance(steps))?;
    }

    #[test]
    fn open_loop_f32_stays_near_f64(seed in any::<u64>(), steps in 1usize..2000) {
        let mut random = Random::new(seed);
        let method = METHODS[random.below(2) as usize];
        let run = OpenLoop::draw(&mut random, steps, method, false);
        let (dense, scale) = truth(&run);
        let lazy = run.run(Folded::<f32>::new(run.start.clone(), run.penalty, method));
        let worst = difference(&lazy, &dense, scale).worst;
        prop_assert!(worst <= 1e-5, "{worst:e}");
    }
}

#[test]
fn on_fixed_seeds_no_zero_differs_at_all() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let method = METHODS[seed as usize % 2];
        let run = OpenLoop::draw(&mut random, 500, method, seed % 3 == 0);
        let (dense, scale) = truth(&run);
        for (name, weights) in [
            ("lazy", run.run(Folded::<f64>::new(run.start.clone(), run.penalty, method))),
            ("table", run.run(Table::new(run.start.clone(), run.penalty, method, 100, None))),
        ] {
            let found = difference(&weights, &dense, scale);
            assert!(found.zeros == 0 && found.worst <= tolerance(500), "seed {seed}, {name}: {found:?}");
        }
    }
}

/// Above this score a loss without a curvature bound is too steep for the rates of these runs.
const LARGEST_SCORE: f64 = 3.0;

/// Neither slope nor curvature has a bound.
fn unbounded(loss: &dyn Loss) -> bool {
    loss.gradient_bound().is_infinite() && loss.curvature().is_none()
}

/// A learnt run: rows and targets with η·curvature·‖x‖² ≤ 1, so that errors do not grow by themselves.
struct ClosedLoop {
    rows: Rows,
    targets: Vec<f64>,
    weights: Option<Vec<f64>>,
    offsets: Option<Vec<f64>>,
    order: Vec<u32>,
}

impl ClosedLoop {
    fn draw(random: &mut Random, steps: usize, loss: &dyn Loss) -> ClosedLoop {
        let rows = rows(random, steps, 30);
        let targets = (0..steps).map(|_| target(random, loss)).collect();
        let weights =
            (random.below(2) == 0).then(|| (0..steps).map(|_| log_uniform(random, 0.3, 1.0)).collect());
        let mut order: Vec<u32> = (0..steps as u32).collect();
        random.shuffle(&mut order);
        let offsets = some_offsets(&order.iter().map(|&i| f64::from(i)).collect::<Vec<_>>());
        ClosedLoop { rows, targets, weights, offsets, order }
    }

    fn examples(&self) -> Examples<'_> {
        let examples = Examples::new(self.rows.borrow(), &self.targets, self.weights.as_deref()).unwrap();
        Examples { offsets: self.offsets.as_deref(), ..examples }
    }

    /// The highest rate that is safe on every row.
    fn safe_rate(&self, loss: &dyn Loss) -> f64 {
        let rows = self.rows.borrow();
        let square = |i: usize| {
            let mut square = 1.0;
            rows.for_each(i, |_, x| square += x * x);
            square
        };
        let longest = (0..rows.len()).map(square).fold(1.0, f64::max);
        let curvature = loss.curvature().unwrap_or(if unbounded(loss) { LARGEST_SCORE.exp() } else { 4.0 });
        1.0 / (curvature * longest)
    }

    /// Learns; `None` if a row comes within 1e-9 of a kink, where a rounding decides which way the slope points, or
    /// where poisson's curvature e^s is more than the rate was chosen for.
    fn learn<U: Update>(&self, rule: &Rule, update: U) -> Option<(Vec<f64>, f64)> {
        let mut model = Online::new(update, true);
        model.bias = 0.37; // the perceptron's kink is where a model of zeros starts
        for &i in &self.order {
            let rows = self.rows.borrow();
            let offset = self.examples().offset(i as usize);
            let score = rows.dot(i as usize, &model.update.weights()) + model.bias + offset;
            let kinks = rule.loss.kinks(self.targets[i as usize]);
            let steep = unbounded(rule.loss) && score > LARGEST_SCORE;
            if steep || kinks.iter().any(|kink| (kink - score).abs() < 1e-9) {
                return None;
            }
            model.learn(rule, self.examples(), &[i]).unwrap();
        }
        Some((model.update.weights(), model.bias))
    }
}

fn penalties(l1: f64, l2: f64) -> [ElasticNet; 4] {
    [(0.0, 0.0), (l1, 0.0), (0.0, l2), (l1, l2)].map(|(l1, l2)| ElasticNet::new(l1, l2).unwrap())
}

#[test]
fn closed_loop_lazy_and_table_equal_dense_for_every_loss_schedule_method_and_penalty() {
    let steps = 250;
    let (mut runs, mut zeros) = (0, 0);
    for (seed, loss) in loss::TABLE.iter().enumerate() {
        let loss = loss::parse(loss.name).unwrap();
        for (k, schedule) in schedule::TABLE.iter().enumerate() {
            for (m, method) in METHODS.into_iter().enumerate() {
                for (n, penalty) in penalties(3e-3, 3e-2).into_iter().enumerate() {
                    let bottou = schedule.name == "bottou";
                    if bottou && penalty.l2 == 0.0 {
                        continue;
                    }
                    // A draw that comes near a kink is drawn again.
                    let id = (((seed * 8 + k) * 2 + m) * 4 + n) as u64;
                    let found = (0..50).find_map(|again| {
                        one_closed_loop(id * 1000 + again, steps, &*loss, schedule.name, method, penalty)
                    });
                    let name = format!("{} {} {method:?} {penalty:?}", loss.spec(), schedule.name);
                    let found = found.unwrap_or_else(|| panic!("{name}: every draw met a kink"));
                    assert!(found.worst <= tolerance(steps), "{name}: {found:?}");
                    runs += 1;
                    zeros += found.zeros;
                }
            }
        }
    }
    assert_eq!(zeros, 0, "no zero differs on these seeds");
    assert!(runs > 600, "{runs} combinations");
}

/// The worst difference of lazy f64, table and full dense from dense with sparse predictions.
fn one_closed_loop(
    seed: u64,
    steps: usize,
    loss: &dyn Loss,
    schedule: &str,
    method: Method,
    penalty: ElasticNet,
) -> Option<Difference> {
    let mut random = Random::new(seed);
    let run = ClosedLoop::draw(&mut random, steps, loss);
    let safe = run.safe_rate(loss);
    // bottou has no eta0: its t0 makes the first rate safe.
    let text = if schedule == "bottou" {
        format!("bottou:t0={}", 1.0 / (penalty.l2 * safe) + 1.0)
    } else {
        schedule.to_string()
    };
    let setting = Setting { eta0: safe, l2: penalty.l2, rows: Some(steps as u64 / 4), epochs: 4 };
    let schedule = Spec::parse(&text).unwrap().resolve(&setting).unwrap();
    let rule = Rule { loss, schedule: &*schedule };
    let warm: Vec<f64> = (0..30).map(|_| sign(&mut random) * log_uniform(&mut random, 1e-4, 1.0)).collect();
    let start = || warm.clone();
    let (dense, bias) = run.learn(&rule, Dense::<true>::new(start(), penalty, method))?;
    let scale = dense.iter().chain(&warm).fold(0.0, |largest: f64, w| largest.max(w.abs()));
    let constant = schedule.is_constant().then_some(safe);
    let others = [
        run.learn(&rule, Folded::<f64>::new(start(), penalty, method))?,
        run.learn(&rule, Table::new(start(), penalty, method, 60, constant))?,
        run.learn(&rule, Dense::<false>::new(start(), penalty, method))?,
    ];
    let mut worst = Difference::default();
    for (weights, other_bias) in others {
        let found = difference(&weights, &dense, scale);
        worst.worst = worst.worst.max(found.worst).max((other_bias - bias).abs() / scale);
        worst.zeros += found.zeros;
        worst.worst_zero = worst.worst_zero.max(found.worst_zero);
    }
    Some(worst)
}

#[test]
fn f32_stays_within_1e_5_of_f64_dense_for_a_hundred_thousand_steps() {
    let steps = 100_000;
    let loss = loss::parse("logistic").unwrap();
    // A small and a large debt, with and without λ₂; the rate is constant, so the debt grows all the time.
    let penalties = [(1e-6, 1e-6), (1e-4, 0.0), (3e-3, 0.0), (3e-2, 0.0), (3e-3, 1e-3), (0.0, 1e-3)];
    for (seed, (l1, l2)) in penalties.into_iter().enumerate() {
        let penalty = ElasticNet::new(l1, l2).unwrap();
        for (name, method) in [("constant", Method::Fobos), ("cosine", Method::Sgd)] {
            let mut random = Random::new(seed as u64);
            let made = rows(&mut random, steps, 100);
            // A planted truth, so that there is something to learn.
            let truth: Vec<f64> =
                (0..100).map(|j| if j % 3 == 0 { sign(&mut random) } else { 0.0 }).collect();
            let odds = |i: usize| made.borrow().dot(i, &truth);
            let targets: Vec<f64> = (0..steps)
                .map(|i| if random.uniform() < 1.0 / (1.0 + (-odds(i)).exp()) { 1.0 } else { -1.0 })
                .collect();
            let setting = Setting { eta0: 0.1, l2, rows: Some(steps as u64), epochs: 1 };
            let schedule = Spec::parse(name).unwrap().resolve(&setting).unwrap();
            let rule = Rule { loss: &*loss, schedule: &*schedule };
            let order: Vec<u32> = (0..steps as u32).collect();
            let examples = Examples::new(made.borrow(), &targets, None).unwrap();
            let mut dense = Online::new(Dense::<true>::new(vec![0.0; 100], penalty, method), true);
            dense.learn(&rule, examples, &order).unwrap();
            let narrow = made.clone().rounded_to_f32().unwrap();
            let examples = Examples::new(narrow.borrow(), &targets, None).unwrap();
            let mut lazy = Online::new(Folded::<f32>::new(vec![0.0; 100], penalty, method), true);
            lazy.learn(&rule, examples, &order).unwrap();

            let dense = dense.update.weights();
            let scale = dense.iter().fold(0.0, |largest: f64, w| largest.max(w.abs()));
            let found = difference(&lazy.update.weights(), &dense, scale);
            assert!(found.worst <= 1e-5, "{penalty:?} {name}: {found:?}, largest weight {scale}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn closed_loop_on_any_draw(seed in any::<u64>(), steps in 1usize..400) {
        let mut random = Random::new(seed);
        let loss = loss::parse(loss::TABLE[random.below(loss::TABLE.len() as u64) as usize].name).unwrap();
        let schedule = schedule::TABLE[random.below(schedule::TABLE.len() as u64) as usize].name;
        let method = METHODS[random.below(2) as usize];
        let penalty = crate::common::penalty(&mut random, 0.1, 1.0);
        prop_assume!(schedule != "bottou" || penalty.l2 > 0.0);
        let found = one_closed_loop(random.bits(), steps, &*loss, schedule, method, penalty);
        prop_assume!(found.is_some()); // a row near a kink: drawn again
        let found = found.unwrap();
        prop_assert!(found.worst <= tolerance(steps), "{} {schedule} {method:?} {penalty:?}: {found:?}", loss.spec());
        prop_assert!(found.worst_zero <= tolerance(steps), "{} {schedule} {method:?} {penalty:?}: {found:?}", loss.spec());
    }
}

/// Rows of eight neighbours among `columns`, each kick of size ηλ₁ × a draw up to `life` steps: so long it lives.
fn kicks(columns: usize, steps: usize, eta: impl Fn(usize) -> f64, life: impl Fn(usize) -> f64) -> OpenLoop {
    let mut random = Random::new(9);
    let penalty = ElasticNet::new(0.02, 0.0).unwrap();
    let mut rows = Rows::new();
    let (mut amounts, mut etas) = (Vec::new(), Vec::new());
    for t in 0..steps {
        let first = random.below(columns as u64 - 8) as u32;
        let row: Vec<(u32, f64)> = (first..first + 8).map(|id| (id, sign(&mut random))).collect();
        rows.push(&row).unwrap();
        amounts.push(penalty.l1 * eta(t) * life(t) * random.uniform());
        etas.push(eta(t));
    }
    rows.declare_columns(columns);
    OpenLoop { rows, start: vec![0.0; columns], amounts, etas, penalty, method: Method::Fobos }
}

/// How far f32 is from the truth, relative to the weights of the end, not to any there were before.
fn f32_error(run: &OpenLoop, truth: &[f64]) -> f64 {
    let scale = truth.iter().fold(0.0, |largest: f64, w| largest.max(w.abs()));
    assert!(scale > 0.0, "something is alive at the end");
    difference(&run.run(Folded::<f32>::new(run.start.clone(), run.penalty, run.method)), truth, scale).worst
}

#[test]
fn f32_keeps_its_digits_when_weights_die_young() {
    // For thousands of steps no kick outlives its own step; then some do.
    let run = kicks(3_000, 12_000, |_| 0.1, |t| if t + 30 > 12_000 { 30.0 } else { 1.0 });
    let dense = run.run(Dense::<true>::new(run.start.clone(), run.penalty, run.method));
    let error = f32_error(&run, &dense);
    assert!(error <= 1e-5, "{error:e}");
}

#[test]
fn f32_keeps_its_digits_under_a_debt_of_a_thousand_weights_and_when_all_fade() {
    // With so many columns dense steps would take minutes: the truth is lazy f64, which equals them.
    let steps = 100_000;
    let short_lives = kicks(200_000, steps, |_| 0.1, |_| 30.0);
    // Weights and rates fall together, to a thousandth, or to nothing.
    let fading = kicks(200_000, steps, |t| 0.1 * 0.5f64.powf(t as f64 / 1e4), |_| 30.0);
    let cosine = |t: usize| 0.05 * (1.0 + (std::f64::consts::PI * t as f64 / steps as f64).cos());
    let ending = |l2: f64| {
        let run = kicks(200_000, steps, cosine, |_| 300.0);
        OpenLoop { penalty: ElasticNet::new(run.penalty.l1, l2).unwrap(), ..run }
    };
    let runs = [
        ("short lives", short_lives),
        ("fading", fading),
        ("ending", ending(0.0)),
        ("ending, l2", ending(0.1)),
    ];
    for (name, run) in runs {
        let wide = run.run(Folded::<f64>::new(run.start.clone(), run.penalty, run.method));
        let error = f32_error(&run, &wide);
        assert!(error <= 1e-5, "{name}: {error:e}");
    }
}
