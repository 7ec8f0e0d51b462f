//! Laws of exact paths with held-out rows: any splits, weights of held-out rows, and the models of the folds.

use lazyglm::eval::metrics::Metric;
use lazyglm::search::{ExactPath, ExactPaths, Folds, HeldOutRows, PathProgress, Split, strongest_l1};
use lazyglm::{ElasticNet, HeadKind, Labels, Settings, Solver, Targets, Task, objective, synth, train};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

fn task() -> Task {
    synth::documents(&synth::Shape { rows: 400, features: 60, ..Default::default() }).task
}

fn found(task: &Task, held: HeldOutRows, settings: &Settings) -> lazyglm::Result<ExactPaths> {
    measured(task, held, settings, Metric::Loss)
}

fn measured(
    task: &Task,
    held: HeldOutRows,
    settings: &Settings,
    metric: Metric,
) -> lazyglm::Result<ExactPaths> {
    let net = |l1: f64| ElasticNet { l1, l2: 0.1 * l1 };
    let path = ExactPath {
        task,
        held,
        settings,
        sequences: vec![[3e-2, 1e-2].map(net).to_vec(), [1e-2, 3e-3, 1e-3].map(net).to_vec()],
        metric,
        may_end: false,
        max_features: None,
        refine: false,
        deadline: None,
        keep_folds: true,
    };
    path.run(&|_| {})
}

/// The splits in which each row is held out by its number, modulo three.
fn thirds(rows: usize) -> Vec<Split> {
    let split = |k: usize| {
        let (held, learnt) = (0..rows).partition(|i| i % 3 == k);
        Split { learnt, held }
    };
    (0..3).map(split).collect()
}

fn settings() -> Settings {
    Settings { tolerance: 1e-12, ..Settings::default() }
}

#[test]
fn splits_that_hold_out_each_row_once_are_folds() {
    let (task, settings) = (task(), settings());
    let folds = Folds::given((0..400).map(|i| i % 3).collect()).unwrap();
    let folds = found(&task, HeldOutRows::Folds(folds), &settings).unwrap();
    let splits = found(&task, HeldOutRows::Splits(thirds(400)), &settings).unwrap();
    assert_eq!(folds.outcome.unwrap().by_fold, splits.outcome.unwrap().by_fold);
    assert_eq!(folds.of_folds, splits.of_folds);
    let sequences: Vec<usize> = splits.models.iter().map(|model| model.sequence).collect();
    assert_eq!(sequences, [0, 0, 1, 1, 1]);
}

#[test]
fn a_choice_is_the_best_mean_of_the_folds_with_its_standard_error_whether_the_metric_is_a_loss_or_a_gain() {
    let (task, settings) = (task(), settings());
    for (metric, sign) in [(Metric::Loss, 1.0), (Metric::Accuracy, -1.0)] {
        let paths = measured(&task, HeldOutRows::Splits(thirds(400)), &settings, metric).unwrap();
        let outcome = paths.outcome.unwrap();
        let mean = |folds: &Vec<f64>| sign * folds.iter().sum::<f64>() / 3.0;
        for (score, folds) in outcome.scores.iter().zip(&outcome.by_fold) {
            let mean = mean(folds);
            let spread: f64 = folds.iter().map(|one| (sign * one - mean).powi(2)).sum();
            assert!((score.mean - mean).abs() < 1e-12, "{metric}: {} {folds:?}", score.mean);
            assert!(
                (score.se - (spread / 2.0 / 3.0).sqrt()).abs() < 1e-12,
                "{metric}: {} {folds:?}",
                score.se
            );
        }
        let lowest = outcome.by_fold.iter().map(mean).fold(f64::INFINITY, f64::min);
        assert!((mean(&outcome.by_fold[outcome.best]) - lowest).abs() < 1e-12, "{metric}");
    }
}

#[test]
fn the_strongest_l1_of_a_path_is_where_the_weight_with_the_largest_gradient_for_its_factor_leaves_zero() {
    let task = task();
    let factors: Vec<f64> = (0..60).map(|j| 0.25 + f64::from(j % 4)).collect();
    let settings = Settings { factors: Some(Arc::new(factors)), ..settings() };
    let l1 = strongest_l1(&task, &settings);
    let nonzeros = |l1: f64| {
        let penalty = ElasticNet { l1, l2: 0.0 };
        let settings = Settings { solver: Solver::Newton, penalty, ..settings.clone() };
        train(&task, None, &settings, &mut |_| {}).unwrap().report.nonzeros
    };
    assert!(nonzeros(1.0001 * l1) == 0 && nonzeros(0.99 * l1) > 0);
}

#[test]
fn a_fold_has_the_minimiser_of_its_rows_and_its_held_out_loss() {
    let (task, settings) = (task(), settings());
    // Not a partition: rows 0..50 are never held out, and rows 100..150 are held out twice.
    let apart = |held: std::ops::Range<usize>| {
        let (held, learnt) = (0..400).partition(|i| held.contains(i));
        Split { learnt, held }
    };
    let splits = vec![apart(50..150), apart(100..250)];
    let paths = found(&task, HeldOutRows::Splits(splits.clone()), &settings).unwrap();
    let by_fold = paths.outcome.unwrap().by_fold;
    for ((model, folds), losses) in paths.models.iter().zip(&paths.of_folds).zip(&by_fold) {
        for ((split, heads), loss) in splits.iter().zip(folds).zip(losses) {
            let (learnt, held) = (task.select(&split.learnt), task.select(&split.held));
            let head = &heads.as_ref().unwrap()[0];
            let weights = head.dense(60);
            let examples = learnt.examples();
            let proof = objective::certify(examples, &*task.loss, model.penalty, &weights, Some(head.bias));
            assert!(proof.relative_gap.unwrap() < 1e-8, "{proof:?}");
            let alone = objective::mean_loss(held.examples(), &*task.loss, &weights, head.bias);
            assert!((alone - loss).abs() < 1e-12, "{alone} {loss}");
        }
    }
}

#[test]
fn a_row_of_weight_two_is_two_rows_also_where_it_is_held_out() {
    let (task, settings) = (task(), settings());
    let times = |i: usize| 1 + usize::from(i.is_multiple_of(5));
    let rows: Vec<usize> = (0..400).flat_map(|i| std::iter::repeat_n(i, times(i))).collect();
    let weighted = Task { weights: Some((0..400).map(|i| times(i) as f64 / 1.2).collect()), ..task.clone() };
    let twice = task.select(&rows);
    let splits = thirds(400);
    let of_rows = |part: &[usize]| -> Vec<usize> {
        (0..rows.len()).filter(|&k| part.binary_search(&rows[k]).is_ok()).collect()
    };
    let both = |split: &Split| Split { learnt: of_rows(&split.learnt), held: of_rows(&split.held) };
    let other = splits.iter().map(both).collect();
    let [one, two] = [(&weighted, splits), (&twice, other)].map(|(task, splits)| {
        found(task, HeldOutRows::Splits(splits), &settings).unwrap().outcome.unwrap().by_fold
    });
    for (one, two) in one.iter().flatten().zip(two.iter().flatten()) {
        assert!((one - two).abs() < 1e-6 * two, "{one} {two}");
    }
}

#[test]
fn splits_without_rows_or_with_unknown_rows_are_refused() {
    let (task, settings) = (task(), settings());
    let split = |learnt: &[usize], held: &[usize]| Split { learnt: learnt.to_vec(), held: held.to_vec() };
    for wrong in [vec![], vec![split(&[], &[1])], vec![split(&[1], &[])], vec![split(&[1], &[400])]] {
        let error = found(&task, HeldOutRows::Splits(wrong), &settings).err().unwrap().to_string();
        assert!(error.contains("a split has no training rows"), "{error}");
    }
}

#[test]
fn a_path_with_a_limit_ends_with_as_many_features_as_allowed() {
    let (task, settings) = (task(), settings());
    let found = |most: usize, refine: bool| {
        let path = ExactPath {
            task: &task,
            held: HeldOutRows::Folds(Folds::new(&task, 3, 1).unwrap()),
            settings: &settings,
            sequences: vec![(0..6).map(|k| ElasticNet { l1: 0.1 * 0.3f64.powi(k), l2: 0.0 }).collect()],
            metric: Metric::Loss,
            may_end: false,
            max_features: Some(most),
            refine,
            deadline: None,
            keep_folds: false,
        };
        path.run(&|_| {}).unwrap()
    };
    let mut met = 0;
    for most in 1..20 {
        let (grid, refined) = (found(most, false), found(most, true));
        let last = refined.models.last().unwrap();
        let before = grid.models.last().unwrap();
        assert!((before.features()..=most).contains(&last.features()), "{most}");
        met += usize::from(last.features() == most); // two features may come at nearly the same penalty
        let added = refined.models.len() - grid.models.len();
        assert_eq!(added, usize::from(before.features() < last.features()));
        assert!(
            last.penalty.l1 <= before.penalty.l1 && last.certificate.relative_gap < Some(1e-6),
            "{last:?}"
        );
        let outcome = refined.outcome.unwrap();
        assert!(outcome.scores.iter().all(|score| score.mean.is_finite()), "folds see the added penalty");
        assert_eq!(outcome.scores.last().unwrap().point.penalty, last.penalty);
    }
    assert!(met >= 15, "{met} of 19 limits are met");
}

/// A path of ten penalties with three folds that is cut after so many solves, by an interruption or from the start by a deadline.
fn cut_after(solves: usize) -> ExactPaths {
    let (task, flag) = (task(), Arc::new(AtomicBool::new(false)));
    let settings = Settings { interrupt: Some(flag.clone()), ..Settings::default() };
    let path = ExactPath {
        task: &task,
        held: HeldOutRows::Folds(Folds::new(&task, 3, 1).unwrap()),
        settings: &settings,
        sequences: vec![(0..10).map(|k| ElasticNet { l1: 0.1 * 0.6f64.powi(k), l2: 0.0 }).collect()],
        metric: Metric::Loss,
        may_end: false,
        max_features: None,
        refine: false,
        deadline: (solves == 0).then(Instant::now),
        keep_folds: false,
    };
    path.run(&|at| flag.store(solves > 0 && at.solved >= solves, Ordering::Relaxed)).unwrap()
}

#[test]
fn a_search_that_is_cut_short_compares_the_penalties_that_every_fold_has_seen() {
    let compared = |paths: &ExactPaths| {
        paths.outcome.as_ref().unwrap().scores.iter().filter(|s| s.mean.is_finite()).count()
    };
    // On one thread, since how far apart the folds are on several depends on what else the machine does.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let whole = pool.install(|| cut_after(usize::MAX));
    assert!(compared(&whole) == 10 && !whole.outcome.as_ref().unwrap().stopped);
    for (solves, least, most) in [(0, 1, 1), (20, 4, 6), (32, 7, 9)] {
        let cut = pool.install(|| cut_after(solves));
        let (count, outcome) = (compared(&cut), cut.outcome.unwrap());
        assert!((least..=most).contains(&count) && outcome.stopped, "{count} after {solves} solves");
        let (scores, by_fold) = whole.outcome.as_ref().map(|all| (&all.scores, &all.by_fold)).unwrap();
        let best = (0..count).min_by(|&a, &b| scores[a].mean.total_cmp(&scores[b].mean)).unwrap();
        assert_eq!(outcome.best, best, "the best of {count}");
        assert_eq!(outcome.by_fold[..count], by_fold[..count], "the same bits, wherever the search ends");
    }
}

#[test]
fn folds_end_where_the_path_of_all_rows_ends() {
    let mut task = synth::documents(&synth::Shape { rows: 400, features: 60, ..Default::default() }).task;
    // Sums of weights, without noise: weaker penalties are better on every row, and no fold leaves its path.
    let truth: Vec<f64> = (0..60).map(|j| f64::from(j % 5) - 2.0).collect();
    task.targets = Targets::Real((0..400).map(|i| task.data.rows.borrow().dot(i, &truth)).collect());
    task.loss = lazyglm::loss::parse("squared").unwrap();
    let down = |k: i32| ElasticNet { l1: 0.1 * 0.5f64.powi(k), l2: 0.0 };
    let (settings, solves) = (Settings::default(), AtomicUsize::new(0));
    let path = ExactPath {
        task: &task,
        held: HeldOutRows::Folds(Folds::new(&task, 3, 1).unwrap()),
        settings: &settings,
        sequences: vec![(0..40).map(down).collect()],
        metric: Metric::Loss,
        may_end: true,
        max_features: None,
        refine: false,
        deadline: None,
        keep_folds: false,
    };
    let one_core = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let see = |_: &PathProgress| {
        solves.fetch_add(1, Ordering::Relaxed);
    };
    let paths = one_core.install(|| path.run(&see)).unwrap();
    let models = paths.models.len();
    assert!((3..30).contains(&models), "the rows are fitted after {models} penalties");
    assert!(solves.into_inner() <= 4 * models, "three folds and all rows solve these, and no others");
    let means: Vec<f64> = paths.outcome.unwrap().scores.iter().map(|score| score.mean).collect();
    assert!(means.iter().all(|mean| mean.is_finite()), "{means:?}");
}

/// The steps of all models of a path, which are at their optimum.
fn steps_of(task: &Task, sequence: &[ElasticNet], tolerance: f64) -> (usize, Vec<f64>) {
    let settings = Settings { tolerance, ..Settings::default() };
    let path = ExactPath {
        task,
        held: HeldOutRows::None,
        settings: &settings,
        sequences: vec![sequence.to_vec()],
        metric: Metric::Loss,
        may_end: false,
        max_features: None,
        refine: false,
        deadline: None,
        keep_folds: false,
    };
    let models = path.run(&|_| {}).unwrap().models;
    assert_eq!(models.len(), sequence.len());
    for model in &models {
        let gap = model.certificate.relative_gap.unwrap();
        assert!(gap <= 1.01 * tolerance, "{:?}: a gap of {gap:e}", model.penalty);
    }
    (
        models.iter().map(|model| model.steps).sum(),
        models.iter().map(|model| model.objective.total()).collect(),
    )
}

#[test]
fn on_kinks_a_solve_begins_with_the_dual_variables_of_the_last_one() {
    let shape = synth::Shape { rows: 500, features: 60, ..Default::default() };
    let task = Task { loss: lazyglm::loss::parse("hinge").unwrap(), ..synth::documents(&shape).task };
    let both = |share: f64| ElasticNet { l1: 0.05 * share, l2: 0.05 * share };
    let sequence: Vec<ElasticNet> = (0..12).map(|k| both(0.8f64.powi(k))).collect();
    let (along, objectives) = steps_of(&task, &sequence, 1e-5);
    let each = sequence.iter().map(|penalty| steps_of(&task, &[*penalty], 1e-5));
    let (alone, others): (Vec<usize>, Vec<Vec<f64>>) = each.unzip();
    let alone: usize = alone.iter().sum();
    assert!(along < alone, "{along} steps, {alone} alone");
    for (a, b) in objectives.iter().zip(others.iter().flatten()) {
        assert!((a - b).abs() <= 2e-5 * a, "{a} {b}");
    }
}

/// Rows of five classes that depend on the features, with one model per class.
fn classes() -> Task {
    let mut data = task().data;
    let mut labels = Labels::default();
    for i in 0..400 {
        let mut class = 0;
        data.rows.borrow().for_each(i, |j, _| class = (class + j * j) % 5);
        labels.push(["a", "b", "c", "d", "e"][class].as_bytes()).unwrap();
    }
    data.labels = labels;
    Task::builder(data).heads(HeadKind::Ovr).build().unwrap()
}

#[test]
fn the_path_of_each_class_goes_on_from_its_last_optimum() {
    let task = classes();
    let sequence: Vec<ElasticNet> =
        (0..20).map(|k| ElasticNet { l1: 0.1 * 0.8f64.powi(k), l2: 1e-3 }).collect();
    let (along, objectives) = steps_of(&task, &sequence, 1e-7);
    let each = sequence.iter().map(|penalty| steps_of(&task, &[*penalty], 1e-7));
    let (alone, others): (Vec<usize>, Vec<Vec<f64>>) = each.unzip();
    for (a, b) in objectives.iter().zip(others.iter().flatten()) {
        assert!((a - b).abs() <= 5.0 * 2e-7 * a, "{a} {b}");
    }
    let alone: usize = alone.iter().sum();
    assert!(along < alone, "{along} steps, {alone} alone");
}

#[test]
fn paths_without_l1_take_one_run_of_conjugate_gradients_per_penalty() {
    let shape = synth::Shape { rows: 500, features: 2000, ..Default::default() };
    let task = Task { loss: lazyglm::loss::parse("squared").unwrap(), ..synth::documents(&shape).task };
    let sequence: Vec<ElasticNet> = (0..6).map(|k| ElasticNet { l1: 0.0, l2: 0.1f64.powi(k) }).collect();
    let (steps, _) = steps_of(&task, &sequence, 1e-7);
    assert!(steps <= sequence.len(), "{steps} steps");
}
