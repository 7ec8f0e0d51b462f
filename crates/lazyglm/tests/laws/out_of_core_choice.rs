//! Laws of `auto` for rows on disk: what it chooses without a penalty, and what it does without memory for columns.

use crate::out_of_core::{is_true, l1_max, made, on_disk};
use lazyglm::util::random::Random;
use lazyglm::{ElasticNet, Settings, Solver, Stop, Trained, objective, train};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn auto_with_a_penalty_and_little_memory_goes_on_to_the_tolerance() {
    let task = made(&mut Random::new(14), "logistic", false);
    let penalty = ElasticNet { l1: 0.0, l2: 0.01 * l1_max(&task, true) };
    let settings = Settings { solver: Solver::Auto, penalty, tolerance: 1e-3, ..Settings::default() };
    let optimum = train(&task, None, &settings, &mut |_| {}).unwrap().report.objective;
    let trained = train(&on_disk(&task, 0), None, &settings, &mut |_| {}).unwrap();
    let report = &trained.report;
    assert_eq!((report.solver, report.stop), (Solver::Svrg, Stop::Gap));
    assert!(report.objective < 1.002 * optimum, "{} {optimum}", report.objective);
    let told = trained.notes.join("\n");
    assert!(told.contains("the duality gap is within the tolerance"), "{told}");
    // A loss whose curvature has no bound is not for SVRG.
    let counts = made(&mut Random::new(14), "poisson", false);
    let trained = train(&on_disk(&counts, 0), None, &settings, &mut |_| {}).unwrap();
    assert_eq!(trained.report.solver, Solver::Sgd);
}

#[test]
fn auto_without_a_penalty_chooses_one_on_rows_held_out_and_says_so() {
    let task = made(&mut Random::new(10), "logistic", true);
    let settings =
        Settings { solver: Solver::Auto, choose_penalty: true, tolerance: 1e-4, ..Settings::default() };
    let loss = |trained: &Trained| {
        objective::mean_loss(task.examples(), &*task.loss, &trained.weights, trained.bias)
    };
    let best = loss(&train(&task, None, &settings, &mut |_| {}).unwrap());
    for spare in [64 << 20, 6 << 20, 1 << 20, 100 << 10, 0] {
        let trained = train(&on_disk(&task, spare), None, &settings, &mut |_| {}).unwrap();
        let report = &trained.report;
        let chosen: Vec<_> = report.tried.iter().filter(|point| point.chosen).collect();
        assert!(chosen.len() == 1, "{spare}: {chosen:?}");
        assert!((chosen[0].l1, chosen[0].l2) == (report.l1, report.l2), "{spare}: {chosen:?}");
        let told = trained.notes.join("\n");
        assert!(told.contains(" of 4000 rows, which were held out"), "{spare}: {told}");
        assert!(loss(&trained) < 1.1 * best, "{spare}: {} {best}", loss(&trained));
        let columns = report.tried.iter().any(|point| point.solver == Solver::Newton);
        assert_eq!(columns, spare >= 6 << 20, "{spare}: a sample fits");
        let penalty = ElasticNet { l1: report.l1, l2: report.l2 };
        let given = Settings { penalty, choose_penalty: false, ..settings.clone() };
        let optimum = train(&task, None, &given, &mut |_| {}).unwrap().report.objective;
        is_true(&task, &given, &trained, optimum);
    }
}

#[test]
fn the_penalty_of_many_rows_is_not_that_of_the_sample() {
    // The columns and a sample of a tenth of the rows fit into memory: the first penalty is the sample's.
    let task = made(&mut Random::new(12), "squared", false);
    let settings = Settings { solver: Solver::Auto, choose_penalty: true, ..Settings::default() };
    let trained = train(&on_disk(&task, 2 << 20), None, &settings, &mut |_| {}).unwrap();
    let all = trained.report.tried.iter().map(|point| point.rows).max();
    let first = trained.report.tried.iter().find(|point| Some(point.rows) == all).unwrap();
    let chosen = trained.report.tried.iter().find(|point| point.chosen).unwrap();
    assert!(chosen.loss <= first.loss, "{chosen:?} {first:?}");
    assert!(trained.report.tried.iter().filter(|point| Some(point.rows) == all).count() >= 2);
}

#[test]
fn a_loss_with_kinks_has_its_penalty_chosen_too() {
    let task = made(&mut Random::new(13), "hinge", false);
    let settings = Settings { solver: Solver::Auto, choose_penalty: true, ..Settings::default() };
    let trained = train(&on_disk(&task, 64 << 20), None, &settings, &mut |_| {}).unwrap();
    assert_eq!(trained.report.solver, Solver::Ftrl);
    assert_eq!(trained.report.tried.iter().filter(|point| point.chosen).count(), 1);
}

#[test]
fn an_interrupted_choice_returns_a_model_or_says_so() {
    let task = made(&mut Random::new(15), "logistic", false);
    let (mut models, mut looks) = (0, 0);
    let settings = Settings { solver: Solver::Auto, choose_penalty: true, ..Settings::default() };
    train(&on_disk(&task, 64 << 20), None, &settings, &mut |_| looks += 1).unwrap();
    for at in (1..looks).step_by(looks / 12) {
        let (flag, mut seen) = (Arc::new(AtomicBool::new(false)), 0);
        let settings = Settings { interrupt: Some(flag.clone()), ..settings.clone() };
        let trained = train(&on_disk(&task, 64 << 20), None, &settings, &mut |_| {
            seen += 1;
            flag.store(seen >= at, Ordering::Relaxed);
        });
        match trained {
            Ok(trained) => {
                assert!(trained.report.stop == Stop::Interrupted, "{at} of {looks}: {:?}", trained.report);
                models += 1;
            }
            Err(error) => assert!(error.to_string().contains("interrupt"), "{at}: {error}"),
        }
    }
    assert!(models > 0);
}
