//! Limits on the names of features, whose parts repeat: a column of a long name and many values has this name in each feature.
//!
//! ```text
//! column, 100 kB long · 30,000 values of 6 bytes     300 kB of text, 3 GB of names
//! stored     all different names of a block          at most 64 bytes per byte of the block, twice the columns' names, and 1 MiB
//! made       all names, repeated ones too            sixteen times as much, at most
//! ```
//!
//! The first limit is for memory, the second for time, and for values of keys that rows of a JSON table lack: a row of three bytes may
//! lack thousands. Terms of n-grams beyond words and pairs of words may take more.

use super::columns::{Column, ColumnKind};
use super::{Parsed, Text};
use crate::data::vocabulary::Vocabulary;
use crate::util::error::{Error, Place, Result};
use std::path::Path;

/// Bytes of stored names that every block may have.
const STORED: usize = 1 << 20;
/// Bytes of stored names per byte of input, and the same for tables with many terms per word.
const STORED_PER_BYTE: [usize; 2] = [64, 4096];
/// Bytes of names that are made, for each of the bytes that may be stored.
const MADE_PER_STORED: usize = 16;

/// Bytes that the value of an absent key counts for.
const PER_ABSENT: usize = 64;

/// What names may still take.
#[derive(Clone, Copy, Debug, Default)]
pub struct NamesRoom {
    stored: usize, // bytes of all different names
    made: usize,   // bytes of the names that are still to come
    is_full: bool,
}

impl NamesRoom {
    /// The room of so many bytes of input, with these columns.
    pub(super) fn of<'a>(bytes: usize, columns: impl IntoIterator<Item = &'a Column>) -> NamesRoom {
        let mut room = NamesRoom::default();
        room.add(bytes, columns);
        room
    }

    /// Makes room for more bytes of input.
    pub(super) fn add<'a>(&mut self, bytes: usize, columns: impl IntoIterator<Item = &'a Column>) {
        let (mut names, mut per_byte) = (0usize, STORED_PER_BYTE[0]);
        for Column { name, kind, text, .. } in columns {
            names = names.saturating_add(2 * name.len()); // and with `=missing`
            if *kind == ColumnKind::Text && text.as_ref().is_some_and(has_many_terms) {
                per_byte = STORED_PER_BYTE[1];
            }
        }
        let stored = bytes.saturating_mul(per_byte).saturating_add(names).saturating_add(STORED);
        self.stored = self.stored.saturating_add(stored);
        self.made = self.made.saturating_add(stored.saturating_mul(MADE_PER_STORED));
    }

    /// Counts bytes beside those of names.
    pub(super) fn charge(&mut self, bytes: usize) {
        match self.made.checked_sub(bytes) {
            Some(left) => self.made = left,
            None => (self.made, self.is_full) = (0, true),
        }
    }

    /// The number of a name. Once there is no room, any number: the block is refused at its end.
    #[inline]
    pub(super) fn id(&mut self, names: &mut Vocabulary, name: &str) -> u32 {
        if name.len() <= self.made {
            self.made -= name.len();
            if let Some(id) = names.id_within(name, self.stored) {
                return id;
            }
        }
        (self.made, self.is_full) = (0, true);
        0
    }

    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }
}

/// Whether a word stands in more terms than its own and those of two words.
fn has_many_terms(text: &Text) -> bool {
    text.skip > 0 || text.chars.is_some() || text.words.is_some_and(|words| words.to > 2)
}

impl Parsed {
    /// Makes room for the names of a block of so many bytes.
    pub(super) fn allow_names<'a>(&mut self, bytes: usize, columns: impl IntoIterator<Item = &'a Column>) {
        self.names_room.get_or_insert_default().add(bytes, columns);
    }

    /// Whether the names of features take more room than they may, so that there is no use in reading on.
    pub(super) fn names_are_full(&self) -> bool {
        self.names_room.is_some_and(|room| room.is_full())
    }

    /// Counts a value that stands for a key that the row lacks.
    pub(super) fn count_absent(&mut self) {
        self.names_room.iter_mut().for_each(|room| room.charge(PER_ABSENT));
    }

    /// Takes away what every block may have, because a file may have any number of small ones.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code))]
    pub(super) fn allow_no_more_names(&mut self) {
        self.names_room.iter_mut().for_each(|room| room.stored = room.stored.saturating_sub(STORED));
    }

    /// Refuses the block, because a parser has no room for what it keeps itself.
    #[cold]
    pub(super) fn refuse_names(&mut self, file: &Path) -> Error {
        self.names_room.get_or_insert_default().is_full = true;
        too_long(file)
    }

    /// What is wrong with a block that has been parsed.
    pub(super) fn result(&self, file: &Path) -> Result<()> {
        if self.names_are_full() { Err(too_long(file)) } else { self.wrong.result() }
    }
}

/// The error for names that take too much room.
#[cold]
pub(super) fn too_long(file: &Path) -> Error {
    let what = "features would take many times the size of the data: a long name of a column, key or namespace is repeated in each \
                of its features, or rows lack most of thousands of keys";
    Error::data(Place::file(file), what, "shorten the long names, or drop keys that most rows lack")
}
