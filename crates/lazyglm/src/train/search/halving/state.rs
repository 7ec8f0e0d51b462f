//! The groups of a grid search, and their state for a checkpoint.

use super::{Dropped, FoldScore, Halving, Search};
use crate::train::search::Point;
use crate::train::units::Unit;
use crate::util::error::Result;
use crate::util::state::{Fields, State};

impl State for Halving<'_> {
    fn fields(&mut self, fields: &mut Fields) {
        let mut marks: Vec<FoldScore> = self.marks.values().copied().collect();
        marks.sort_by_key(|mark| (mark.point, mark.fold));
        marks.fields(fields);
        self.marks = marks.into_iter().map(|mark| ((mark.point, mark.fold), mark)).collect();
        fields.fixed(&mut self.epochs);
        fields.fixed(&mut self.out);
    }
}

impl State for Dropped {
    fn fields(&mut self, fields: &mut Fields) {
        let (mut diverged, mut epochs, mut of_fold, mut place) = match *self {
            Dropped::Hopeless(epochs) => (false, epochs, 0, None),
            Dropped::Diverged { fold, at } => (true, 0.0, fold, at),
        };
        diverged.fields(fields);
        epochs.fields(fields);
        of_fold.fields(fields);
        place.fields(fields);
        *self = match diverged {
            false => Dropped::Hopeless(epochs),
            true => Dropped::Diverged { fold: of_fold, at: place },
        };
    }
}

impl Default for Dropped {
    fn default() -> Dropped {
        Dropped::Hopeless(0.0)
    }
}

/// The place of a group of blocks in the checkpoint, if there is one.
pub(super) fn unit(search: &Search, group: &[(usize, Vec<usize>)]) -> Result<Option<Unit>> {
    let Some(unit) = Unit::of(search.settings, "grid", search.task, None)? else { return Ok(None) };
    let key = unit.key.and_key(search.held.key(search.task.len())?).and(u64::from(search.halving));
    let numbers = |point: &Point| [point.penalty.l1, point.penalty.l2, point.eta0];
    let key = key.and_numbers(&search.points.iter().flat_map(numbers).collect::<Vec<_>>());
    let key = group.iter().fold(key, |key, (fold, points)| key.and(*fold as u64).and_positions(points));
    Ok(Some(Unit { key, ..unit }))
}

/// Splits the lanes, as fold and points of each block, into groups that fit into memory.
pub(super) fn groups(search: &Search) -> Vec<Vec<(usize, Vec<usize>)>> {
    let width = search.settings.precision;
    let columns = search.task.data.rows.columns();
    let all: Vec<usize> = (0..search.points.len()).collect();
    let mut groups: Vec<Vec<(usize, Vec<usize>)>> = vec![Vec::new()];
    let mut used = 0;
    for fold in 0..search.held.folds() {
        for points in all.chunks(width.most_lanes()) {
            let bytes = columns * width.lane_bytes(points.len());
            if used + bytes > search.memory && used > 0 {
                groups.push(Vec::new());
                used = 0;
            }
            used += bytes;
            groups.last_mut().into_iter().for_each(|group| group.push((fold, points.to_vec())));
        }
    }
    groups
}
