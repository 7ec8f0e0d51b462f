//! Passes over rows on disk: groups fragments into windows, and reads the next window while the current one is in use.

use super::Windows;
use crate::data::bytes::Block;
use crate::data::cache::Scratch;
use crate::data::format::{Lines, Parsed};
use crate::data::rows::Rows;
use crate::problem::source::{About, Batch, Pooled, Problem, See, Sequence, Source};
use crate::problem::task::{HeadTargets, Sets, Targets, TargetsRef, Unknown, check_offsets};
use crate::util::checkpoint::Key;
use crate::util::error::{Error, Place, Result};
use crate::util::parameter::Parameter;
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{MutexGuard, PoisonError};

impl Windows {
    /// The fragments in the order of an epoch.
    pub(super) fn fragments(&self, sequence: Sequence, epoch: u64) -> Vec<u32> {
        sequence.rows(self.cache().parts.len(), epoch)
    }

    /// Groups fragments, in this order, into windows of limited size.
    pub(super) fn groups(&self, fragments: &[u32]) -> Vec<Vec<u32>> {
        let (mut groups, mut filled) = (vec![Vec::new()], 0);
        for &part in fragments {
            let of_part = &self.cache().parts[part as usize];
            let size = of_part.nonzeros + of_part.rows * self.of_row / self.bytes_of_value();
            if filled > 0 && filled + size > self.window {
                groups.push(Vec::new());
                filled = 0;
            }
            filled += size;
            if let Some(group) = groups.last_mut() {
                group.push(part);
            }
        }
        groups
    }

    /// Reads and decodes the fragments of a window in parallel.
    fn fill(&self, parts: &[u32], window: &mut Window) -> Result<()> {
        window.clear();
        // Reserves the largest possible window once: untouched pages take no memory, and arrays that grow would exist twice for
        // a moment.
        let rows = (self.window * self.bytes_of_value() / self.of_row).min(self.rows());
        let nonzeros = self.window.min(self.cache().meta.nonzeros);
        window.rows.reserve(rows, nonzeros, self.four_bytes);
        window.targets.reserve_exact(if self.targets.heads().is_none() { rows } else { 0 });
        window.offsets.reserve_exact(if self.has_offsets() { rows } else { 0 });
        for some in parts.chunks(2 * self.pool.current_num_threads()) {
            let decode = || {
                some.par_iter()
                    .map_init(Scratch::default, |scratch, &part| self.fragment(part as usize, scratch))
                    .collect()
            };
            let decoded: Vec<Result<Parsed>> = self.pool.install(decode);
            for (&part, parsed) in some.iter().zip(decoded) {
                self.append(parsed?, self.first_rows[part as usize], window)?;
            }
        }
        window.rows.declare_columns(self.features.columns());
        Ok(())
    }

    fn fragment(&self, part: usize, scratch: &mut Scratch) -> Result<Parsed> {
        let (mut block, mut parsed) = (Block::default(), Parsed::default());
        if self.as_f32 {
            parsed.rows.round_to_f32();
        }
        self.cache().read(part, &mut block)?;
        self.cache().decode(part, block.bytes(), &mut parsed, scratch)?;
        self.features.to_columns(&mut parsed.rows)?;
        self.features.scaling.apply(&mut parsed.rows, self.as_f32);
        Ok(parsed)
    }

    /// Appends the rows of a fragment, the first of which has this number in the data.
    fn append(&self, parsed: Parsed, number: u64, window: &mut Window) -> Result<()> {
        let place = |i: usize| Place::file(&self.file).line(parsed.lines.of(i));
        let (first, rows) = (window.rows.len(), parsed.rows.len());
        let targets = self.targets_of(&parsed, &place)?;
        if self.weighted {
            let class = |i: usize| match &targets.heads() {
                Some(heads) => heads.sets.of(i)[0] as usize, // there are class weights: a row has one class
                None => usize::from(targets.numbers()[i] > 0.0),
            };
            let weight = |i: usize| {
                let own = parsed.weights.get(i).copied().unwrap_or(1.0);
                own * self.of_class.as_ref().map_or(1.0, |of| of[class(i)]) / self.mean_weight
            };
            window.weights.extend((0..rows).map(weight));
        }
        if self.has_offsets() {
            let offsets: Vec<f64> = (0..rows).map(|i| parsed.offset(i)).collect();
            check_offsets(&offsets, &place)?;
            window.offsets.extend(offsets);
        }
        window.rows.append(&parsed.rows, self.as_f32).map_err(|row| {
            let what = "a value is too large for f32 (3.4e38)";
            let hint = format!("scale the feature down, or use {}", Parameter::Precision.set("f64"));
            Error::data(place(row), what, hint)
        })?;
        window.lines.push((first, parsed.lines, number));
        match targets.heads() {
            Some(HeadTargets { sets, .. }) => window.sets.append(sets),
            None => window.targets.extend(targets.numbers()),
        }
        Ok(())
    }

    /// The targets of the rows of a fragment, of the kind that the survey found.
    fn targets_of(&self, parsed: &Parsed, place: &dyn Fn(usize) -> Place) -> Result<Targets> {
        let mut unknown = Unknown::default();
        let targets = self.targets.like(&parsed.labels, &*self.loss, place, &mut unknown)?;
        match unknown.rows.first() {
            None => Ok(targets),
            Some(&row) => {
                let what = "the row has a label that it did not have before: the file has changed";
                Err(Error::data(place(row), what, "run the command again"))
            }
        }
    }

    /// Calls `see` with one window after the other, and reads the next window in the meantime.
    fn for_each(&self, groups: &[Vec<u32>], see: &mut dyn FnMut(usize, &Window) -> Result<()>) -> Result<()> {
        std::thread::scope(|scope| {
            let (full, filled): (SyncSender<Result<Window>>, Receiver<_>) = sync_channel(0);
            scope.spawn(move || {
                for parts in groups {
                    let mut window = self.spare().pop().unwrap_or_default();
                    let done = self.fill(parts, &mut window).map(|()| window);
                    if full.send(done).is_err() {
                        return; // the receiver is gone
                    }
                }
            });
            for (number, window) in filled.iter().enumerate() {
                let window = window?;
                see(number, &window)?;
                self.spare().push(window);
            }
            Ok(())
        })
    }

    /// Windows whose memory can be reused.
    fn spare(&self) -> MutexGuard<'_, Vec<Window>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, window: &Window, order: &[u32], see: &mut See) -> Result<()> {
        let place = |i: usize| {
            let (first, lines, _) = window.fragment_of(i);
            Place::file(&self.file).line(lines.of(i - first))
        };
        let number = |i: usize| {
            let (first, _, number) = window.fragment_of(i);
            number + (i - first) as u64
        };
        see(&Batch {
            rows: window.rows.borrow(),
            targets: match self.targets.heads() {
                Some(_) => TargetsRef::Sets(&window.sets),
                None => TargetsRef::Numbers(&window.targets),
            },
            weights: self.weighted.then_some(window.weights.as_slice()),
            offsets: self.has_offsets().then_some(window.offsets.as_slice()),
            order,
            place: &place,
            number: &number,
        })
    }

    /// The order of rows in the window with this number.
    fn order_in(&self, window: &Window, number: usize, sequence: Sequence, epoch: u64) -> Vec<u32> {
        let seed = sequence.seed ^ (number as u64 + 1).rotate_left(32);
        Sequence { seed, ..sequence }.rows(window.rows.len(), epoch)
    }
}

/// Rows of several fragments.
#[derive(Default)]
pub(super) struct Window {
    rows: Rows,
    targets: Vec<f64>,
    sets: Sets, // instead of targets, if there are classes or labels
    weights: Vec<f64>,
    offsets: Vec<f64>,
    lines: Vec<(usize, Lines, u64)>, // per fragment: its first row in the window, the lines of its rows, the number of its first row
}

impl Window {
    /// The fragment of a row: its first row in the window, the lines of its rows, and the number of its first row in the data.
    fn fragment_of(&self, i: usize) -> &(usize, Lines, u64) {
        &self.lines[self.lines.partition_point(|(first, ..)| *first <= i) - 1]
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.targets.clear();
        self.sets.clear();
        self.weights.clear();
        self.offsets.clear();
        self.lines.clear();
    }
}

impl Source for Windows {
    fn rows(&self) -> usize {
        self.cache().meta.rows
    }

    fn epoch(&self, sequence: Sequence, epoch: u64, see: &mut See) -> Result<()> {
        let groups = self.groups(&self.fragments(sequence, epoch));
        self.for_each(&groups, &mut |number, window| {
            self.show(window, &self.order_in(window, number, sequence, epoch), see)
        })
    }

    fn pass(&self, see: &mut See) -> Result<()> {
        let all: Vec<u32> = (0..self.cache().parts.len() as u32).collect();
        self.for_each(&self.groups(&all), &mut |_, window| self.show(window, &[], see))
    }

    /// The checksums of the cache, and how its rows are read: no pass is needed.
    fn fingerprint(&self) -> Result<Key> {
        let key = self.cache().checksums().fold(Key::of("windows"), Key::and);
        let numbers = [self.mean_weight, self.window as f64, f64::from(u8::from(self.as_f32))];
        let key = key.and(self.features.columns() as u64).and_numbers(&numbers);
        let key = key.and_numbers(self.features.scaling.idf.as_deref().unwrap_or_default());
        Ok(key.and_numbers(self.of_class.as_deref().unwrap_or_default()))
    }
}

impl Problem for Windows {
    fn about(&self) -> About<'_> {
        let meta = &self.cache().meta;
        About {
            loss: &self.loss,
            targets: &self.targets,
            features: &self.features,
            reading: &meta.reading,
            weighted: self.weighted,
            offsets: meta.offsets,
        }
    }

    fn occurring(&self) -> Cow<'_, [bool]> {
        Cow::Borrowed(&self.occurs)
    }

    fn nonzeros(&self) -> usize {
        // The memory plan has room for two partial gradients of an evaluation, not more.
        self.cache().meta.nonzeros.min(16 * self.features.columns())
    }

    fn pooled(&self) -> Vec<Pooled> {
        self.pooled.clone()
    }

    fn beginning(&self, sequence: Sequence, see: &mut See) -> Result<()> {
        let groups = self.groups(&self.fragments(sequence, 0));
        self.for_each(&groups[..1], &mut |number, window| {
            self.show(window, &self.order_in(window, number, sequence, 0), see)
        })
    }

    fn file(&self) -> Place {
        Place::file(&self.file)
    }

    fn spare_memory(&self) -> usize {
        self.held
    }
}
