//! Two representations of the same rows, such as counts and their tf-idf: the lowest held-out loss of each on the middle ray.

use super::ray::{Descent, Walk};
use super::split::Split;
use super::{LEAST_ROWS, SHARE, Search, progress_of, units_of};
use crate::model::report::Tried;
use crate::problem::settings::Settings;
use crate::problem::task::Task;
use crate::train::fold::null;
use crate::train::progress::Progress;
use crate::train::told::told;

/// The lowest held-out loss on the middle ray, for two tasks with the same rows and other values. `None` if either has
/// nothing to search.
pub(in crate::train) fn lowest_loss(
    tasks: [&Task; 2],
    settings: &Settings,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Option<[f64; 2]> {
    let nulls = tasks.map(|task| null(task, settings.bias));
    let [first, second] = [0, 1].map(|k| units_of(tasks[k], &nulls[k]));
    let units = [first?, second?];
    let folds = tasks.map(|task| {
        let mut folds = Split::new(task, settings, SHARE / 4, LEAST_ROWS / 4).folds();
        folds.iter_mut().for_each(|fold| fold.purpose = "tf-idf");
        folds.truncate(2); // the same rows in both tasks: the difference is known better than either loss
        folds
    });
    if folds.iter().any(Vec::is_empty) {
        return None;
    }
    let race = |tell: &(dyn Fn(Tried) + Sync)| {
        let searches =
            [0, 1].map(|k| Search { task: tasks[k], settings, units: units[k], null: &nulls[k], tell });
        race([searches[0].walk(&folds[0], 0, None), searches[1].walk(&folds[1], 0, None)])
    };
    Some(told(race, &mut progress_of(watch))).filter(|_| !settings.interrupted())
}

/// The lowest loss of each of two walks down their rays, side by side. A walk ends early if the other one is far ahead.
fn race(mut walks: [Walk; 2]) -> [f64; 2] {
    let mut descents = [Descent::default(), Descent::default()];
    let mut beaten = [false; 2];
    loop {
        let [first, second] = &mut walks;
        let [down, other] = &mut descents;
        let (more, others) = rayon::join(|| down.step(first), || other.step(second));
        let lowest = [first.lowest(), second.lowest()];
        beaten[0] |= down.end_if_beaten(first, lowest[1]);
        beaten[1] |= other.end_if_beaten(second, lowest[0]);
        let go_on = [more && !beaten[0], others && !beaten[1]];
        if go_on == [false; 2] {
            break;
        }
    }
    let up = |walk: &mut Walk, best: i32, beaten: bool| {
        if !beaten {
            walk.climb(best, [-1, 1]);
        }
        walk.lowest()
    };
    let [first, second] = &mut walks;
    let both =
        rayon::join(|| up(first, descents[0].best, beaten[0]), || up(second, descents[1].best, beaten[1]));
    both.into()
}
