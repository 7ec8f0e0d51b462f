//! Windows, looked at from inside: every row once an epoch, and each where it was read.

use super::sizes::ROW;
use super::*;
use crate::problem::settings::Order;
use crate::problem::solvers::Solver;
use crate::problem::source::{Batch, Sequence, Source};
use crate::util::error::Error;
use std::fmt::Write;

const ROWS: usize = 60_000;

/// The features of row `k`: as the file has them, and in memory.
fn row(k: usize) -> Vec<(u32, f64)> {
    (0..5).map(|j| ((j * 37 + (k * 7 + j) % 36) as u32, (1 + (k + j) % 9) as f64 / 4.0)).collect()
}

/// Rows whose target is their number, with a line that is no row before every thousandth.
fn file(folder: &Path) -> PathBuf {
    let mut text = String::new();
    for k in 0..ROWS {
        text += if k % 1000 == 999 { "# a comment\n" } else { "" };
        let _ = write!(text, "{k}");
        row(k).iter().for_each(|(id, x)| _ = write!(text, " {}:{x}", id + 1));
        text.push('\n');
    }
    let path = folder.join("rows.svm");
    std::fs::write(&path, text).unwrap();
    path
}

fn open(file: &Path) -> Windows {
    let settings = Settings::default();
    let options = WindowsOptions { memory: 64 << 20, cache: CacheMode::Auto, ..WindowsOptions::default() };
    let stream = Windows::open(file, &options, &settings).unwrap();
    assert!(stream.fits() && stream.count() == 1);
    Windows { window: 120_000, ..stream } // as with less memory
}

/// The rows of each turn, in the order of the turn; that each is what was written is checked on the way.
fn seen(go: impl FnOnce(&mut dyn FnMut(&Batch) -> Result<()>) -> Result<()>) -> Vec<Vec<usize>> {
    let mut turns = Vec::new();
    go(&mut |turn| {
        let all: Vec<u32> = (0..turn.rows.len() as u32).collect();
        let order = if turn.order.is_empty() { &all } else { turn.order };
        let rows: Vec<usize> = order.iter().map(|&i| turn.examples().targets[i as usize] as usize).collect();
        for (&i, &k) in order.iter().zip(&rows) {
            let mut pairs = Vec::new();
            turn.rows.for_each(i as usize, |id, x| pairs.push((id as u32, x)));
            assert_eq!(pairs, row(k), "row {k}");
            assert_eq!((turn.place)(i as usize).line, Some((k + 1 + (k + 1) / 1000) as u64), "row {k}");
            assert_eq!((turn.number)(i as usize), k as u64);
        }
        turns.push(rows);
        Ok(())
    })
    .unwrap();
    turns
}

#[test]
fn an_epoch_has_every_row_once_and_a_pass_has_them_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path());
    let in_order: Vec<usize> = (0..ROWS).collect();
    for order in [Order::Shuffled, Order::Sequential] {
        let (stream, sequence) = (open(&file), Sequence { order, seed: 1 });
        assert!(stream.count() > 3, "{} windows", stream.count());
        for epoch in [0, 1, 5] {
            let turns = seen(|see| stream.epoch(sequence, epoch, see));
            assert!(turns.len() > 3);
            let mut rows = turns.concat();
            assert_eq!(rows == in_order, order == Order::Sequential);
            rows.sort_unstable();
            assert!(rows == in_order, "each row once");
        }
        assert!(seen(|see| stream.pass(see)).concat() == in_order);
        let first = seen(|see| stream.epoch(sequence, 0, see)).swap_remove(0);
        assert_eq!(seen(|see| stream.beginning(sequence, see)), [first]);
    }
}

#[test]
fn the_order_is_a_function_of_seed_and_epoch() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path());
    let order = |seed, epoch| {
        let (stream, sequence) = (open(&file), Sequence { order: Order::Shuffled, seed });
        seen(|see| stream.epoch(sequence, epoch, see)).concat()
    };
    assert_eq!(order(1, 0), order(1, 0));
    assert_ne!(order(1, 0), order(2, 0));
    assert_ne!(order(1, 0), order(1, 1));
}

#[test]
fn a_window_holds_no_more_than_it_may_and_comes_from_all_over_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (stream, sequence) = (open(&file(folder.path())), Sequence { order: Order::Shuffled, seed: 3 });
    let turns = seen(|see| stream.epoch(sequence, 0, see));
    let of_row = 5 + ROW / stream.bytes_of_value();
    for rows in &turns {
        assert!(rows.len() * of_row <= stream.window, "{} rows", rows.len());
    }
    // Neighbours in a shuffled window are far apart in the file.
    let apart =
        |rows: &[usize]| rows.windows(2).map(|two| two[0].abs_diff(two[1])).sum::<usize>() / rows.len();
    assert!(turns[..turns.len() - 1].iter().all(|rows| apart(rows) > ROW_GAP), "{:?}", turns.len());
}

/// Shuffling inside one fragment alone would give less.
const ROW_GAP: usize = 2500;

#[test]
fn a_seer_that_fails_ends_the_epoch() {
    let folder = tempfile::tempdir().unwrap();
    let (stream, sequence) = (open(&file(folder.path())), Sequence { order: Order::Shuffled, seed: 3 });
    let mut turns = 0;
    let ended = stream.epoch(sequence, 0, &mut |_| {
        turns += 1;
        if turns == 2 { Err(Error::call("enough", "stop")) } else { Ok(()) }
    });
    assert!(ended.unwrap_err().to_string().starts_with("enough"));
    assert_eq!(turns, 2);
}

#[test]
fn a_solver_that_wants_rows_twice_is_given_windows_sooner() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path());
    let options = WindowsOptions { memory: 64 << 20, cache: CacheMode::Auto, ..WindowsOptions::default() };
    let fits = |solver: Solver, choose_penalty: bool, copies: usize| {
        let settings = Settings { solver, choose_penalty, ..Settings::default() };
        let stream = Windows::open(&file, &options, &settings).unwrap();
        let rows = 5 * ROWS + ROWS * ROW / stream.bytes_of_value();
        // Just room for so many copies.
        Windows { window: copies * rows / 2, held: 0, ..stream }.fits()
    };
    for (solver, choose, copies) in [
        (Solver::Sgd, false, 1),
        (Solver::Newton, false, 2),
        (Solver::Auto, false, 2),
        (Solver::Auto, true, 3),
    ] {
        assert!(fits(solver, choose, copies), "{solver}");
        assert!(copies == 1 || !fits(solver, choose, copies - 1), "{solver}");
    }
}
