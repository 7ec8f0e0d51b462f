//! Independent pieces of work on some threads, while the calling thread looks whether to go on.

use crate::util::error::{Kind, Result};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often the calling thread looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Called between batches; an error ends the work.
pub type Look<'a> = &'a dyn Fn() -> Result<()>;

/// Does the work on each unit, with at most so many threads, and returns the results in order. The first error ends all of it: `work`
/// must call its second argument now and then.
pub fn side_by_side<U: Send, T: Send>(
    units: Vec<U>,
    threads: usize,
    look: Look,
    work: impl Fn(U, Look) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    if threads <= 1 || units.len() == 1 {
        return units.into_iter().map(|unit| work(unit, look)).collect();
    }
    let (stop, count) = (AtomicBool::new(false), units.len());
    let queue = Mutex::new(units.into_iter().enumerate());
    let (send, done) = channel();
    let stopped = || match stop.load(Ordering::Relaxed) {
        true => Err(Kind::Interrupted.into()),
        false => Ok(()),
    };
    let mut results: Vec<(usize, Result<T>)> = std::thread::scope(|scope| {
        for send in vec![send; threads.min(count)] {
            let (queue, stop, stopped, work) = (&queue, &stop, &stopped, &work);
            scope.spawn(move || {
                while let Some((k, unit)) = queue.lock().ok().and_then(|mut queue| queue.next()) {
                    let result = work(unit, stopped);
                    if result.is_err() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    let _ = send.send((k, result)); // nobody may be waiting any more
                }
            });
        }
        let mut results = Vec::new();
        loop {
            match done.recv_timeout(LOOK_EVERY) {
                Ok(result) => results.push(result),
                Err(RecvTimeoutError::Disconnected) => return results,
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(interrupt) = look() {
                        stop.store(true, Ordering::Relaxed);
                        results.push((0, Err(interrupt)));
                    }
                }
            }
        }
    });
    let ended =
        |result: &Result<T>| matches!(result, Err(error) if matches!(error.kind(), Kind::Interrupted));
    results.sort_by_key(|(k, result)| (result.is_ok(), ended(result), *k)); // what went wrong first, and not what it ended
    results.into_iter().map(|(_, result)| result).collect()
}
