//! Laws of interruptions within a Newton step: a flag that is set anywhere ends the solve within bounded work.

use crate::common::alarm::Alarm;
use lazyglm::search::{path, points};
use lazyglm::{ElasticNet, Kind, Settings, Solver, Stop, Task, synth, train};

fn documents(loss: &str, rows: usize, features: usize) -> Task {
    let task = synth::documents(&synth::Shape { rows, features, ..Default::default() }).task;
    let targets = match loss {
        "squared" | "huber" => lazyglm::Targets::Real(task.examples().targets.to_vec()),
        _ => task.targets.clone(),
    };
    Task { loss: lazyglm::loss::parse(loss).unwrap(), targets, ..task }
}

#[test]
fn a_flag_set_within_a_newton_step_or_a_line_search_ends_the_solve_within_a_few_passes() {
    const ROWS: usize = 300;
    let penalties = [(1e-3, 1e-4), (1e-5, 0.0), (0.0, 1e-6)].map(|(l1, l2)| ElasticNet { l1, l2 });
    for loss in ["logistic", "squared-hinge", "huber"] {
        let task = documents(loss, ROWS, 500);
        for penalty in penalties {
            let whole = Alarm::of(&task, usize::MAX, false);
            let settings =
                Settings { solver: Solver::Newton, penalty, tolerance: 1e-12, ..Settings::default() };
            train(&whole.task, None, &settings, &mut |_| {}).unwrap();
            let most = whole.alarm.calls();
            // At twelve moments, each with the loss as it is, and with one that no step lowers any more.
            for (at, stuck) in (0..24).map(|k| (most * (k / 2) / 12, k % 2 == 1)) {
                let one = Alarm::of(&task, at, stuck);
                let settings = Settings { interrupt: Some(one.alarm.flag()), ..settings.clone() };
                let trained = train(&one.task, None, &settings, &mut |_| {});
                let passes = (one.alarm.calls() - at).div_ceil(ROWS);
                let told = format!("{loss} {penalty:?}, call {at} of {most}, stuck: {stuck}");
                assert!(passes <= PASSES, "{told}: {passes} passes after the flag");
                match trained {
                    Ok(trained) if !stuck && passes > 0 => {
                        let done = [Stop::Interrupted, Stop::Gap, Stop::PredictedDecrease, Stop::Precision];
                        assert!(done.contains(&trained.report.stop), "{told}: {:?}", trained.report.stop);
                    }
                    Ok(_) => {}
                    Err(error) => {
                        assert!(stuck || matches!(error.kind(), Kind::Interrupted), "{told}: {error}")
                    }
                }
            }
        }
    }
}

/// Passes over the rows after an interruption: the end of what is under way, and the figures of the report.
const PASSES: usize = 20;

#[test]
fn an_interrupted_path_by_sgd_has_the_models_that_have_finished_an_epoch() {
    let task = documents("logistic", 400, 60);
    let points = points(&[1e-4, 1e-3, 1e-2], &[0.0], &[0.5]);
    let settings = Settings { epochs: 6, ..Settings::default() };
    let run = |task: &Task, settings: &Settings, memory: usize| path(task, None, settings, &points, memory);
    let whole = Alarm::of(&task, usize::MAX, false);
    let all = run(&whole.task, &settings, 1 << 30).unwrap();
    assert!(all.len() == 3 && all.iter().all(|stop| stop.epochs == 6));
    let calls = whole.alarm.calls();
    for (share, epochs) in [(0.05, None), (0.5, Some(2..=4)), (0.8, Some(4..=5))] {
        let one = Alarm::of(&task, (share * calls as f64) as usize, false);
        let settings = Settings { interrupt: Some(one.alarm.flag()), ..settings.clone() };
        match (run(&one.task, &settings, 1 << 30), epochs) {
            (Ok(stops), Some(epochs)) => {
                assert_eq!(stops.len(), 3);
                assert!(
                    stops.iter().all(|stop| epochs.contains(&stop.epochs)),
                    "{share}: {}",
                    stops[0].epochs
                );
                let objectives: Vec<f64> = stops.iter().map(|stop| stop.objective.total()).collect();
                assert!(
                    objectives.is_sorted_by(|a, b| a > b),
                    "less penalty, a lower objective: {objectives:?}"
                );
            }
            (Err(error), None) => assert!(matches!(error.kind(), Kind::Interrupted), "{error}"),
            (found, _) => panic!("{share}: {} models", found.map_or(0, |stops| stops.len())),
        }
    }
}
