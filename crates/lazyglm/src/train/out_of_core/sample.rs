//! A sample of the rows, which fits into memory: how frequent each column is, and where to start.

use super::room::{Room, of_target};
use crate::data::rows::{Examples, RowsRef, ValuesRef};
use crate::optim::newton::{self, Options, Problem};
use crate::train::job::Job;
use crate::train::units::once;
use crate::util::checkpoint::Key;
use crate::util::error::Result;

/// The sample has one row in this many, if that is not too few or more than one window.
const ONE_IN: usize = 16;
/// The smallest number of rows.
const LEAST: usize = 4096;
/// Memory of Newton's method on the sample, in bytes per non-zero and per row.
const NONZERO: usize = 24;
const ROW: usize = 112;
/// Tolerance and largest number of steps on the sample.
const ROUGHLY: Options = Options { tolerance: 1e-2, steps: 30 };

/// Weights and bias to start from, and the memory for columns.
pub(super) fn look(job: &Job) -> Result<(Vec<f64>, f64, Room)> {
    let (settings, rows) = (job.settings, job.problem.rows());
    let (mut weights, mut bias) = (vec![0.0; job.columns()], 0.0);
    let bytes = job.problem.spare_memory();
    let extras = usize::from(job.problem.is_weighted()) + usize::from(job.problem.has_offsets());
    let mut room = Room::new(bytes, rows, [of_target(job.problem.targets()), extras], job.columns());
    job.problem.beginning(job.sequence(), &mut |batch| {
        room.see(batch.rows);
        if settings.start.is_none() {
            let examples = first_rows(batch.examples(), (rows / ONE_IN).max(LEAST), room.bytes);
            if examples.is_empty() {
                return Ok(());
            }
            let weighted_penalty = settings.weighted_penalty();
            let problem = Problem { examples, loss: job.loss(), weighted_penalty, bias: settings.bias };
            let key = || {
                let key = Key::of("sample").and_key(settings.key()).and_key(job.problem.fingerprint()?);
                Ok(key.and(examples.len() as u64))
            };
            let solve = || Some(newton::solve(&problem, None, &ROUGHLY, &mut |_| !settings.interrupted()));
            let found = once(settings, key, solve)?.filter(|found| found.weights.len() == job.columns());
            let Some(found) = found else { return Ok(()) };
            if found.bias.is_finite() && found.weights.iter().all(|w| w.is_finite()) {
                (weights, bias) = (found.weights, found.bias);
            }
        }
        Ok(())
    })?;
    if let Some(start) = &settings.start {
        (weights, bias) = (start.weights.clone(), start.bias);
    }
    let weighted_penalty = settings.weighted_penalty();
    weights.iter_mut().enumerate().for_each(|(j, w)| *w = weighted_penalty.one(j).clip(*w));
    Ok((weights, if settings.bias { bias } else { 0.0 }, room))
}

/// The first rows of a window: at most `most`, and no more than Newton's method can solve in the memory.
fn first_rows<'a>(examples: Examples<'a>, most: usize, memory: usize) -> Examples<'a> {
    let offsets = examples.rows.offsets();
    let fits = |rows: usize| rows <= most && NONZERO * offsets[rows] + ROW * rows <= memory;
    let rows = (0..=examples.len()).collect::<Vec<_>>().partition_point(|&rows| fits(rows)).max(1) - 1;
    let (ids, end) = (examples.rows.ids(), offsets[rows]);
    let values = match examples.rows.values() {
        ValuesRef::F32(values) => ValuesRef::F32(&values[..end]),
        ValuesRef::F64(values) => ValuesRef::F64(&values[..end]),
    };
    let some = RowsRef::trusted(&offsets[..=rows], &ids[..end], values, examples.rows.columns());
    let [weights, offsets] = [examples.weights, examples.offsets].map(|all| all.map(|all| &all[..rows]));
    Examples { rows: some, targets: &examples.targets[..rows], weights, offsets }
}
