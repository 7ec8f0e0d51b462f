//! Laws of the losses with log link: gamma and Tweedie find the weights that scikit-learn finds.

use lazyglm::{
    Dataset, ElasticNet, Features, Labels, Precision, Report, Result, Rows, Settings, Solver, Task, loss,
    train,
};

const ROWS: usize = 40;
const COLUMNS: usize = 4;

/// xᵢⱼ = (7i + 3j² mod 11)/10 and y = least + (5i² mod 7), with rows i from 0 and columns j from 1.
fn task(name: &str, least: f64) -> Result<Task> {
    let mut rows = Rows::new();
    for i in 0..ROWS {
        let value = |j: usize| ((7 * i + 3 * j * j) % 11) as f64 / 10.0;
        let row: Vec<(u32, f64)> = (1..=COLUMNS).map(|j| (j as u32 - 1, value(j))).collect();
        rows.push(&row)?;
    }
    let targets = (0..ROWS).map(|i| least + (5 * i * i % 7) as f64).collect();
    let data = Dataset::made(rows, Labels::Numbers(targets), Features::columns_from(1, COLUMNS));
    Task::builder(data).loss(loss::parse(name)?).build()
}

fn fit(task: &Task, settings: &Settings) -> (Vec<f64>, f64, Report) {
    let trained = train(task, None, settings, &mut |_| {}).unwrap();
    (trained.weights, trained.bias, trained.report)
}

/// Made with scikit-learn 1.9.1 on the rows above: `GammaRegressor` and `TweedieRegressor(link="log")` with
/// `alpha=0.01, solver="newton-cholesky", tol=1e-12`, whose objective is this one with l2 = alpha.
#[test]
fn gamma_and_tweedie_find_the_weights_of_scikit_learn() {
    for (name, least, weights, bias) in [
        ("gamma", 1.0, [0.227462082, -0.1335833664, -0.3568860673, -0.1000793711], 1.7575536104770504),
        ("tweedie:1.5", 0.0, [0.2999805247, -0.181987042, -0.4682916451, -0.1276153124], 1.580611330189023),
        ("tweedie:1.2", 0.0, [0.3100493289, -0.1776947785, -0.468179189, -0.1272703755], 1.5734762008351038),
    ] {
        let penalty = ElasticNet::new(0.0, 0.01).unwrap();
        let (solver, precision) = (Solver::Newton, Precision::F64);
        let settings = Settings { penalty, solver, precision, tolerance: 1e-12, ..Settings::default() };
        let (found, found_bias, report) = fit(&task(name, least).unwrap(), &settings);
        assert!(report.relative_gap.unwrap() < 1e-11, "{name}: {report:?}");
        assert!((found_bias - bias).abs() < 1e-6, "{name}: {found_bias}");
        for (w, wanted) in found.iter().zip(weights) {
            assert!((w - wanted).abs() < 1e-6, "{name}: {found:?}");
        }
    }
}

#[test]
fn stochastic_solvers_go_below_the_null_model_for_every_loss_with_log_link() {
    for name in ["poisson", "gamma", "tweedie"] {
        let task = task(name, 1.0).unwrap();
        let penalty = ElasticNet::new(1e-3, 1e-2).unwrap();
        let run = |solver| fit(&task, &Settings { penalty, solver, epochs: 200, ..Settings::default() }).2;
        let least = run(Solver::Newton);
        for solver in [Solver::Sgd, Solver::Adagrad, Solver::Ftrl] {
            let found = run(solver);
            let above = (found.objective - least.objective) / (least.baseline - least.objective);
            let most = if solver == Solver::Sgd { 0.2 } else { 1.0 };
            assert!((0.0..most).contains(&above), "{name} {solver}: {above} {}", found.objective);
        }
    }
}

#[test]
fn targets_that_a_loss_does_not_admit_are_refused_with_row_and_value() {
    let error = task("gamma", 0.0).err().unwrap().to_string();
    assert!(error.contains("the target 0 is not positive, and loss 'gamma' needs more than 0"), "{error}");
    let error = task("tweedie", -1.0).err().unwrap().to_string();
    assert!(error.contains("the target -1 is negative, and loss 'tweedie:p=1.5' needs 0 or more"), "{error}");
}
