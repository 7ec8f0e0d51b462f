//! Laws of Newton's method where it is hard: uneven row weights, infinite scores, and overflow.

use crate::common::log_uniform;
use crate::newton::{Made, smooth};
use lazyglm::loss::{self, Admits, Loss};
use lazyglm::objective::{Bias, l1_max};
use lazyglm::optim::newton::NewtonStop;
use lazyglm::util::random::Random;
use lazyglm::{ElasticNet, Rows, Settings, Solver, Start, synth, train};
use std::sync::Arc;

/// Row weights over six decades, a few heavy rows, and balanced classes of one to 250: most rows have little of the
/// curvature each, and much of it together, or all of it in some columns.
#[test]
fn uneven_row_weights_end_within_the_tolerance_and_in_few_steps() {
    let mut random = Random::new(14);
    for loss in smooth() {
        let limit = if ["logistic", "squared"].contains(&&*loss.spec()) { 60 } else { 200 };
        for columns in [10, 40] {
            for kind in ["spread", "heavy", "heaviest", "balanced"] {
                let possible = match kind {
                    "heaviest" => limit < 200, // piecewise losses then have a minimum that is hardly unique
                    "balanced" => loss.admits() == Admits::Classes,
                    _ => true,
                };
                if !possible {
                    continue;
                }
                let made = uneven(&mut random, loss.clone(), columns, kind);
                let most = l1_max(made.examples(), &*made.loss, Bias::Best);
                for (share, l2) in [(30.0, 0.0), (30.0, 1e-3), (3000.0, 0.0), (3000.0, 1e-5)] {
                    let penalty = ElasticNet { l1: most / share, l2 };
                    let finest = made.solve(penalty, true, 1e-12, None);
                    let least = made.value(penalty, &finest);
                    for tolerance in [1e-2, 1e-4, 1e-6] {
                        let found = made.solve(penalty, true, tolerance, None);
                        let above = (made.value(penalty, &found) - least) / least;
                        let what = format!("{} {columns} {kind} {penalty:?} {tolerance}", loss.spec());
                        let claimed = matches!(found.stop, NewtonStop::Gap | NewtonStop::PredictedDecrease);
                        assert!(claimed && above <= tolerance, "{what}: {:?} at {above:e}", found.stop);
                        assert!(found.steps <= limit, "{what}: {} steps", found.steps);
                    }
                }
            }
        }
    }
}

/// A table of measurements: columns in different units that nearly repeat each other, and classes so well separated that most
/// rows have little curvature. With l1 alone, the solver goes on until the gap proves the tolerance, in few steps.
#[test]
fn measurements_in_any_units_are_proved_without_l2() {
    let mut random = Random::new(16);
    let units = [1.0, 10.0, 1000.0, 0.01, 0.1];
    let mut rows = Rows::new();
    let mut targets = Vec::new();
    for _ in 0..500 {
        let size = random.uniform();
        let row: Vec<(u32, f64)> = (0..30)
            .map(|j| {
                (j, units[j as usize % 5] * (1.0 + size + 0.1 * f64::from(1 + j % 6) * random.uniform()))
            })
            .collect();
        rows.push(&row).unwrap();
        targets.push(if size + 0.05 * random.uniform() > 0.5 { 1.0 } else { -1.0 });
    }
    let loss = loss::parse("logistic").unwrap();
    let made = Made { rows, targets, weights: vec![1.0; 500], offsets: None, loss };
    for l1 in [1e-2, 1e-3, 1e-4] {
        let penalty = ElasticNet { l1, l2: 0.0 };
        let found = made.solve(penalty, true, 1e-3, None);
        assert_eq!(found.stop, NewtonStop::Gap, "l1 {l1}: {} steps", found.steps);
        assert!(found.steps <= 20, "l1 {l1}: {} steps", found.steps);
    }
}

/// A target that a loss accepts, of a row with this score.
pub fn target_of(loss: &dyn Loss, score: f64) -> f64 {
    match loss.admits() {
        Admits::Classes if score > 0.0 => 1.0,
        Admits::Classes => -1.0,
        Admits::Reals => score,
        Admits::NonNegative => score.abs().round(),
        Admits::Positive => 0.1 + score.abs(),
    }
}

/// 753 rows whose values are all positive, so that columns are alike.
fn uneven(random: &mut Random, loss: Arc<dyn Loss>, columns: usize, kind: &str) -> Made {
    let count = 753;
    let mut rows = Rows::new();
    let (mut targets, mut weights) = (Vec::new(), Vec::new());
    for i in 0..count {
        let mut row: Vec<(u32, f64)> = (0..columns as u32).map(|j| (j, 0.1 + random.uniform())).collect();
        row.retain(|_| random.below(3) > 0);
        let score: f64 =
            row.iter().map(|(j, x)| x * [1.0, -1.5, 0.5][*j as usize % 3]).sum::<f64>() + random.uniform();
        rows.push(&row).unwrap();
        targets.push(match loss.admits() {
            Admits::Classes if kind == "balanced" => {
                if i % 251 == 0 {
                    1.0
                } else {
                    -1.0
                }
            }
            _ => target_of(&*loss, score),
        });
        weights.push(match kind {
            "spread" => log_uniform(random, 1e-3, 1e3),
            "heavy" => {
                if i % 100 == 0 {
                    1000.0
                } else {
                    1.0
                }
            }
            "heaviest" => {
                if i % 250 == 0 {
                    1e5
                } else {
                    1.0
                }
            }
            _ => {
                if i % 251 == 0 {
                    250.0
                } else {
                    1.0
                }
            }
        });
    }
    rows.declare_columns(columns);
    let mean = weights.iter().sum::<f64>() / count as f64;
    weights.iter_mut().for_each(|w| *w /= mean);
    Made { rows, targets, weights, offsets: None, loss }
}

/// Initial weights whose scores are infinite, and targets so large that the model in f32 overflows: the solver ends
/// and says so. A run of `train` fails with an error.
#[test]
fn infinite_scores_and_an_overflow_of_the_model_are_failures() {
    let mut random = Random::new(15);
    let mut rows = Rows::new();
    for _ in 0..100 {
        let row: Vec<(u32, f64)> = (0..30).map(|j| (j, 1e10 * (1.0 + random.uniform()))).collect();
        rows.push(&row).unwrap();
    }
    for loss in smooth().into_iter().filter(|loss| loss.variance_power().is_none()) {
        let targets: Vec<f64> = (0..100).map(|i| [1.0, -1.0][i % 2]).collect();
        let made = Made { rows: rows.clone(), targets, weights: vec![1.0; 100], offsets: None, loss };
        let penalty = ElasticNet { l1: 1e-3, l2: 1e-3 };
        for start in [1e300, f64::INFINITY, f64::NAN] {
            let found = made.solve(penalty, true, 1e-6, Some((&[start; 30], 0.0)));
            assert_eq!(found.stop, NewtonStop::Diverged, "{} from {start}", made.loss.spec());
        }
    }
    // Few columns are solved on a matrix in f64, as in other units.
    let targets: Vec<f64> = (0..100).map(|_| random.uniform()).collect();
    let large: Vec<f64> = targets.iter().map(|target| 1e32 * target).collect();
    let [value, same] = [(targets, 1e-32, 1.0), (large, 1.0, 1e64)].map(|(targets, l1, unit)| {
        let (rows, loss) = (rows.clone(), loss::parse("squared").unwrap());
        let made = Made { rows, targets, weights: vec![1.0; 100], offsets: None, loss };
        let penalty = ElasticNet { l1, l2: 0.0 };
        made.value(penalty, &made.solve(penalty, true, 1e-6, None)) / unit
    });
    assert!((value - same).abs() <= 1e-5 * value, "{value} and {same}");
    // More columns than a matrix in f64 is made for.
    let mut rows = Rows::new();
    for _ in 0..100 {
        let row: Vec<(u32, f64)> = (0..150).map(|j| (j, 1e10 * (1.0 + random.uniform()))).collect();
        rows.push(&row).unwrap();
    }
    let targets: Vec<f64> = (0..100).map(|_| 1e32 * random.uniform()).collect();
    let made =
        Made { rows, targets, weights: vec![1.0; 100], offsets: None, loss: loss::parse("squared").unwrap() };
    let found = made.solve(ElasticNet { l1: 1.0, l2: 0.0 }, true, 1e-6, None);
    assert_eq!(found.stop, NewtonStop::Diverged, "{} steps", found.steps);
}

#[test]
fn initial_weights_that_are_not_finite_are_refused() {
    let task = synth::documents(&synth::Shape { rows: 100, features: 10, ..Default::default() }).task;
    for (weight, bias) in [(f64::NAN, 0.0), (f64::INFINITY, 0.0), (0.0, f64::NAN)] {
        for solver in [Solver::Newton, Solver::Sgd, Solver::Svrg] {
            let start = Some(Arc::new(Start::one(vec![weight; 10], bias)));
            let refused = train(&task, None, &Settings { solver, start, ..Default::default() }, &mut |_| {});
            let text = refused.unwrap_err().to_string();
            assert!(text.contains("start") && text.contains("finite"), "{solver:?}: {text}");
        }
    }
    let start = Some(Arc::new(Start::one(vec![1e308; 10], 0.0)));
    let settings = Settings { solver: Solver::Newton, start, ..Default::default() };
    let text = train(&task, None, &settings, &mut |_| {}).unwrap_err().to_string();
    assert!(text.contains("initial weights"), "{text}");
}
