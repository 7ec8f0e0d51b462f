//! Parquet files, Arrow files and Arrow streams: any bytes are rows or an error.
//!
//! The first byte of an input chooses reading options. The decoders are other people's code, which panics on some damaged
//! files. The library turns such a panic into an error, so its message is printed only if the panic comes through.

use super::limits::limited;
use super::text::columns;
use super::{Choices, in_file};
use lazyglm::data::dataset::for_each_block;
use lazyglm::{Error, ReadOptions};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// Memory for a file of no length: a batch of rows may have a million equal items (`page_checks.rs`), which are decoded,
/// named and kept.
const CONSTANT: usize = 64 << 20;
/// Rows after which a file is left: a few bytes can say, correctly, that a value repeats a billion times.
const ROWS: usize = 1 << 18;

thread_local! {
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Any bytes as a Parquet or Arrow file.
pub fn columnar(bytes: &[u8]) {
    keep_quiet();
    let mut choices = Choices::of(bytes);
    let asked = ReadOptions { format: Some("parquet".into()), ..columns(choices.byte()) };
    let file = choices.rest;
    in_file(file, |path| {
        let mut rows = 0;
        let read = || {
            for_each_block(path, &asked, None, |block| {
                rows += block.rows.len();
                let enough = || Error::call("enough rows", "read the next file");
                if rows > ROWS { Err(enough()) } else { Ok(()) }
            })
        };
        let read = AssertUnwindSafe(|| drop(limited(file.len(), CONSTANT, read)));
        if catch_unwind(read).is_err() {
            panic!("{}", LAST_PANIC.take());
        }
    });
}

/// Keeps the messages of panics of other crates; libFuzzer's own hook would end the process.
fn keep_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let others = |file: &str| file.contains("/registry/") || file.contains("/library/");
            match panic.location().is_some_and(|place| others(place.file())) {
                true => LAST_PANIC.set(panic.to_string()),
                false => before(panic),
            }
        }));
    });
}
