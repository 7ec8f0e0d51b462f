//! Functions that take any bytes as data, a cache, a model, a checkpoint, a table or a string: none may panic, hang or allocate much.
//! `limits.rs` has the limits, each target its constant.
//!
//! libFuzzer calls them with inputs that reach new code (`make fuzz-coverage`), and the gate calls them with the
//! inputs in `corpus/` (`crates/lazyglm/tests/fuzz_corpora.rs`).

mod cache;
mod checkpoint;
#[cfg(feature = "parquet")]
mod columnar;
mod compressed;
mod limits;
mod model;
pub mod seeds;
mod stats;
mod strings;
mod tables;
mod text;

pub use cache::cache;
pub use checkpoint::checkpoint;
#[cfg(feature = "parquet")]
pub use columnar::columnar;
pub use compressed::compressed;
pub use limits::in_time;
pub use model::model;
pub use stats::stats;
pub use strings::strings;
pub use tables::tables;
pub use text::{csv, jsonl, svmlight, text, vw};

/// The name of a target, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("svmlight", svmlight),
    ("vw", vw),
    ("jsonl", jsonl),
    ("csv", csv),
    ("text", text),
    ("compressed", compressed),
    #[cfg(feature = "parquet")]
    ("columnar", columnar),
    ("cache", cache),
    ("model", model),
    ("checkpoint", checkpoint),
    ("strings", strings),
    ("tables", tables),
    ("stats", stats),
];

/// Bytes taken from the front of an input, which choose among options.
struct Choices<'a> {
    rest: &'a [u8],
}

impl<'a> Choices<'a> {
    fn of(rest: &'a [u8]) -> Choices<'a> {
        Choices { rest }
    }

    fn byte(&mut self) -> usize {
        let (first, rest) = self.rest.split_first().map_or((0, self.rest), |(first, rest)| (*first, rest));
        self.rest = rest;
        usize::from(first)
    }

    /// A number of two bytes, little-endian.
    fn number(&mut self) -> usize {
        self.byte() + 256 * self.byte()
    }

    /// Up to this many bytes.
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        taken
    }
}

/// Writes the input into a file of this process and thread, and calls `read` with its path.
fn in_file<T>(bytes: &[u8], read: impl FnOnce(&std::path::Path) -> T) -> T {
    thread_local! {
        static FOLDER: tempfile::TempDir = tempfile::tempdir().expect("a temporary folder");
    }
    FOLDER.with(|folder| {
        let path = folder.path().join("input");
        std::fs::write(&path, bytes).expect("a file in a temporary folder");
        read(&path)
    })
}
