//! The file of a checkpoint.
//!
//! ```text
//! magic       "lazyglm checkpoint 1\n"
//! state       hash of the data, settings as text, finished units by key     fields of util/state.rs
//! check       xxHash3 of all bytes before it, eight bytes
//! ```

use super::Key;
use crate::util::error::{Error, Place, Result};
use crate::util::files;
use crate::util::state::{Fields, State};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use twox_hash::XxHash3_64;

/// The first bytes of the file, with the version of the format.
const MAGIC: &[u8] = b"lazyglm checkpoint 1\n";

/// What the file holds.
#[derive(Default)]
pub(super) struct Contents {
    /// A hash of the data.
    pub data: Key,
    /// The settings, one `name: value` per line.
    pub settings: String,
    /// Finished units and states of unfinished ones.
    pub units: Vec<(Key, Vec<u8>)>,
}

impl State for Contents {
    fn fields(&mut self, fields: &mut Fields) {
        self.data.fields(fields);
        self.settings.fields(fields);
        self.units.fields(fields);
    }
}

impl Contents {
    /// Writes the file in one step: a run that is killed leaves the old file or the new one.
    pub fn write(&mut self, path: &Path) -> Result<()> {
        let bytes = Fields::write(self).unwrap_or_default();
        let mut all = [MAGIC, &bytes].concat();
        drop(bytes);
        let check = XxHash3_64::oneshot(&all);
        all.extend(check.to_le_bytes());
        files::write_whole(path, |to| to.write_all(&all))
    }

    /// Reads the file; `None` if there is none.
    pub fn read(path: &Path) -> Result<Option<Contents>> {
        let failed = |e| Error::io(path, e, "check the name and that you may read it");
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(failed(e)),
        };
        if !file.metadata().map_err(failed)?.is_file() {
            let what = "a checkpoint cannot be kept here: this is not a regular file";
            return Err(Error::data(Place::file(path), what, "name another file"));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        Contents::parse(&bytes).map(Some).map_err(|what| damaged(path, what))
    }

    /// Reads the bytes of a file; the error says what is wrong with them.
    fn parse(bytes: &[u8]) -> std::result::Result<Contents, &'static str> {
        if bytes.is_empty() {
            return Err("it is empty");
        }
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return Err("it is not a checkpoint of this version of lazyglm");
        };
        let Some((state, check)) = rest.split_last_chunk::<8>() else { return Err("it is cut short") };
        if XxHash3_64::oneshot(&bytes[..bytes.len() - check.len()]) != u64::from_le_bytes(*check) {
            return Err("its checksum does not fit");
        }
        let mut contents = Contents::default();
        match Fields::read(state, &mut contents) {
            true => Ok(contents),
            false => Err("its checksum fits, but its contents are not those of a checkpoint"),
        }
    }
}

fn damaged(path: &Path, what: &str) -> Error {
    let hint = "delete it and begin anew, or name the file of another checkpoint";
    Error::data(Place::file(path), format!("this checkpoint cannot be used: {what}"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(state: &[u8]) -> Vec<u8> {
        let all = [MAGIC, state].concat();
        [&all[..], &XxHash3_64::oneshot(&all).to_le_bytes()].concat()
    }

    #[test]
    fn a_damaged_file_is_an_error_and_valid_checksums_do_not_help() {
        let (data, units) = (Key::of("rows"), vec![(Key::of("unit"), vec![1, 2, 3])]);
        let mut contents = Contents { data, settings: "l1: 0.1\n".into(), units };
        let state = Fields::write(&mut contents).unwrap();
        let whole = sealed(&state);
        assert!(Contents::parse(&whole).is_ok_and(|read| read.units == contents.units));
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= 0x10;
            assert!(Contents::parse(&changed).is_err(), "byte {place}");
            assert!(Contents::parse(&whole[..place]).is_err(), "cut at {place}");
        }
        for place in 0..state.len() {
            let mut changed = state.clone();
            changed[place] = 0xFF; // lengths become huge, and text is no longer UTF-8
            let _ = Contents::parse(&sealed(&changed));
            assert!(Contents::parse(&sealed(&state[..place])).is_err(), "cut at {place}");
        }
    }
}
