//! Arrays that their owner may write to while they are read: what was checked may no longer hold.

use crate::util::error::{Error, Place, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether lent arrays were seen to have changed since they were checked. Readers set the flag: see [`RowsRef::shared`].
///
/// [`RowsRef::shared`]: super::RowsRef::shared
///
/// ```
/// use lazyglm::{Result, data::rows::Changed};
/// use std::sync::atomic::Ordering;
/// let changed = Changed::default();
/// let read = || { changed.0.store(true, Ordering::Relaxed); [1, 2][std::hint::black_box(2)] };
/// let error = changed.guard::<i32, lazyglm::Error>(|| Ok(read())).unwrap_err();
/// assert!(error.to_string().contains("its indices changed while it was read"));
/// ```
#[derive(Default)]
pub struct Changed(pub AtomicBool);

impl Changed {
    /// Does something with the arrays. A panic is an error here: a number that was checked may be another one a moment later.
    pub fn guard<T, E: From<Error>>(
        &self,
        work: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            self.check()?;
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no reason was given");
            let hint =
                "do not write to X or y in another thread during the call; if nothing does, report this";
            Err(Error::data(Place::file("X"), format!("learning broke off ({said})"), hint).into())
        })
    }

    /// An error if they have.
    pub fn check(&self) -> Result<()> {
        match self.0.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(Error::data(
                Place::file("X"),
                "its indices changed while it was read",
                "do not write to X in another thread during the call, or pass a copy",
            )),
        }
    }
}
