//! A fingerprint of a source file, which detects whether the file has changed since its cache was made.

use crate::util::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;
use twox_hash::XxHash3_64;

/// Number of blocks that are sampled.
const SAMPLES: u64 = 16;
/// Length of a sampled block in bytes.
const LENGTH: u64 = 1 << 14;

/// Size, times, inode number and a hash of sampled blocks, including the first and the last. All must match.
///
/// Users cannot set the time of the last status change, and another file has another inode number. So the
/// stamp detects an edit between the samples, and a copy of the data that was distributed together with a
/// cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    size: u64,
    modified: u64, // nanoseconds since 1970
    #[serde(default)]
    file: Option<FileNumbers>, // `None` if the system has no such numbers, and in caches of earlier versions
    sampled: u64,
}

/// File attributes that only the operating system can write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct FileNumbers {
    inode: u64,
    changed: (i64, i64), // seconds since 1970, nanoseconds
}

impl FileNumbers {
    #[cfg(unix)]
    fn of(found: &Metadata) -> Option<FileNumbers> {
        use std::os::unix::fs::MetadataExt;
        let changed = (found.ctime(), found.ctime_nsec());
        Some(FileNumbers { inode: found.ino(), changed })
    }

    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Option<FileNumbers> {
        None
    }
}

impl Stamp {
    pub fn of(path: &Path) -> Result<Stamp> {
        let failed = |e| Error::io(path, e, "check the name and that you may read it");
        let mut file = File::open(path).map_err(failed)?;
        let found = file.metadata().map_err(failed)?;
        let modified = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let size = found.len();
        let mut bytes = Vec::new();
        for sample in 0..SAMPLES {
            let start = size.saturating_sub(LENGTH) / (SAMPLES - 1) * sample;
            let start = if sample + 1 == SAMPLES { size.saturating_sub(LENGTH) } else { start };
            file.seek(SeekFrom::Start(start)).map_err(failed)?;
            file.by_ref().take(LENGTH).read_to_end(&mut bytes).map_err(failed)?;
        }
        let modified = modified.map_or(0, |time| time.as_nanos() as u64);
        Ok(Stamp { size, modified, file: FileNumbers::of(&found), sampled: XxHash3_64::oneshot(&bytes) })
    }
}
