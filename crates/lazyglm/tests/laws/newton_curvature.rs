//! Laws of Newton's method where the curvature is small: nearly dependent columns, and rows in the linear part of Huber's loss.

use crate::newton::Made;
use lazyglm::objective::{certify, objective};
use lazyglm::optim::newton::{NewtonStop, Options, Problem, solve};
use lazyglm::util::random::Random;
use lazyglm::{ElasticNet, Examples, WeightedPenalty, loss};

/// Columns that are nearly dependent: sweeps over single weights hardly move, and the decrease that they predict is little long before
/// the minimum.
#[test]
fn nearly_dependent_columns_are_solved_or_nothing_is_claimed() {
    let mut random = Random::new(7);
    let rows_of = |columns: &mut dyn FnMut(&mut Random) -> Vec<f64>, random: &mut Random| {
        let mut rows = lazyglm::Rows::new();
        for _ in 0..300 {
            let values = columns(random);
            rows.push(&(0..).zip(values).collect::<Vec<(u32, f64)>>()).unwrap();
        }
        rows
    };
    let mut alike = |random: &mut Random| {
        let common = 1000.0 + 100.0 * random.uniform();
        (0..6).map(|_| common + 0.02 * (random.uniform() - 0.5)).collect()
    };
    let mut powers = |random: &mut Random| {
        let x = random.uniform();
        (1..=8).map(|k| x.powi(k)).collect()
    };
    let mut solved = 0;
    let problems = [rows_of(&mut alike, &mut random), rows_of(&mut powers, &mut random)];
    for (which, rows) in problems.into_iter().enumerate() {
        let truth: Vec<f64> = (0..rows.columns()).map(|j| [1.0, -2.0, 0.5][j % 3]).collect();
        let targets: Vec<f64> =
            (0..300).map(|i| rows.borrow().dot(i, &truth) + 1e-3 * (random.uniform() - 0.5)).collect();
        let noise = 1e-6 / 12.0 / 2.0; // ½·E[noise²]: the least squares are below that
        for (l1, l2) in [(0.0, 0.0), (0.0, 1e-12), (1e-9, 0.0)] {
            let penalty = ElasticNet::new(l1, l2).unwrap();
            let examples = Examples::new(rows.borrow(), &targets, None).unwrap();
            let loss = loss::parse("squared").unwrap();
            let problem = Problem {
                examples,
                loss: &*loss,
                weighted_penalty: WeightedPenalty::from(penalty),
                bias: true,
            };
            let options = Options { tolerance: 1e-4, steps: 200 };
            let found = solve(&problem, None, &options, &mut |_| true);
            let f = objective(examples, &*loss, penalty, &found.weights, found.bias).total();
            let claimed = matches!(found.stop, NewtonStop::Gap | NewtonStop::PredictedDecrease);
            assert!(
                !claimed || f < 1.05 * noise + penalty.value(&truth),
                "{which} {l1} {l2}: {:?} at {f}",
                found.stop
            );
            solved += usize::from(claimed);
        }
    }
    assert!(solved >= 3, "{solved} of 6 were solved");
}

/// Where a row is far away, Huber's loss is linear: a column of such rows alone has no curvature of its own.
#[test]
fn rows_that_are_far_away_still_move_the_weights_that_only_they_have() {
    let mut random = Random::new(4);
    for (far, columns) in [(1e2, 8), (1e4, 8), (1e6, 8), (1e4, 40)] {
        let mut made = Made::draw(&mut random, loss::parse("huber").unwrap(), 100, columns);
        for k in 0..5 {
            made.rows.push(&[((columns + k) as u32, 2.0)]).unwrap();
            made.targets.push(far);
            made.weights.push(1.0);
        }
        made.offsets = None;
        for penalty in [ElasticNet { l1: 1e-3, l2: 0.0 }, ElasticNet { l1: 1e-3, l2: 1e-9 }] {
            let found = made.solve(penalty, false, 1e-6, None);
            let proof = certify(made.examples(), &*made.loss, penalty, &found.weights, None);
            // The bound of the solver's last model may be higher than that of the point.
            let dual = proof.dual.into_iter().chain(found.dual).fold(f64::MIN, f64::max);
            let (gap, steps) = ((proof.objective - dual) / proof.objective, found.steps);
            assert!(gap <= 1e-6 && steps <= 30, "{far}, {penalty:?}: gap {gap} after {steps} steps");
            let closer = made.solve(penalty, false, 1e-10, None);
            let least = certify(made.examples(), &*made.loss, penalty, &closer.weights, None).objective;
            assert!(dual <= least * (1.0 + 1e-12), "{far}, {penalty:?}: {dual} is no lower bound on {least}");
        }
    }
}
