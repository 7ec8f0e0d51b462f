//! Parses blocks of bytes on all cores and returns the results in file order.
//!
//! Workers take turns at the source: one worker reads a block into its own buffer, and the next reads on
//! while the first parses. The results are put back into file order, so they do not depend on the number of
//! threads. Only a few blocks are in flight. A slow consumer therefore slows the reading down, and memory
//! stays bounded.

use crate::data::bytes::Block;
use crate::data::format::{Gathered, Parsed};
use crate::util::error::Result;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Reads the next block of bytes, one worker at a time. Returns false at the end.
pub(crate) type ReadBlock<'a> = dyn FnMut(&mut Block) -> Result<bool> + Send + 'a;

/// Parses rows from a block of bytes, given the number of the block.
pub(crate) type ParseBlock<'a> = dyn FnMut(usize, &Block, &mut Parsed) -> Result<()> + 'a;

/// A source of blocks, and a parser per worker.
pub(crate) struct Pipeline<'a> {
    pub read: Box<ReadBlock<'a>>,
    pub new_parser: &'a (dyn Fn() -> Box<ParseBlock<'a>> + Sync),
    pub lines_before: u64,
    pub as_f32: bool,   // whether to round values to f32
    pub threads: usize, // maximum number of threads
}

/// Calls `see` with the rows of each block, with line numbers from the start of the file.
///
/// Rows marked in `absent` are skipped. With any such row, or with one thread, everything runs on the
/// caller's thread.
pub(crate) fn for_each(
    pipeline: Pipeline,
    absent: Vec<bool>,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<()> {
    match rayon::current_num_threads().min(pipeline.threads) {
        threads if threads > 1 && absent.is_empty() => in_parallel(pipeline, threads, see),
        _ => in_turn(pipeline, absent, see),
    }
}

fn in_turn(
    mut pipeline: Pipeline,
    absent: Vec<bool>,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<()> {
    let (mut block, mut parse, mut lines) =
        (Block::default(), (pipeline.new_parser)(), pipeline.lines_before);
    let (mut parsed, mut wrong) = (Parsed { absent, ..Parsed::default() }, Gathered::default());
    if pipeline.as_f32 {
        parsed.rows.round_to_f32();
    }
    for number in 0.. {
        if !(pipeline.read)(&mut block).or_else(|e| wrong.end().and(Err(e.further_down(lines))))? {
            break;
        }
        let done = parse(number, &block, &mut parsed);
        let usable = wrong.block(&mut parsed, done, lines)?;
        lines += parsed.move_down(lines);
        if usable {
            see(&mut parsed)?;
        }
        parsed.clear_rows();
    }
    wrong.end()
}

/// The source and the number of blocks read from it.
struct Feed<'a> {
    read: Box<ReadBlock<'a>>,
    count: usize,
    ended: bool,
}

/// Blocks that are parsed, or failed, and wait to be returned in file order.
#[derive(Default)]
struct Ready {
    blocks: BTreeMap<usize, (Parsed, Result<()>)>,
    spare: Vec<Parsed>,
    seen: usize,        // number of blocks returned
    end: Option<usize>, // total number of blocks, once known
    stop: bool,
}

struct Shared<'a> {
    feed: Mutex<Feed<'a>>,
    ready: Mutex<Ready>,
    change: Condvar,
    new_parser: &'a (dyn Fn() -> Box<ParseBlock<'a>> + Sync),
    most: usize, // maximum number of blocks in flight
    as_f32: bool,
}

fn in_parallel(
    pipeline: Pipeline,
    threads: usize,
    see: &mut dyn FnMut(&mut Parsed) -> Result<()>,
) -> Result<()> {
    let (mut lines, mut wrong) = (pipeline.lines_before, Gathered::default());
    let shared = Shared {
        feed: Mutex::new(Feed { read: pipeline.read, count: 0, ended: false }),
        ready: Mutex::default(),
        change: Condvar::new(),
        new_parser: pipeline.new_parser,
        most: threads + 2,
        as_f32: pipeline.as_f32,
    };
    std::thread::scope(|scope| {
        let _stop = StopGuard(&shared); // also when `see` fails
        for _ in 0..threads {
            scope.spawn(|| {
                let stop = StopGuard(&shared);
                shared.work();
                std::mem::forget(stop); // only a panic of this worker stops the others
            });
        }
        while let Some((mut parsed, done)) = shared.wait_for_next() {
            let usable = wrong.block(&mut parsed, done, lines)?;
            lines += parsed.move_down(lines);
            if usable {
                see(&mut parsed)?;
            }
            parsed.clear_all();
            shared.give_back(parsed);
        }
        wrong.end()
    })
}

/// Stops all workers when it is dropped.
struct StopGuard<'a, 'b>(&'a Shared<'b>);

impl Drop for StopGuard<'_, '_> {
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
        let (mut block, mut parse) = (Block::default(), (self.new_parser)());
        while self.wait_for_room() {
            let (number, found) = {
                let mut feed = locked(&self.feed);
                if feed.ended {
                    return;
                }
                let found = (feed.read)(&mut block);
                feed.ended = !matches!(found, Ok(true));
                feed.count += 1;
                (feed.count - 1, found)
            };
            match found {
                Ok(false) => {
                    locked(&self.ready).end = Some(number);
                    self.change.notify_all();
                }
                Ok(true) => self.parse(number, &block, &mut *parse),
                Err(e) => self.deliver(number, Parsed::default(), Err(e)),
            }
        }
    }

    fn parse(&self, number: usize, block: &Block, parse: &mut ParseBlock) {
        let mut parsed = locked(&self.ready).spare.pop().unwrap_or_default();
        if self.as_f32 {
            parsed.rows.round_to_f32();
        }
        let done = parse(number, block, &mut parsed);
        self.deliver(number, parsed, done);
    }

    fn deliver(&self, number: usize, parsed: Parsed, done: Result<()>) {
        locked(&self.ready).blocks.insert(number, (parsed, done));
        self.change.notify_all();
    }

    /// Waits until few enough blocks are in flight. Returns false if the workers should stop.
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
