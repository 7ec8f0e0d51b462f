//! Laws of solves that are cut short between two Newton steps: they go on from there, and end in the same bits.

use lazyglm::eval::metrics::Metric;
use lazyglm::search::{ExactPath, HeldOutRows};
use lazyglm::util::checkpoint::Checkpoint;
use lazyglm::{
    ElasticNet, HeadKind, Labels, Settings, Solver, Source, Stop, Task, Trained, objective, synth, train,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);

fn documents(rows: usize, features: usize) -> Task {
    synth::documents(&synth::Shape { rows, features, ..Default::default() }).task
}

/// The rows of a task with five classes, which depend on the features.
fn classes(kind: HeadKind) -> Task {
    let task = documents(400, 80);
    let rows = task.data.rows.borrow();
    let mut labels = Labels::default();
    for i in 0..rows.len() {
        let mut class = 0;
        rows.for_each(i, |j, _| class = (class + j * j) % 5);
        labels.push(["a", "b", "c", "d", "e"][class].as_bytes()).unwrap();
    }
    let mut data = task.data.clone();
    data.labels = labels;
    Task::builder(data).heads(kind).build().unwrap()
}

fn opened(path: &Path, every: Duration, task: &Task) -> Arc<Checkpoint> {
    let data = (task.fingerprint().unwrap(), task.data.rows.columns());
    Arc::new(Checkpoint::open(path, every, true, data, "").unwrap())
}

/// Trains until so many Newton steps were seen, then interrupts. Returns the result of a run that was done before, and the steps seen.
fn in_parts(task: &Task, settings: &Settings, path: &Path, most: usize) -> (Option<Trained>, usize) {
    let (flag, checkpoint) = (Arc::new(AtomicBool::new(false)), opened(path, HOUR, task));
    let settings =
        Settings { interrupt: Some(flag.clone()), checkpoint: Some(checkpoint.clone()), ..settings.clone() };
    let seen = AtomicUsize::new(0);
    let trained = train(task, None, &settings, &mut |_| {
        if seen.fetch_add(1, Ordering::Relaxed) + 1 >= most {
            flag.store(true, Ordering::Relaxed);
        }
    });
    checkpoint.write().unwrap();
    let done = |trained: &Trained| !flag.load(Ordering::Relaxed) || trained.report.stop != Stop::Interrupted;
    (trained.ok().filter(done), seen.into_inner())
}

fn bits(trained: &Trained) -> (Vec<u64>, u64, u64) {
    let heads = trained.heads.iter().flat_map(|head| head.weights.iter().chain([&head.bias]));
    let all = trained.weights.iter().chain(heads).map(|w| w.to_bits()).collect();
    (all, trained.bias.to_bits(), trained.report.objective.to_bits())
}

#[test]
fn a_solve_that_is_interrupted_after_every_few_steps_ends_in_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let net = |l1, l2| ElasticNet { l1, l2 };
    let wide = documents(300, 900); // conjugate gradients
    let cases = [
        ("sparse", documents(600, 200), net(1e-3, 1e-4)),
        ("without l2", documents(600, 200), net(1e-3, 0.0)),
        ("ridge", wide, net(0.0, 1e-5)),
        ("softmax", classes(HeadKind::Softmax), net(1e-4, 1e-4)),
        ("softmax without l1", classes(HeadKind::Softmax), net(0.0, 1e-4)),
        ("one-vs-rest", classes(HeadKind::Ovr), net(1e-4, 1e-4)),
    ];
    for (name, task, penalty) in &cases {
        let settings =
            Settings { solver: Solver::Newton, penalty: *penalty, tolerance: 1e-10, ..Settings::default() };
        let whole = train(task, None, &settings, &mut |_| {}).unwrap();
        // More steps each time, since the start of a softmax by dual ascent begins anew.
        let (path, mut parts, mut steps) = (folder.path().join(name), 0, 0);
        let found = loop {
            let (found, seen) = in_parts(task, &settings, &path, 2 + parts);
            (parts, steps) = (parts + 1, steps + seen);
            match found {
                Some(found) => break found,
                None => assert!(parts < 100, "{name}: no end after {steps} steps"),
            }
        };
        assert!(parts > 2, "{name}: {parts} parts of {steps} steps");
        assert_eq!(bits(&found), bits(&whole), "{name}, {parts} parts");
        assert_eq!(found.report.stop, whole.report.stop, "{name}");
    }
}

#[test]
fn the_state_of_a_solve_that_is_killed_is_in_the_file_and_a_damaged_one_counts_as_none() {
    let folder = tempfile::tempdir().unwrap();
    let (task, path) = (documents(600, 200), folder.path().join("c"));
    let penalty = ElasticNet { l1: 1e-4, l2: 1e-5 };
    let settings = Settings { solver: Solver::Newton, penalty, tolerance: 1e-12, ..Settings::default() };
    let whole = train(&task, None, &settings, &mut |_| {}).unwrap();
    // A copy of the file at some step is what a run that is killed leaves behind.
    let (copies, mut step) = (folder.path().join("copy"), 0);
    let kept = Settings { checkpoint: Some(opened(&path, Duration::ZERO, &task)), ..settings.clone() };
    train(&task, None, &kept, &mut |_| {
        step += 1;
        if path.exists() {
            std::fs::copy(&path, copies.with_extension(step.to_string())).unwrap();
        }
    })
    .unwrap();
    let last = copies.with_extension(step.to_string());
    let steps = AtomicUsize::new(0);
    let resumed = Settings { checkpoint: Some(opened(&last, HOUR, &task)), ..settings.clone() };
    let found = train(&task, None, &resumed, &mut |_| _ = steps.fetch_add(1, Ordering::Relaxed)).unwrap();
    assert_eq!(bits(&found), bits(&whole));
    let few = steps.into_inner();
    assert!(step > 5 && few <= 3, "{few} of {step} steps are made again");
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size < std::fs::metadata(&last).unwrap().len(), "the result takes the place of the state");
}

#[test]
fn a_path_past_its_deadline_still_has_what_the_journal_knows() {
    let folder = tempfile::tempdir().unwrap();
    for (k, task) in
        [documents(300, 60), classes(HeadKind::Softmax), classes(HeadKind::Ovr)].iter().enumerate()
    {
        let checkpoint = opened(&folder.path().join(k.to_string()), HOUR, task);
        let net = |l1: f64| ElasticNet { l1, l2: 0.1 * l1 };
        let most = match k {
            0 => objective::l1_max(task.examples(), &*task.loss, objective::Bias::Best),
            _ => 0.1,
        };
        let run = |deadline: Option<Instant>, length: i32| {
            let settings = Settings { checkpoint: Some(checkpoint.clone()), ..Settings::default() };
            let path = ExactPath {
                task,
                held: HeldOutRows::None,
                settings: &settings,
                sequences: vec![(1..=length).map(|k| net(most * 0.5f64.powi(k))).collect()],
                metric: Metric::Loss,
                may_end: false,
                max_features: None,
                refine: false,
                deadline,
                keep_folds: false,
            };
            path.run(&|_| {}).unwrap().models.len()
        };
        assert_eq!(run(Some(Instant::now()), 6), 1, "one model is always found");
        assert_eq!(run(None, 4), 4);
        assert_eq!(run(Some(Instant::now()), 6), 4, "task {k}");
    }
}
