//! Whether the tf-idf of counts predicts better than the counts: the lowest held-out loss on the middle ray of
//! penalties, for each of the two.
//!
//! Most weights of raw counts are those of a few long rows and frequent words. On text, tf-idf lowers the held-out loss by
//! several per cent, more than any choice of penalty or solver.

use super::heads::{SAMPLED_HEADS, sampled};
use super::job::Job;
use super::out_of_core::sample_for_scales;
use super::penalty_search::lowest_loss;
use super::progress::Progress;
use crate::problem::loss::Loss;
use crate::problem::settings::Settings;
use crate::problem::solvers::Solver;
use crate::problem::task::Task;
use crate::problem::windows::Windows;
use crate::util::error::Result;
use crate::util::parameter::Parameter;

/// The task with counts replaced by their tf-idf, and the held-out rows alike, if the held-out loss is lower then.
///
/// It tries this where `auto` chooses the penalty and the values are counts: text without idf, and whole positive numbers of
/// which a row has few. If they are all one, rows must have different numbers of them. In a table with columns of text, it tries idf for their terms. All other
/// tasks are to be learnt as they are: `None`.
///
/// ```
/// use lazyglm::{Settings, Solver, synth, train::tf_idf_if_better};
/// let task = synth::documents(&synth::Shape { rows: 300, features: 100, ..Default::default() }).task;
/// let given = Settings { solver: Solver::Auto, choose_penalty: false, ..Settings::default() };
/// let found = tf_idf_if_better(&task, None, &given, &mut |_| {}).unwrap();
/// assert!(found.is_none(), "with a given penalty, the values stay as they are");
/// ```
pub fn tf_idf_if_better(
    task: &Task,
    held_out: Option<&Task>,
    settings: &Settings,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Option<(Task, Option<Task>)>> {
    if !(is_open(settings, &*task.loss) && task.data.has_counts()) {
        return Ok(None);
    }
    let mut scaled = task.with_tf_idf(settings.precision)?;
    let Some(Better { losses: [counts, tf_idf], of_some }) = compare(task, &scaled, settings, watch) else {
        return Ok(None);
    };
    let keep = Parameter::Scale.set("none");
    scaled.notes.push(match task.data.has_terms() {
        true => format!(
            "terms of text are weighted by their idf: held-out loss{of_some} {tf_idf:.4}, without idf {counts:.4} ({keep} leaves it out)"
        ),
        false => format!(
            "counts are replaced by their tf-idf: held-out loss{of_some} {tf_idf:.4}, with the counts {counts:.4} ({keep} keeps them)"
        ),
    });
    let held_out =
        held_out.map(|held_out| held_out.clone().scaled_by(&scaled.data.features, settings.precision));
    Ok(Some((scaled, held_out)))
}

/// The task with each column of numbers of a table divided by its standard deviation, and the held-out rows alike, if the
/// held-out loss is lower then. It tries this where `auto` chooses the penalty and the units are far apart: the penalty
/// would otherwise leave out columns of small values, and keep those of large values.
///
/// ```
/// use lazyglm::{Settings, synth, train::scaled_numbers_if_better};
/// let task = synth::documents(&synth::Shape { rows: 300, features: 100, ..Default::default() }).task;
/// let found = scaled_numbers_if_better(&task, None, &Settings::default(), &mut |_| {}).unwrap();
/// assert!(found.is_none(), "these rows are no table");
/// ```
pub fn scaled_numbers_if_better(
    task: &Task,
    held_out: Option<&Task>,
    settings: &Settings,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Option<(Task, Option<Task>)>> {
    if !is_open(settings, &*task.loss) {
        return Ok(None);
    }
    let Some(mut scaled) = task.with_scaled_numbers(settings.precision)? else { return Ok(None) };
    let Some(Better { losses: [plain, by_std], of_some }) = compare(task, &scaled, settings, watch) else {
        return Ok(None);
    };
    let keep = Parameter::Scale.set("none");
    scaled.notes.push(format!(
        "numbers are divided by their standard deviation: held-out loss{of_some} {by_std:.4}, as they are {plain:.4} ({keep} keeps them)"
    ));
    let held_out =
        held_out.map(|held_out| held_out.clone().scaled_by(&scaled.data.features, settings.precision));
    Ok(Some((scaled, held_out)))
}

/// The held-out losses of values as they are and of scaled ones, which are lower.
struct Better {
    losses: [f64; 2],
    of_some: String, // of how many heads, if of some
}

/// Compares values as they are with scaled ones. `None` if these are no better.
fn compare(
    task: &Task,
    scaled: &Task,
    settings: &Settings,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Option<Better> {
    let some = [sampled(task), sampled(scaled)]; // of thousands of heads, a few tell which is better
    let both = [some[0].as_ref().unwrap_or(task), some[1].as_ref().unwrap_or(scaled)];
    let losses = lowest_loss(both, settings, watch)?;
    let of_some = some[0].as_ref().map_or_else(String::new, |_| format!(" of {SAMPLED_HEADS} heads"));
    (losses[1] < losses[0]).then_some(Better { losses, of_some })
}

/// [`tf_idf_if_better`], or else [`scaled_numbers_if_better`].
///
/// ```
/// use lazyglm::{Settings, synth, train::scaled_if_better};
/// let task = synth::documents(&synth::Shape { rows: 300, features: 100, ..Default::default() }).task;
/// let given = Settings { choose_penalty: false, ..Settings::default() };
/// assert!(scaled_if_better(&task, None, &given, &mut |_| {}).unwrap().is_none(), "with a given penalty, the values stay as they are");
/// ```
pub fn scaled_if_better(
    task: &Task,
    held_out: Option<&Task>,
    settings: &Settings,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Option<(Task, Option<Task>)>> {
    match tf_idf_if_better(task, held_out, settings, watch)? {
        None => scaled_numbers_if_better(task, held_out, settings, watch),
        found => Ok(found),
    }
}

/// Like [`scaled_if_better`] for rows on disk, compared on a sample of them that fits into memory. The held-out rows are in memory.
pub fn scaled_on_disk_if_better(
    windows: &mut Windows,
    held_out: &mut Option<Task>,
    settings: &Settings,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<()> {
    if !is_open(settings, &*windows.loss) {
        return Ok(());
    }
    let job = Job { problem: windows, validation: None, settings, beside: None };
    let Some(sample) = sample_for_scales(&job)? else { return Ok(()) };
    let scaled = match tf_idf_if_better(&sample, None, settings, watch)? {
        Some((scaled, _)) => {
            windows.scale_by_tf_idf()?;
            scaled
        }
        None => match scaled_numbers_if_better(&sample, None, settings, watch)? {
            Some((scaled, _)) if windows.scale_numbers()? => scaled,
            _ => return Ok(()),
        },
    };
    windows
        .notes
        .extend(scaled.notes.iter().map(|note| format!("{note}; on a sample of {} rows", sample.len())));
    *held_out = held_out.take().map(|held_out| held_out.scaled_by(&windows.features, settings.precision));
    Ok(())
}

/// Whether the scale of the values is a choice like the penalty.
fn is_open(settings: &Settings, loss: &dyn Loss) -> bool {
    let chosen = settings.solver == Solver::Auto && settings.choose_penalty;
    chosen && settings.has_one_penalty() && settings.start.is_none() && !loss.has_kinks()
}
