//! What a source looked like when its cache was made.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;
use twox_hash::XxHash3_64;

/// How many blocks are looked at, and how long each is.
const SAMPLES: u64 = 16;
const LENGTH: u64 = 1 << 14;

/// Size, time and a hash of sampled blocks, first and last among them: all three must be the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    size: u64,
    modified: u64, // nanoseconds since 1970
    sampled: u64,
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
        Ok(Stamp { size, modified, sampled: XxHash3_64::oneshot(&bytes) })
    }
}
