//! Who learns with whom, and on which thread.

use crate::course::{Course, Outcome};
use crate::errors::Halt;
use crate::learner::Learner;
use crate::together;
use lazyglm::Error;
use pyo3::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How often Ctrl-C is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Learners that go through the rows together, and the classes they are for.
pub type Unit<'l> = Vec<(usize, &'l mut Learner)>;

/// Called between parts of an epoch; may stop it.
pub type Look<'a> = &'a dyn Fn() -> std::result::Result<(), Halt>;

/// What became of the learners of a unit.
pub type Done = std::result::Result<Vec<Outcome>, Halt>;

/// Learners in units: as lanes where that changes no bit, and not more of them together than leave work for every thread.
pub fn units<'l>(learners: Vec<&'l mut Learner>, course: &Course, threads: usize) -> Vec<Unit<'l>> {
    let size = match together::can_join(course, &learners) {
        true => learners.len().div_ceil(threads.max(1)).min(together::most()),
        false => 1,
    };
    let mut units: Vec<Unit> = Vec::new();
    for (k, learner) in learners.into_iter().enumerate() {
        match units.last_mut() {
            Some(unit) if unit.len() < size => unit.push((k, learner)),
            _ => units.push(vec![(k, learner)]),
        }
    }
    units
}

/// Units on as many threads, while this one looks for signals.
pub fn side_by_side<'l>(
    units: Vec<Unit<'l>>,
    threads: usize,
    learn: &(dyn Fn(Unit<'l>, Look) -> Done + Sync),
) -> Done {
    let (stop, left) = (AtomicBool::new(false), AtomicUsize::new(units.len()));
    let queue = Mutex::new(units.into_iter().enumerate().collect::<Vec<_>>());
    let done = Mutex::new(Vec::new());
    let stopped = || match stop.load(Ordering::Relaxed) {
        true => Err(Halt::Ours(Error::call("learning was stopped", "start it again"))),
        false => Ok(()),
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.min(left.load(Ordering::Relaxed)) {
            scope.spawn(|| {
                while let Some((k, unit)) = queue.lock().ok().and_then(|mut queue| queue.pop()) {
                    let outcomes = learn(unit, &stopped);
                    if outcomes.is_err() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    if let Ok(mut done) = done.lock() {
                        done.push((k, outcomes));
                    }
                    left.fetch_sub(1, Ordering::Relaxed);
                }
            });
        }
        let mut looked = Instant::now();
        while left.load(Ordering::Relaxed) > 0 && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
            if let Err(interrupt) = look_for_signals(&mut looked) {
                stop.store(true, Ordering::Relaxed);
                return Err(interrupt);
            }
        }
        Ok(())
    })?;
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(k, outcomes)| (outcomes.is_ok(), *k)); // what went wrong first
    let all: std::result::Result<Vec<_>, Halt> = done.into_iter().map(|(_, outcomes)| outcomes).collect();
    Ok(all?.into_iter().flatten().collect())
}

/// Lets Python see to its signals, now and then: Ctrl-C raises KeyboardInterrupt.
pub fn look_for_signals(looked: &mut Instant) -> std::result::Result<(), Halt> {
    if looked.elapsed() < LOOK_EVERY {
        return Ok(());
    }
    *looked = Instant::now();
    Ok(Python::attach(|py| py.check_signals())?)
}
