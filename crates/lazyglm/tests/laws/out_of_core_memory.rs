//! Laws of rows on disk with little memory: the optimum at few bytes per row, and certificates that need none.

use crate::common::log_uniform;
use crate::out_of_core::{COLUMNS, ROWS, is_true, l1_max, made, on_disk};
use lazyglm::util::random::Random;
use lazyglm::{ElasticNet, Settings, Solver, Stop, Task, objective, train};
use std::sync::Arc;

/// Memory for rows and columns in their least form, but not for all terms of the rows.
const LEAN: usize = 105 * ROWS;

/// The same with scores in f32, for a penalty that needs few columns.
const SHORT: usize = 60 * ROWS;

/// The optimum in memory.
fn optimum(task: &Task, settings: &Settings) -> f64 {
    let finely = Settings { solver: Solver::Newton, tolerance: 1e-11, ..settings.clone() };
    train(task, None, &finely, &mut |_| {}).unwrap().report.objective
}

#[test]
fn newton_steps_in_little_memory_per_row_end_at_the_certified_optimum() {
    let mut random = Random::new(21);
    for (case, name) in ["logistic", "squared", "poisson", "squared-hinge", "tweedie"]
        .into_iter()
        .cycle()
        .take(20)
        .enumerate()
    {
        let (bias, weighted, factors) = (case & 1 == 0, case & 2 > 0, case % 7 == 3);
        let mut task = made(&mut random, name, weighted);
        if case % 5 == 1 {
            task.data.offsets = Some((0..ROWS).map(|i| (i % 3) as f64 / 4.0).collect());
        }
        let l1 = l1_max(&task, bias) * log_uniform(&mut random, 1e-2, 0.2);
        let l2 = if case & 8 > 0 { 0.0 } else { l1 };
        let factors = factors.then(|| Arc::new((0..COLUMNS).map(|j| 0.5 + (j % 4) as f64 / 2.0).collect()));
        let penalty = ElasticNet { l1, l2 };
        let bounds = (case % 7 == 5).then(|| Arc::new(vec![[-0.2, 0.3]; COLUMNS]));
        let plain =
            Settings { solver: Solver::Newton, penalty, bias, factors, bounds, ..Settings::default() };
        let optimum = optimum(&task, &plain);
        for tolerance in [1e-3, if l2 == 0.0 { 1e-6 } else { 1e-8 }] {
            let settings = Settings { tolerance, ..plain.clone() };
            let spare =
                LEAN + usize::from(weighted) * 8 * ROWS + usize::from(task.data.offsets.is_some()) * 8 * ROWS;
            let trained = train(&on_disk(&task, spare), None, &settings, &mut |_| {}).unwrap();
            let (report, cell) = (&trained.report, format!("{case} {name} {tolerance} {settings:?}"));
            assert_eq!((report.solver, report.stop), (Solver::Newton, Stop::Gap), "{cell}");
            is_true(&task, &settings, &trained, optimum);
            assert!(report.relative_gap.unwrap() <= tolerance, "{cell}");
            assert!(report.objective <= optimum + tolerance * optimum.abs() + 1e-12, "{cell}");
            assert!(report.passes <= Some(8), "{:?}: {cell}", report.passes);
        }
    }
}

#[test]
fn scores_in_f32_suffice_for_a_certified_thousandth() {
    let mut random = Random::new(24);
    for (case, name) in ["logistic", "squared", "poisson", "gamma"].into_iter().cycle().take(8).enumerate() {
        let task = made(&mut random, name, false);
        let l1 = 0.2 * l1_max(&task, true);
        let penalty = ElasticNet { l1, l2: if case < 4 { l1 } else { 0.0 } };
        let settings = Settings { solver: Solver::Newton, penalty, tolerance: 1e-3, ..Settings::default() };
        let trained = train(&on_disk(&task, SHORT), None, &settings, &mut |_| {}).unwrap();
        let (report, cell) = (&trained.report, format!("{case} {name}: {:?}", trained.report));
        assert_eq!((report.solver, report.stop), (Solver::Newton, Stop::Gap), "{cell}");
        let optimum = optimum(&task, &settings);
        is_true(&task, &settings, &trained, optimum);
        assert!(report.objective <= 1.001 * optimum, "{cell}");
    }
}

#[test]
fn every_solver_on_disk_has_a_certificate_about_as_good_as_that_of_rows_in_memory() {
    let mut random = Random::new(22);
    let losses = ["logistic", "squared", "poisson", "gamma", "huber", "squared-hinge", "hinge", "quantile"];
    let solvers = [Solver::Sgd, Solver::Adagrad, Solver::Ftrl, Solver::Svrg];
    for (case, name) in losses.into_iter().cycle().take(24).enumerate() {
        let (bias, weighted) = (case & 1 == 0, case & 2 > 0);
        let mut task = made(&mut random, name, weighted);
        if case % 5 == 1 {
            task.data.offsets = Some((0..ROWS).map(|i| (i % 3) as f64 / 4.0).collect());
        }
        let l1 = l1_max(&task, bias) * log_uniform(&mut random, 1e-2, 0.2);
        let solver = solvers[case % 4];
        let smooth = !task.loss.has_kinks() && task.loss.curvature().is_some();
        let solver = if solver == Solver::Svrg && !smooth { Solver::Sgd } else { solver };
        for l2 in [0.0, l1] {
            let settings = Settings {
                solver,
                penalty: ElasticNet { l1, l2 },
                bias,
                tolerance: 1e-5,
                ..Settings::default()
            };
            let disk = on_disk(&task, 0);
            let trained = train(&disk, None, &settings, &mut |_| {}).unwrap();
            let (report, cell) = (&trained.report, format!("{case} {name} {settings:?}"));
            let optimum = optimum(&task, &settings);
            is_true(&task, &settings, &trained, optimum);
            let given = bias.then_some(trained.bias);
            let weighted_penalty = settings.weighted_penalty();
            let whole =
                objective::certify(task.examples(), &*task.loss, weighted_penalty, &trained.weights, given);
            let (gap, best) = (report.relative_gap.expect(&cell), whole.relative_gap.expect(&cell));
            // In memory, the bias of the dual point is at its best, which matters far from the optimum. Dual ascent improves it near kinks,
            // and without l2 it satisfies the constraints of columns one by one.
            let improved = task.loss.has_kinks() || l2 == 0.0;
            let close = if improved { 1.0 } else { 8.0 * best + 1e-6 };
            assert!(gap <= close, "{gap} {best}: {cell}");
            let without = Settings { certificate: false, ..settings };
            let report = train(&disk, None, &without, &mut |_| {}).unwrap().report;
            assert_eq!((report.dual, report.relative_gap), (None, None), "{cell}");
        }
    }
}

#[test]
fn svrg_on_disk_goes_on_until_its_gap_is_proved() {
    let task = made(&mut Random::new(23), "logistic", false);
    let l1 = 0.02 * l1_max(&task, true);
    let penalty = ElasticNet { l1, l2: l1 };
    for solver in [Solver::Newton, Solver::Auto] {
        let settings = Settings { solver, penalty, tolerance: 1e-4, ..Settings::default() };
        let trained = train(&on_disk(&task, 0), None, &settings, &mut |_| {}).unwrap();
        let report = &trained.report;
        assert_eq!((report.solver, report.stop), (Solver::Svrg, Stop::Gap));
        assert!(report.relative_gap.unwrap() <= 1e-4, "{report:?}");
        is_true(&task, &settings, &trained, optimum(&task, &settings));
        let told = trained.notes.join("\n");
        assert!(told.contains("the duality gap is within the tolerance"), "{told}");
    }
}
