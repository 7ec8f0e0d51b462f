//! Streams that must be read from any place: standard input and pipes, saved to a temporary file without a name.
//!
//! A stream can be read once. Its saved bytes are found by its path, as a file is, until the [`Spool`] is dropped.

use super::{ByteSource, cannot_read};
use crate::util::error::{Error, Result};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The saved streams, by path.
static SAVED: Mutex<Vec<(PathBuf, File)>> = Mutex::new(Vec::new());

/// A stream that was saved. Dropping it removes the saved bytes.
pub(crate) struct Spool {
    path: PathBuf,
}

impl Drop for Spool {
    fn drop(&mut self) {
        let mut saved = saved_streams();
        if let Some(k) = saved.iter().position(|(path, _)| *path == self.path) {
            saved.remove(k);
        }
    }
}

impl ByteSource {
    /// Saves all bytes of a stream. Those that [`ByteSource::first`] shows stay there.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code))]
    pub(crate) fn save(&mut self) -> Result<Spool> {
        let hint = "set TMPDIR to a folder with room for the data, or save them to a file and name that";
        let mut file = tempfile::tempfile().map_err(|e| Error::io("a temporary file", e, hint))?;
        let full = |e| Error::io("a temporary file", e, hint);
        file.write_all(&self.carry).map_err(full)?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = match self.reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(cannot_read(&self.path, e)),
            };
            file.write_all(&buffer[..count]).map_err(full)?;
        }
        self.ended = true;
        saved_streams().push((self.path.clone(), file));
        Ok(Spool { path: self.path.clone() })
    }
}

/// The saved bytes of a stream, from the first one, or `None` if the path is no saved stream.
///
/// All readers of a stream share one position: each must seek before it reads.
#[cfg_attr(not(feature = "parquet"), allow(dead_code))]
pub(crate) fn saved(path: &Path) -> Option<io::Result<File>> {
    let saved = saved_streams();
    let (_, file) = saved.iter().find(|(known, _)| known == path)?;
    Some(file.try_clone().and_then(|mut file| file.rewind().map(|()| file)))
}

fn saved_streams() -> MutexGuard<'static, Vec<(PathBuf, File)>> {
    SAVED.lock().unwrap_or_else(PoisonError::into_inner)
}
