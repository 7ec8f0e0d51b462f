//! Work on all threads that tells this thread of its progress.

use std::sync::Mutex;
use std::sync::mpsc::channel;

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
