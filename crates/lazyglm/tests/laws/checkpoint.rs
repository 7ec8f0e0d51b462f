//! Laws of checkpoints: the result does not depend on what the journal knows, the journal stays small, and a write that
//! fails is told at once.

use lazyglm::util::checkpoint::{Checkpoint, Key};
use lazyglm::util::random::Random;
use lazyglm::{
    Dataset, Declared, Head, HeadKind, Settings, Solver, Source, Task, Trained, train,
    train::tf_idf_if_better,
};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);

/// A task with two labels per row, each of which has a column of its own besides columns of noise.
fn labelled(folder: &Path, rows: usize, labels: usize, columns: u64) -> Task {
    let mut random = Random::new(3);
    let row = |i: usize| {
        let (one, other) = (i % labels, random.below(labels as u64) as usize);
        let mut pairs = vec![(one + 1, 1.5), (other + 1, 1.5)];
        let noise = (0..4).map(|_| labels + 1 + random.below(columns) as usize);
        pairs.extend(noise.map(|column| (column, 0.5)));
        pairs.sort_by_key(|pair| pair.0);
        pairs.dedup_by_key(|pair| pair.0);
        let pairs: String = pairs.iter().map(|(column, x)| format!(" {column}:{x}")).collect();
        format!("l{one},l{other}{pairs}\n")
    };
    read(folder, (0..rows).map(row).collect())
}

fn read(folder: &Path, text: String) -> Task {
    let file = folder.join("data.svm");
    std::fs::write(&file, text).unwrap();
    Task::builder(Dataset::read(&file, Declared::default()).unwrap()).heads(HeadKind::Labels).build().unwrap()
}

fn opened(path: &Path, task: &Task, resume: bool) -> Arc<Checkpoint> {
    let data = (task.fingerprint().unwrap(), task.data.rows.columns());
    Arc::new(Checkpoint::open(path, HOUR, resume, data, "solver: auto\n").unwrap())
}

fn auto(checkpoint: Option<Arc<Checkpoint>>) -> Settings {
    Settings { solver: Solver::Auto, choose_penalty: true, checkpoint, ..Settings::default() }
}

fn bits(heads: &[Head]) -> Vec<(Vec<u32>, Vec<u64>, u64)> {
    let one = |head: &Head| {
        let weights = head.weights.iter().map(|w| w.to_bits()).collect();
        (head.columns.clone(), weights, head.bias.to_bits())
    };
    heads.iter().map(one).collect()
}

#[test]
fn a_checkpoint_of_other_data_or_settings_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    let [task, other] = [60, 61].map(|rows| labelled(folder.path(), rows, 5, 10));
    let columns = task.data.rows.columns();
    let open = |task: &Task, settings: &str| {
        Checkpoint::open(&path, HOUR, true, (task.fingerprint().unwrap(), columns), settings)
    };
    open(&task, "solver: auto\n").unwrap().write().unwrap();
    assert!(open(&task, "solver: auto\n").unwrap().existed());
    for (task, settings, words) in [
        (&other, "solver: auto\n", "on other data"),
        (&task, "solver: sgd\n", "with other settings"),
        (&other, "solver: sgd\n", "on other data, and with other settings"),
    ] {
        let refusal = open(task, settings).unwrap_err().to_string();
        assert!(refusal.contains(words), "{refusal}");
    }
}

#[test]
fn the_checkpoint_of_two_hundred_labels_is_about_as_large_as_their_weights() {
    let folder = tempfile::tempdir().unwrap();
    let (task, path) = (labelled(folder.path(), 800, 200, 1000), folder.path().join("c"));
    let checkpoint = opened(&path, &task, false);
    let trained = train(&task, None, &auto(Some(checkpoint.clone())), &mut |_| {}).unwrap();
    checkpoint.write().unwrap();
    let size = std::fs::metadata(&path).unwrap().len() as usize;
    let weights: usize = trained.heads.iter().map(|head| head.weights.len()).sum();
    assert!(weights > 100, "{weights} weights: most labels have their column");
    // The heads of the run, those of the last and of the best penalty of four rays, and some figures per head and penalty.
    // The places at which the solves of one penalty ended would be 8 MB: four numbers per row and per column of each head.
    let most = 9 * Head::WEIGHT * weights + 500_000;
    assert!(size < most, "{size} bytes for {weights} weights of {} heads: above {most}", trained.heads.len());
}

/// Trains until the journal has grown so often, then interrupts.
fn interrupted(task: &Task, path: &Path, after: usize) -> Option<Trained> {
    let (flag, checkpoint) = (Arc::new(AtomicBool::new(false)), opened(path, task, true));
    let settings = Settings { interrupt: Some(flag.clone()), ..auto(Some(checkpoint.clone())) };
    let begun = checkpoint.units();
    let done = AtomicBool::new(false);
    let trained = std::thread::scope(|scope| {
        scope.spawn(|| {
            let started = Instant::now();
            while !done.load(Ordering::Relaxed) && started.elapsed() < Duration::from_secs(60) {
                if checkpoint.units() >= begun + after {
                    flag.store(true, Ordering::Relaxed);
                    return;
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        let scaled = tf_idf_if_better(task, None, &settings, &mut |_| {}).unwrap();
        let task = scaled.as_ref().map_or(task, |(scaled, _)| scaled);
        let trained = train(task, None, &settings, &mut |_| {});
        done.store(true, Ordering::Relaxed);
        trained
    });
    checkpoint.write().unwrap();
    trained.ok().filter(|_| !flag.load(Ordering::Relaxed))
}

/// The journal drops heads that nothing begins at any more. What is left must be enough, wherever a run is interrupted.
#[test]
fn a_search_over_labels_ends_in_the_same_bits_wherever_it_was_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    // Counts, so that tf-idf is tried first, with walks on the same rays.
    let mut random = Random::new(5);
    let row = |i: usize| {
        let (label, other, noise) = (i % 6, random.below(6), 20 + random.below(30));
        format!("l{label},l{other} {}:{} {}:1 {noise}:2\n", label + 1, 1 + random.below(3), 8 + label)
    };
    let task = read(folder.path(), (0..240).map(row).collect());
    let plain = auto(None);
    let scaled = tf_idf_if_better(&task, None, &plain, &mut |_| {}).unwrap();
    let chosen = scaled.as_ref().map_or(&task, |(scaled, _)| scaled);
    let whole = train(chosen, None, &plain, &mut |_| {}).unwrap();
    for after in [1, 2, 3, 5, 8, 13] {
        let path = folder.path().join(format!("c{after}"));
        let mut rounds = 0;
        let found = loop {
            rounds += 1;
            if let Some(found) = interrupted(&task, &path, after) {
                break found;
            }
            assert!(rounds < 400, "every {after} units: no end");
        };
        assert_eq!(bits(&found.heads), bits(&whole.heads), "interrupted after every {after} units");
        assert_eq!(found.report.objective.to_bits(), whole.report.objective.to_bits());
    }
}

#[test]
fn an_interruption_of_many_labels_ends_soon_and_heads_that_did_not_begin_have_their_best_bias() {
    let folder = tempfile::tempdir().unwrap();
    let task = labelled(folder.path(), 1200, 400, 200);
    let flag = Arc::new(AtomicBool::new(false));
    let penalty = lazyglm::ElasticNet { l1: 1e-4, l2: 0.0 };
    let settings = Settings {
        solver: Solver::Newton,
        penalty,
        tolerance: 1e-12,
        interrupt: Some(flag.clone()),
        ..Settings::default()
    };
    let at = Mutex::new(None);
    let trained = train(&task, None, &settings, &mut |progress| {
        if progress.epoch > 20 && !flag.swap(true, Ordering::Relaxed) {
            *at.lock().unwrap() = Some(Instant::now());
        }
    })
    .unwrap();
    let took = at.lock().unwrap().expect("it was interrupted").elapsed();
    assert!(took < Duration::from_secs(5), "{took:?} in a build without optimisation");
    assert!(trained.notes.iter().any(|note| note.contains("were not trained")), "{:?}", trained.notes);
    let biases = trained.heads.iter().filter(|head| head.weights.is_empty());
    assert!(biases.clone().count() > 100 && biases.clone().all(|head| head.bias < -1.0), "rare labels");
    assert!(trained.report.objective <= trained.report.baseline * (1.0 + 1e-12));
    assert!(
        trained.report.relative_gap.is_none(),
        "a certificate of many heads takes longer than the answer may"
    );
}

#[test]
fn the_first_of_several_failed_writes_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("place");
    std::fs::create_dir(&place).unwrap();
    let told = Arc::new(AtomicUsize::new(0));
    let counter = told.clone();
    let key = (Key::of("rows"), 1);
    let open = Checkpoint::open(&place.join("c"), Duration::ZERO, false, key, "").unwrap();
    let checkpoint = open.warning(move |_| _ = counter.fetch_add(1, Ordering::Relaxed));
    let mut put = |k: u64| checkpoint.put(Key::of("unit").and(k), &mut k.clone());
    put(1);
    assert_eq!(told.load(Ordering::Relaxed), 0);
    std::fs::remove_dir_all(&place).unwrap();
    (2..5).for_each(&mut put);
    assert_eq!(told.load(Ordering::Relaxed), 1, "once, as long as writes fail");
    std::fs::create_dir(&place).unwrap();
    put(5);
    std::fs::remove_dir_all(&place).unwrap();
    put(6);
    assert_eq!((told.load(Ordering::Relaxed), checkpoint.units()), (2, 6), "again after a write that worked");
}
