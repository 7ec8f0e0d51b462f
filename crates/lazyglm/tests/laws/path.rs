//! Laws of the exact path: each model is the minimiser for its penalty, and its certificate is about as good as that of
//! `certify`.

use crate::newton::smooth;
use crate::newton_hard::target_of;
use lazyglm::eval::metrics::Metric;
use lazyglm::loss::Loss;
use lazyglm::objective::{Bias, certify, l1_max, objective};
use lazyglm::optim::newton;
use lazyglm::train::search::{ExactPath, HeldOutRows, PathModel};
use lazyglm::util::random::Random;
use lazyglm::{Dataset, ElasticNet, Features, Labels, Rows, Settings, Task, WeightedPenalty};
use std::sync::Arc;

/// Rows with weights over four decades; values are positive, so that columns are alike.
fn task(random: &mut Random, loss: &Arc<dyn Loss>, rows: usize, columns: u32, density: u64) -> Task {
    let (mut data, mut targets, mut weights) = (Rows::new(), Vec::new(), Vec::new());
    for _ in 0..rows {
        let mut row: Vec<(u32, f64)> = (0..columns).map(|j| (j, 0.1 + random.uniform())).collect();
        row.retain(|_| random.below(density) == 0);
        let score: f64 = row.iter().map(|(j, x)| x * [1.0, -1.5, 0.5][*j as usize % 3]).sum::<f64>();
        let score = score + random.uniform() - 0.5;
        data.push(&row).unwrap();
        targets.push(target_of(&**loss, score));
        weights.push(10f64.powf(4.0 * random.uniform() - 2.0));
    }
    data.declare_columns(columns as usize);
    let data = Dataset::made(data, Labels::Numbers(targets), Features::columns_from(0, columns as usize));
    Task::builder(data).loss(loss.clone()).sample_weights(weights).build().unwrap()
}

fn path(task: &Task, ratio: f64, tolerance: f64) -> Vec<PathModel> {
    let most = l1_max(task.examples(), &*task.loss, Bias::Best);
    let at = |k: i32| ElasticNet { l1: most * 0.8f64.powi(k), l2: ratio * most * 0.8f64.powi(k) };
    let settings = Settings { tolerance, ..Settings::default() };
    let path = ExactPath {
        task,
        held: HeldOutRows::None,
        settings: &settings,
        sequences: vec![(0..30).map(at).collect()],
        metric: Metric::Loss,
        may_end: false,
        max_features: None,
        refine: false,
        deadline: None,
        keep_folds: false,
    };
    path.run(&|_| {}).unwrap().models
}

#[test]
fn each_model_of_a_path_is_the_minimiser_for_its_penalty() {
    let mut random = Random::new(31);
    for loss in smooth() {
        // Few columns have one dense matrix; of many, the path screens most.
        for (rows, columns, density) in [(500, 40, 2), (300, 1200, 40)] {
            let task = task(&mut random, &loss, rows, columns, density);
            let (examples, loss) = (task.examples(), &*task.loss);
            for (ratio, tolerance) in [(0.0, 1e-4), (0.0, 1e-6), (0.1, 1e-5)] {
                for model in path(&task, ratio, tolerance) {
                    let what = format!("{} {columns} {:?} {tolerance}", loss.spec(), model.penalty);
                    let (head, penalty) = (&model.heads[0], model.penalty);
                    let weights = head.dense(columns as usize);
                    let value = objective(examples, loss, penalty, &weights, head.bias).total();
                    let weighted_penalty = WeightedPenalty::of(penalty);
                    let problem = newton::Problem { examples, loss, weighted_penalty, bias: true };
                    let options = newton::Options { tolerance: 1e-10, steps: 300 };
                    let start = Some((weights.as_slice(), head.bias));
                    let best = newton::solve(&problem, start, &options, &mut |_| true);
                    let least = objective(examples, loss, penalty, &best.weights, best.bias).total();
                    let above = (value - least) / least.abs();
                    assert!(above <= tolerance, "{what}: {above:e} above the minimum, {:?}", model.stop);

                    let (own, apart) =
                        (model.certificate, certify(examples, loss, penalty, &weights, Some(head.bias)));
                    assert!(
                        (own.objective - apart.objective).abs() <= 1e-12 * apart.objective.abs(),
                        "{what}"
                    );
                    assert!((own.kkt - apart.kkt).abs() <= 1e-9, "{what}: {} and {}", own.kkt, apart.kkt);
                    let (own, apart) = (own.dual.unwrap(), apart.dual.unwrap());
                    let rounding = 1e-9 * value.abs();
                    assert!(own <= least + rounding, "{what}: {own} is no lower bound on {least}");
                    // Derivatives on the straight parts of a loss sum to zero for more than one bias.
                    let (gap, gap_apart) = (value - own, value - apart);
                    // Without l2, `certify` takes passes that a path does not, for the constraints of single columns.
                    let close = if ratio == 0.0 { 0.2 * value.abs() } else { 2.0 * gap_apart + rounding };
                    assert!(gap <= close, "{what}: {gap:e} and {gap_apart:e}");
                }
            }
        }
    }
}

#[test]
fn most_penalties_of_a_path_take_one_step_from_an_extrapolated_start() {
    let mut random = Random::new(33);
    for (name, columns, density) in [("logistic", 40, 2), ("logistic", 1200, 40), ("squared", 40, 2)] {
        let task = task(&mut random, &lazyglm::loss::parse(name).unwrap(), 500, columns, density);
        let steps: usize = path(&task, 0.0, 1e-3).iter().map(|model| model.steps).sum();
        assert!(steps <= 45, "{name} {columns}: {steps} steps for 30 penalties");
    }
}
