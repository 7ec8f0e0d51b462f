//! Work on other threads that tells this thread of its progress.

use crate::util::error::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Runs `work` in a thread of its own, and calls `see` here for all that it tells. Inside a thread pool, `work` runs here, for this
/// thread may have to help: the threads of the pool call `see` themselves, one at a time.
pub(super) fn told<T: Send, R: Send>(
    work: impl FnOnce(&(dyn Fn(T) + Sync)) -> R + Send,
    see: &mut (dyn FnMut(T) + Send),
) -> R {
    if rayon::current_thread_index().is_some() {
        let see = Mutex::new(see);
        return work(&|what| {
            if let Ok(mut see) = see.lock() {
                see(what);
            }
        });
    }
    let (tell, told) = channel();
    std::thread::scope(|scope| {
        let working = scope.spawn(move || {
            work(&|what| {
                let _ = tell.send(what); // nobody listens any more only if that thread panicked
            })
        });
        told.into_iter().for_each(see);
        working.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// How often [`apart`] looks whether to go on, at least.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What a thread sends that works apart.
enum Message<T, R> {
    Progress(T),
    Done(Result<R>),
}

/// Runs `work` on a thread of its own, with a pool of threads that ends with it: a process that is forked later misses no
/// threads. Calls `see` here for all that it tells, and with `None` now and then. If `see` fails, `interrupt` is set, and the work
/// is left to itself with all that it owns.
///
/// ```
/// use lazyglm::train::apart;
/// let mut shares = Vec::new();
/// let mut see = |share: Option<f64>| Ok::<(), ()>(shares.extend(share));
/// let found = apart(2, Default::default(), |tell| { tell(0.5); Ok(rayon::current_num_threads()) }, &mut see);
/// assert_eq!((found.unwrap().unwrap(), shares), (2, vec![0.5]));
/// ```
pub fn apart<T: Send + 'static, R: Send + 'static, E>(
    threads: usize,
    interrupt: Arc<AtomicBool>,
    work: impl FnOnce(&(dyn Fn(T) + Send + Sync)) -> Result<R> + Send + 'static,
    see: &mut dyn FnMut(Option<T>) -> std::result::Result<(), E>,
) -> std::result::Result<Result<R>, E> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let tell = |what| drop(send.send(Message::Progress(what)));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
        let pool = pool.map_err(|e| Error::call(format!("no threads: {e}"), "ask for fewer"));
        let done = pool.and_then(|pool| pool.install(|| work(&tell)));
        drop(send.send(Message::Done(done))); // nobody may be waiting any more
    });
    loop {
        let told = match receive.recv_timeout(LOOK_EVERY) {
            Ok(Message::Done(done)) => return Ok(done),
            Ok(Message::Progress(what)) => Some(what),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                return Ok(Err(Error::call("the solver broke off", "report this")));
            }
        };
        see(told).inspect_err(|_| interrupt.store(true, Ordering::Relaxed))?;
    }
}
