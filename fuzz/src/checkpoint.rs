//! Checkpoints: any bytes are a run that goes on or an error, with a valid checksum around hostile contents, too.
//!
//! The first byte of an input says what the rest is: a file as it is; the contents of a file, which get a checksum that
//! fits; or bytes that replace one unit of a checkpoint of a small run, in whole or in part. The run then goes on from
//! that file: what it reads may be wrong, but it must end without a panic.

use super::limits::limited;
use super::{Choices, in_file};
use lazyglm::util::checkpoint::Checkpoint;
use lazyglm::{Dataset, Declared, ElasticNet, HeadKind, Settings, Solver, Source, Task, train};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use twox_hash::XxHash3_64;

const MAGIC: &[u8] = b"lazyglm checkpoint 1\n";
const SETTINGS: &str = "fuzz: 1\n";
const HOUR: Duration = Duration::from_secs(3600);
/// Memory of a small run, whatever its checkpoint has.
const CONSTANT: usize = 4 << 20;

/// A small run, and the checkpoint that it leaves when it is interrupted.
struct Run {
    task: Task,
    settings: Settings,
    file: Vec<u8>,
    units: Vec<(usize, usize)>, // where the bytes of each unit begin and end
}

/// Any bytes as the checkpoint of a run.
pub fn checkpoint(bytes: &[u8]) {
    let mut choices = Choices::of(bytes);
    let (kind, runs) = (choices.byte() % 4, runs());
    let run = &runs[choices.byte() % runs.len()];
    let file = match kind {
        0 => choices.rest.to_vec(),
        1 => sealed([MAGIC, choices.rest].concat()),
        kind => changed(run, kind == 3, &mut choices),
    };
    in_file(&file, |path| {
        let _ = limited(file.len(), CONSTANT, || resume(run, path));
    });
}

/// Goes on from a file; `None` if it is refused.
fn resume(run: &Run, path: &Path) -> Option<()> {
    let checkpoint = open(&run.task, path)?;
    let settings = Settings { checkpoint: Some(checkpoint), ..run.settings.clone() };
    train(&run.task, None, &settings, &mut |_| {}).ok().map(|_| ())
}

fn open(task: &Task, path: &Path) -> Option<Arc<Checkpoint>> {
    let data = (task.fingerprint().ok()?, task.data.rows.columns());
    Checkpoint::open(path, HOUR, true, data, SETTINGS).ok().map(Arc::new)
}

/// A file with a checksum that fits.
fn sealed(mut file: Vec<u8>) -> Vec<u8> {
    let check = XxHash3_64::oneshot(&file);
    file.extend(check.to_le_bytes());
    file
}

/// The checkpoint of a run in which the rest of the input replaces a unit, or some bytes of it.
fn changed(run: &Run, in_part: bool, choices: &mut Choices) -> Vec<u8> {
    let Some(&(start, end)) = run.units.get(choices.byte() % run.units.len().max(1)) else {
        return Vec::new();
    };
    let mut unit = run.file[start..end].to_vec();
    match in_part {
        true => {
            let at = choices.number().min(unit.len());
            unit[at..].iter_mut().zip(choices.rest).for_each(|(old, new)| *old = *new);
        }
        false => unit = choices.rest.to_vec(),
    }
    let length = (unit.len() as u64).to_le_bytes();
    sealed([&run.file[..start - 8], &length, &unit, &run.file[end..]].concat())
}

fn runs() -> &'static [Run] {
    static RUNS: OnceLock<Vec<Run>> = OnceLock::new();
    RUNS.get_or_init(|| {
        let two: String = (0..12).map(|i| format!("{} {}:1 4:0.5\n", 1 - i % 2 * 2, 1 + i % 3)).collect();
        let many: String = (0..12).map(|i| format!("c{} {}:1 4:0.5\n", i % 3, 1 + (i + i / 6) % 3)).collect();
        let penalty = ElasticNet { l1: 1e-3, l2: 1e-3 };
        let plain =
            Settings { penalty, epochs: 4, eta0: Some(0.1), certificate: false, ..Settings::default() };
        let one = |solver: Solver| (&two, None, Settings { solver, ..plain.clone() });
        let auto = Settings { solver: Solver::Auto, choose_penalty: true, ..plain.clone() };
        let newton = Settings { solver: Solver::Newton, ..plain.clone() };
        let all = vec![
            one(Solver::Sgd),
            one(Solver::Adagrad),
            one(Solver::Ftrl),
            one(Solver::Svrg),
            (&two, None, auto.clone()),
            (&many, Some(HeadKind::Labels), auto),
            (&many, Some(HeadKind::Ovr), newton.clone()),
            (&many, Some(HeadKind::Softmax), newton),
            (&many, Some(HeadKind::Softmax), plain.clone()),
        ];
        all.into_iter().map(|(text, kind, settings)| made(text, kind, settings)).collect()
    })
}

fn made(text: &str, kind: Option<HeadKind>, settings: Settings) -> Run {
    let data = in_file(text.as_bytes(), |path| Dataset::read(path, Declared::default())).expect("rows");
    let builder = Task::builder(data);
    let task = match kind {
        None => builder.build(),
        Some(kind) => builder.heads(kind).build(),
    };
    let task = task.expect("a task");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("checkpoint");
    let checkpoint = open(&task, &path).expect("a new checkpoint");
    let flag = Arc::new(AtomicBool::new(false));
    let interrupt = Some(flag.clone());
    let interrupted = Settings { checkpoint: Some(checkpoint.clone()), interrupt, ..settings.clone() };
    let stochastic = !matches!(settings.solver, Solver::Auto | Solver::Newton);
    let _ = train(&task, None, &interrupted, &mut |progress| {
        if stochastic && progress.epoch > 2 {
            flag.store(true, Ordering::Relaxed); // in the middle
        }
    });
    checkpoint.write().expect("a checkpoint");
    let file = std::fs::read(&path).expect("the checkpoint");
    let file = file[..file.len() - 8].to_vec(); // without its checksum
    let units = units(&file);
    Run { task, settings, file, units }
}

/// Where the units of a file are: after the magic bytes, a key, the settings and the number of units.
fn units(file: &[u8]) -> Vec<(usize, usize)> {
    let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().expect("eight bytes")) as usize;
    let mut at = MAGIC.len() + 16;
    at += 8 + number(at);
    let count = number(at);
    at += 8;
    let mut one = || {
        let start = at + 16 + 8;
        at = start + number(at + 16);
        (start, at)
    };
    (0..count).map(|_| one()).collect()
}

/// The first inputs: the contents of each checkpoint, and each of its units.
pub fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut inputs = Vec::new();
    for (k, run) in runs().iter().enumerate() {
        inputs.push((format!("seed-{k}"), [&[1, k as u8], &run.file[MAGIC.len()..]].concat()));
        for (u, &(start, end)) in run.units.iter().enumerate().take(4) {
            let unit = &run.file[start..end];
            inputs.push((format!("seed-{k}-{u}"), [&[2, k as u8, u as u8], unit].concat()));
            inputs.push((format!("seed-{k}-{u}-part"), vec![3, k as u8, u as u8, 8, 0, 255, 255, 255, 255]));
        }
    }
    inputs.retain(|(_, bytes)| bytes.len() < 4096);
    inputs
}
