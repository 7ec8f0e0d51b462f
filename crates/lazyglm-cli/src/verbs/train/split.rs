//! Rows held out by `--validation SHARE`.

use lazyglm::util::random::Random;
use lazyglm::{Error, Result, Task};

/// Splits row numbers into training and held-out rows; the split depends on the seed alone.
fn split_rows(rows: usize, share: f64, seed: u64) -> Result<(Vec<usize>, Vec<usize>)> {
    let held = (rows as f64 * share).round() as usize;
    if held == 0 || held == rows {
        return Err(Error::call(
            format!("--validation {share} of {rows} rows leaves none on one side"),
            "give another share, or a file",
        ));
    }
    let mut numbers: Vec<usize> = (0..rows).collect();
    Random::new(seed ^ 0x5EED_0F5E_7A51_DE00).shuffle(&mut numbers);
    let (held_out, kept) = numbers.split_at_mut(held);
    held_out.sort_unstable();
    kept.sort_unstable();
    Ok((kept.to_vec(), held_out.to_vec()))
}

/// Splits a task into training and held-out rows.
pub(super) fn split(task: &Task, share: f64, seed: u64) -> Result<(Task, Task)> {
    let (kept, held_out) = split_rows(task.len(), share, seed)?;
    let kept = task.select(&kept);
    if task.targets.classes().is_some() && kept.numbers().iter().all(|y| *y == kept.numbers()[0]) {
        let what = format!("--validation {share} leaves rows of one class only to learn from");
        return Err(Error::data(
            task.data.file(),
            what,
            "give another share or --seed, or a file of held-out rows",
        ));
    }
    Ok((kept, task.select(&held_out)))
}
