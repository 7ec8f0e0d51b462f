//! Blocks of bytes, parsed on all cores, handed on in the order of the file.
//!
//! Workers take turns at the source: one reads a block into a buffer of its own, the next one reads on while the first
//! parses. What comes out is put back into the order of the file, so the result is the same for any number of threads.
//! At most a few blocks are in the air: a slow consumer slows the reading down, and memory stays bounded.

use crate::error::Result;
use crate::format::{Parsed, Parser, Recipe};
use crate::source::{Block, Source};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Calls `see` with the rows of block after block, lines counted from the start of the file. Rows numbered in
/// `absent` are passed over; with any, or on one thread, everything happens in the caller's.
pub(crate) fn for_each(
    source: Source,
    skipped_lines: u64,
    recipe: &Recipe,
    file: &Path,
    absent: Vec<bool>,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<()> {
    match rayon::current_num_threads() {
        threads if threads > 1 && absent.is_empty() => {
            in_parallel(source, skipped_lines, recipe, file, threads, see)
        }
        _ => in_turn(source, skipped_lines, recipe, file, absent, see),
    }
}

fn in_turn(
    mut source: Source,
    mut lines: u64,
    recipe: &Recipe,
    file: &Path,
    absent: Vec<bool>,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<()> {
    let (mut block, mut parser) = (Block::default(), recipe.parser());
    let mut parsed = Parsed { absent, ..Parsed::default() };
    loop {
        let more = source.next(&mut block, &|bytes| recipe.whole(bytes));
        if !more.map_err(|e| e.further_down(lines))? {
            return Ok(());
        }
        parser.parse(block.bytes(), file, &mut parsed).map_err(|e| e.further_down(lines))?;
        lines += parsed.move_down(lines);
        see(&mut parsed)?;
        parsed.clear_rows();
    }
}

/// The source and how many blocks were taken from it.
struct Feed {
    source: Source,
    taken: usize,
    ended: bool,
}

/// Blocks that are parsed, or failed, and wait for their turn.
#[derive(Default)]
struct Ready {
    blocks: BTreeMap<usize, (Parsed, Result<()>)>,
    spare: Vec<Parsed>,
    seen: usize,        // blocks handed on
    end: Option<usize>, // how many blocks there are
    stop: bool,
}

struct Shared<'a> {
    feed: Mutex<Feed>,
    ready: Mutex<Ready>,
    change: Condvar,
    recipe: &'a Recipe,
    file: &'a Path,
    most: usize, // blocks in the air
}

fn in_parallel(
    source: Source,
    mut lines: u64,
    recipe: &Recipe,
    file: &Path,
    threads: usize,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<()> {
    let shared = Shared {
        feed: Mutex::new(Feed { source, taken: 0, ended: false }),
        ready: Mutex::default(),
        change: Condvar::new(),
        recipe,
        file,
        most: 2 * threads,
    };
    std::thread::scope(|scope| {
        let _stop = Stop(&shared); // also when `see` fails
        for _ in 0..threads {
            scope.spawn(|| {
                let stop = Stop(&shared);
                shared.work();
                std::mem::forget(stop); // only a panic stops the others
            });
        }
        while let Some((mut parsed, done)) = shared.wait_for_next() {
            done.map_err(|e| e.further_down(lines))?;
            lines += parsed.move_down(lines);
            see(&mut parsed)?;
            parsed.clear_all();
            shared.give_back(parsed);
        }
        Ok(())
    })
}

/// Says stop when it goes out of scope.
struct Stop<'a, 'b>(&'a Shared<'b>);

impl Drop for Stop<'_, '_> {
    fn drop(&mut self) {
        locked(&self.0.ready).stop = true;
        self.0.change.notify_all();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared<'_> {
    fn work(&self) {
        let (mut block, mut parser) = (Block::default(), self.recipe.parser());
        while self.wait_for_room() {
            let (number, taken) = {
                let mut feed = locked(&self.feed);
                if feed.ended {
                    return;
                }
                let taken = feed.source.next(&mut block, &|bytes| self.recipe.whole(bytes));
                feed.ended = !matches!(taken, Ok(true));
                feed.taken += 1;
                (feed.taken - 1, taken)
            };
            match taken {
                Ok(false) => {
                    locked(&self.ready).end = Some(number);
                    self.change.notify_all();
                }
                Ok(true) => self.parse(number, &block, &mut *parser),
                Err(e) => self.deliver(number, Parsed::default(), Err(e)),
            }
        }
    }

    fn parse(&self, number: usize, block: &Block, parser: &mut dyn Parser) {
        let mut parsed = locked(&self.ready).spare.pop().unwrap_or_default();
        let done = parser.parse(block.bytes(), self.file, &mut parsed);
        self.deliver(number, parsed, done);
    }

    fn deliver(&self, number: usize, parsed: Parsed, done: Result<()>) {
        locked(&self.ready).blocks.insert(number, (parsed, done));
        self.change.notify_all();
    }

    /// Until few enough blocks are in the air; false if all is to stop.
    fn wait_for_room(&self) -> bool {
        let mut ready = locked(&self.ready);
        while ready.blocks.len() >= self.most && !ready.stop {
            ready = self.change.wait(ready).unwrap_or_else(PoisonError::into_inner);
        }
        !ready.stop
    }

    fn wait_for_next(&self) -> Option<(Parsed, Result<()>)> {
        let mut ready = locked(&self.ready);
        loop {
            let next = ready.seen;
            if let Some(block) = ready.blocks.remove(&next) {
                ready.seen += 1;
                drop(ready);
                self.change.notify_all();
                return Some(block);
            }
            if ready.stop || ready.end == Some(next) {
                return None;
            }
            ready = self.change.wait(ready).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give_back(&self, parsed: Parsed) {
        locked(&self.ready).spare.push(parsed);
    }
}
