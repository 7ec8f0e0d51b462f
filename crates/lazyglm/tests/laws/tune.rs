//! Laws of searches: a lane is the model it would be alone, whatever else is searched, and on however many threads.

use lazyglm::optim::kernel::Folded;
use lazyglm::optim::sgd::{Online, Rule};
use lazyglm::optim::update::Update;
use lazyglm::schedule::Setting;
use lazyglm::train::search::{
    Dropped, Folds, HeldOutRows, Numbers, Outcome, Point, Search, path, points, search,
};
use lazyglm::util::random::permutation;
use lazyglm::{ElasticNet, Precision, Settings, Task, objective, synth};
use std::time::{Duration, Instant};

const FEATURES: usize = 300;

fn task(rows: usize) -> Task {
    synth::documents(&synth::Shape { rows, features: FEATURES, ..Default::default() }).task
}

fn settings() -> Settings {
    Settings { precision: Precision::F64, epochs: 3, ..Settings::default() }
}

fn run(task: &Task, settings: &Settings, points: &[Point], memory: usize, halving: bool) -> Outcome {
    let held = HeldOutRows::Folds(Folds::new(task, 4, 7).unwrap());
    let job = Search { task, held, settings, points: points.to_vec(), memory, deadline: None, halving };
    search(&job, &mut |_| {}).unwrap()
}

/// The mean held-out loss of a model trained alone on all folds but one, and judged on that.
fn alone(task: &Task, settings: &Settings, point: &Point, fold: usize) -> (f64, usize) {
    let folds = Folds::new(task, 4, 7).unwrap();
    let (held, rows): (Vec<usize>, Vec<usize>) = (0..task.len()).partition(|&i| folds.of(i) == fold);
    let setting = Setting {
        eta0: point.eta0,
        l2: point.penalty.l2,
        rows: Some(rows.len() as u64),
        epochs: settings.epochs,
    };
    let schedule = settings.schedule.resolve(&setting).unwrap();
    let rule = Rule { loss: &*task.loss, schedule: &*schedule };
    let mut model =
        Online::new(Folded::<f64>::new(vec![0.0; FEATURES], point.penalty, settings.method), settings.bias);
    for epoch in 0..settings.epochs {
        let order = permutation(task.len(), settings.seed, epoch);
        let order: Vec<u32> = order.into_iter().filter(|&i| folds.of(i as usize) != fold).collect();
        model.learn(&rule, task.examples(), &order).unwrap();
    }
    let (weights, held) = (model.update.weights(), task.select(&held).unweighted());
    let loss = objective::mean_loss(held.examples(), &*held.loss, &weights, model.bias);
    (loss, weights.iter().filter(|w| **w != 0.0).count())
}

#[test]
fn a_point_has_the_score_of_models_trained_alone_fold_by_fold() {
    let (task, settings) = (task(1_500), settings());
    let grid = points(&[1e-4, 1e-3, 0.05], &[0.0, 1e-3], &[0.1, 0.5]);
    let outcome = run(&task, &settings, &grid, 1 << 30, false);
    for ((point, score), by_fold) in grid.iter().zip(&outcome.scores).zip(&outcome.by_fold) {
        let alone: Vec<(f64, usize)> = (0..4).map(|fold| alone(&task, &settings, point, fold)).collect();
        let mean = alone.iter().map(|(loss, _)| loss).sum::<f64>() / 4.0;
        let spread = alone.iter().map(|(loss, _)| (loss - mean).powi(2)).sum::<f64>() / 3.0;
        assert!((score.mean - mean).abs() < 1e-12, "{point:?}: {} and {mean}", score.mean);
        assert!((score.se - (spread / 4.0).sqrt()).abs() < 1e-12);
        assert_eq!(score.nonzeros, alone.iter().map(|(_, n)| *n as f64).sum::<f64>() / 4.0);
        let close = |(a, b): (&f64, &(f64, usize))| (a - b.0).abs() < 1e-12;
        assert!(by_fold.len() == 4 && by_fold.iter().zip(&alone).all(close), "fold by fold");
    }
    let lowest = outcome.scores.iter().map(|score| score.mean).fold(f64::INFINITY, f64::min);
    assert_eq!(outcome.scores[outcome.best].mean, lowest);
}

#[test]
fn groups_threads_and_neighbours_change_no_bit() {
    let (task, settings) = (task(1_000), settings());
    let grid = points(Numbers::between(1e-5, 0.1, 20).values(), &[1e-5], &[0.3]);
    let means =
        |outcome: &Outcome| outcome.scores.iter().map(|score| score.mean.to_bits()).collect::<Vec<_>>();
    let whole = run(&task, &settings, &grid, 1 << 30, false);
    let groups = run(&task, &settings, &grid, 64 * FEATURES, false);
    assert!(groups.groups == 4 * 3 && whole.groups == 1, "three blocks of eight and fewer for each fold");
    assert_eq!(means(&whole), means(&groups));
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    for threads in [1, 3] {
        let outcome = pool(threads).install(|| run(&task, &settings, &grid, 1 << 30, false));
        assert_eq!(means(&whole), means(&outcome), "{threads} threads");
    }
    let few = run(&task, &settings, &grid[3..5], 1 << 30, false);
    assert_eq!(means(&few), means(&whole)[3..5]);
}

#[test]
fn halving_drops_the_hopeless_and_leaves_the_others_their_bits() {
    let (task, settings) = (task(30_000), settings());
    let grid = points(Numbers::between(1e-6, 0.3, 16).values(), &[1e-6], &[0.3]);
    let (all, halved) =
        (run(&task, &settings, &grid, 1 << 30, false), run(&task, &settings, &grid, 1 << 30, true));
    let dropped = halved.scores.iter().filter(|s| matches!(s.dropped, Some(Dropped::Hopeless(_)))).count();
    assert!((1..15).contains(&dropped), "{dropped} dropped");
    assert!(halved.scores[0].dropped.is_some(), "λ₁ = 0.3 leaves next to nothing");
    assert_eq!(all.best, halved.best);
    for (a, b) in all.scores.iter().zip(&halved.scores).filter(|(_, b)| b.dropped.is_none()) {
        assert_eq!(a.mean.to_bits(), b.mean.to_bits());
    }
}

#[test]
fn a_point_that_diverges_is_named_and_the_others_go_on() {
    let data = task(500);
    let task = Task::builder(data.data.clone()).loss(lazyglm::loss::parse("squared").ok()).build().unwrap();
    let grid = points(&[1e-4], &[0.0], &[0.01, 1e6]);
    let outcome = run(&task, &settings(), &grid, 1 << 30, true);
    assert!(matches!(outcome.scores[1].dropped, Some(Dropped::Diverged { at: Some(_), .. })));
    assert_eq!((outcome.best, outcome.one_se), (0, 0));
    let grid = points(&[1e-4], &[0.0], &[1e6]);
    let held = HeldOutRows::Folds(Folds::new(&task, 4, 7).unwrap());
    let settings = settings();
    let job = Search {
        task: &task,
        held,
        settings: &settings,
        points: grid,
        memory: 1 << 30,
        deadline: None,
        halving: true,
    };
    assert!(search(&job, &mut |_| {}).unwrap_err().to_string().contains("every model of the grid"));
}

#[test]
fn a_deadline_ends_a_search_with_all_points_equally_far() {
    let (task, settings) = (task(20_000), Settings { epochs: 10_000, ..settings() });
    let held = HeldOutRows::Folds(Folds::new(&task, 4, 7).unwrap());
    let points = points(&[1e-4, 1e-3], &[0.0], &[0.1]);
    let deadline = Some(Instant::now() + Duration::from_millis(500));
    let outcome = search(
        &Search { task: &task, held, settings: &settings, points, memory: 1 << 30, deadline, halving: true },
        &mut |_| {},
    )
    .unwrap();
    assert!(outcome.stopped);
    let epochs: Vec<f64> = outcome.scores.iter().map(|score| score.epochs).collect();
    assert!(epochs[0] == epochs[1] && epochs[0] > 0.0 && epochs[0] < 10_000.0);
    assert!(outcome.scores.iter().all(|score| score.mean.is_finite()));
}

#[test]
fn held_out_rows_of_their_own_give_one_lane_a_point_and_an_error_over_rows() {
    let whole = task(1_000);
    let (kept, held): (Vec<usize>, Vec<usize>) = (0..1_000).partition(|i| i % 4 != 0);
    let (kept, held) = (whole.select(&kept), whole.select(&held).unweighted());
    let settings = settings();
    let points = points(&[1e-3], &[0.0], &[0.1]);
    let job = Search {
        task: &kept,
        held: HeldOutRows::Rows(&held),
        settings: &settings,
        points: points.clone(),
        memory: 1 << 30,
        deadline: None,
        halving: true,
    };
    let score = search(&job, &mut |_| {}).unwrap().scores[0];
    let stops = path(&kept, Some(&held), &settings, &points, 1 << 30).unwrap();
    assert!((score.mean - stops[0].validation_loss.unwrap()).abs() < 1e-12);
    assert!(score.se > 0.0 && score.se < score.mean);
    assert_eq!(score.nonzeros, stops[0].weights.len() as f64);
}

#[test]
fn a_path_is_the_models_it_passes() {
    let (task, settings) = (task(800), Settings { eta0: Some(0.2), ..settings() });
    let grid = points(Numbers::between(1e-4, 0.1, 11).values(), &[1e-4], &[0.2]);
    for memory in [1 << 30, 64 * FEATURES] {
        let stops = path(&task, None, &settings, &grid, memory).unwrap();
        assert_eq!(stops.len(), 11);
        for (point, stop) in grid.iter().zip(&stops) {
            let one = Settings { penalty: ElasticNet { ..point.penalty }, ..settings.clone() };
            let trained = lazyglm::train(&task, None, &one, &mut |_| {}).unwrap();
            let weights: Vec<(u32, f64)> =
                (0..).zip(trained.weights.iter().copied()).filter(|(_, w)| *w != 0.0).collect();
            assert_eq!((&stop.weights, stop.bias), (&weights, trained.bias));
            assert!((stop.objective.total() - trained.report.objective).abs() < 1e-13);
        }
    }
}

#[test]
fn folds_are_a_function_of_seed_and_row_and_refuse_what_cannot_be_dealt() {
    let task = task(100);
    let of = |seed| (0..100).map(|i| Folds::new(&task, 5, seed).unwrap().of(i)).collect::<Vec<_>>();
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
    let folds = Folds::new(&task, 5, 1).unwrap();
    let positive = |fold| folds.rows(fold).iter().filter(|&&i| task.numbers()[i as usize] > 0.0).count();
    let (least, most) = ((0..5).map(positive).min().unwrap(), (0..5).map(positive).max().unwrap());
    assert!(most - least <= 1, "each fold has its share of each class: {least} to {most}");
    let error = Folds::new(&task, 101, 1).unwrap_err();
    assert!(error.is_wrong_call() && error.to_string().contains("invalid folds '101': expected at most 100"));
    let positive = (0..100).find(|&i| task.numbers()[i] > 0.0).unwrap();
    let negatives = (0..100).filter(|&i| task.numbers()[i] < 0.0);
    let lonely = task.select(&negatives.chain([positive]).collect::<Vec<_>>());
    assert!(Folds::new(&lonely, 3, 1).unwrap_err().to_string().contains("has one row"));
}
