//! Scores that threads exchange row by row, each those of its own classes.
//!
//! ```text
//! row k     write own scores into buffer k mod 2;  done ← k + 1
//!           wait until done > k at every desk, or until end ≤ k: then all stop before row k
//!           read the scores of the others
//! ```
//!
//! A thread writes row k + 2 after all have published row k + 1, hence after all have read row k, whose buffer it is.
//! A thread that waits for long sets `end` to k + 1: on a busy machine, one thread alone is faster than several in step.
//! No thread publishes a row from `end` on, so all threads stop before the same row.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Number of looks at another thread's desk before a thread gives up the exchange: about a tenth of a millisecond.
const PATIENCE: usize = 1 << 12;

/// The desks of all threads.
pub(super) struct Exchange {
    desks: Vec<Desk>,
    end: AtomicUsize,
}

/// The scores that one thread publishes, in cache lines of its own.
#[repr(align(128))]
struct Desk {
    done: AtomicUsize, // number of rows published
    scores: [Vec<AtomicU64>; 2],
}

impl Exchange {
    /// One desk per number of classes.
    pub fn new(classes: impl Iterator<Item = usize>) -> Exchange {
        let buffer = |classes: usize| (0..classes).map(|_| AtomicU64::new(0)).collect();
        let desk = |classes| Desk { done: AtomicUsize::new(0), scores: [buffer(classes), buffer(classes)] };
        Exchange { desks: classes.map(desk).collect(), end: AtomicUsize::new(usize::MAX) }
    }

    /// The seat of one thread.
    pub fn seat(&self, own: usize) -> Seat<'_> {
        Seat { exchange: self, own, row: 0 }
    }
}

/// A thread at its desk. If it leaves, or panics, the others stop at the same row.
pub(super) struct Seat<'a> {
    exchange: &'a Exchange,
    own: usize,
    row: usize, // number of rows exchanged
}

impl Seat<'_> {
    /// Publishes the own scores of the next row, and fills in those of the others. `size` is the number of non-zeros of the row,
    /// for which the others may need some time. Returns false if all threads stop before this row.
    pub fn swap(&mut self, scores: &mut [f64], size: usize) -> bool {
        let Exchange { desks, end } = self.exchange;
        let (row, buffer) = (self.row, self.row % 2);
        if end.load(Ordering::Acquire) <= row {
            return false;
        }
        let mut rest = &mut *scores;
        for (at, desk) in desks.iter().enumerate() {
            let Some(scores) = rest.split_off_mut(..desk.scores[buffer].len()) else { return false };
            if at == self.own {
                let published = desk.scores[buffer].iter().zip(scores);
                published.for_each(|(to, score)| to.store(score.to_bits(), Ordering::Relaxed));
                desk.done.store(row + 1, Ordering::Release);
            }
        }
        let mut rest = scores;
        for (at, desk) in desks.iter().enumerate() {
            let Some(scores) = rest.split_off_mut(..desk.scores[buffer].len()) else { return false };
            if at != self.own {
                if !self.wait_for(desk, PATIENCE + size) {
                    return false;
                }
                let published = desk.scores[buffer].iter().zip(scores);
                published.for_each(|(from, score)| *score = f64::from_bits(from.load(Ordering::Relaxed)));
            }
        }
        self.row += 1;
        true
    }

    fn wait_for(&self, desk: &Desk, patience: usize) -> bool {
        let end = &self.exchange.end;
        let mut looks = 0;
        while desk.done.load(Ordering::Acquire) <= self.row {
            if end.load(Ordering::Acquire) <= self.row {
                return false;
            }
            if looks < patience {
                std::hint::spin_loop();
            } else {
                end.fetch_min(self.row + 1, Ordering::AcqRel);
                std::thread::yield_now();
            }
            looks += 1;
        }
        true
    }

    /// The number of classes of all threads.
    pub fn classes(&self) -> usize {
        self.exchange.desks.iter().map(|desk| desk.scores[0].len()).sum()
    }

    /// The number of rows exchanged.
    #[cfg(test)]
    pub fn rows(&self) -> usize {
        self.row
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.exchange.end.fetch_min(self.row, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Lets three threads exchange `rows` rows; thread 1 does `before` first at each row. Returns what each saw last, and rows.
    fn exchanged(rows: usize, before: impl Fn(usize) + Sync) -> Vec<(Vec<f64>, usize)> {
        let exchange = Exchange::new([2, 1, 3].into_iter());
        let one = |own: usize| {
            let mut seat = exchange.seat(own);
            let mut seen = Vec::new();
            for row in 0..rows {
                if own == 1 {
                    before(row);
                }
                let mut scores = [f64::NAN; 6];
                let first = [0, 2, 3, 6];
                scores[first[own]..first[own + 1]].fill((10 * row + own) as f64);
                if !seat.swap(&mut scores, 0) {
                    break;
                }
                seen = scores.to_vec();
            }
            (seen, seat.rows())
        };
        std::thread::scope(|scope| {
            let threads = [0, 1, 2].map(|own| scope.spawn(move || one(own)));
            threads.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
        })
    }

    fn at(row: usize) -> Vec<f64> {
        [0, 0, 1, 2, 2, 2].map(|own| (10 * row + own) as f64).to_vec()
    }

    #[test]
    fn all_threads_see_all_scores_and_stop_before_the_same_row() {
        for _ in 0..50 {
            let found = exchanged(200, |_| {});
            let rows = found[0].1; // fewer than 200 if the machine is busy
            assert!(rows > 0);
            assert!(found.iter().all(|(seen, count)| *count == rows && *seen == at(rows - 1)), "{found:?}");
        }
    }

    #[test]
    fn a_thread_that_is_late_ends_the_exchange() {
        let found = exchanged(200, |row| {
            if row == 3 {
                std::thread::sleep(Duration::from_millis(300));
            }
        });
        let rows = found[0].1;
        assert!((1..=4).contains(&rows), "{rows}");
        assert!(found.iter().all(|(seen, count)| *count == rows && *seen == at(rows - 1)), "{found:?}");
    }

    #[test]
    fn a_thread_that_panics_stops_the_others() {
        let found = exchanged(200, |row| assert!(row < 3, "on purpose"));
        assert!(found[0].1 <= 3 && found[0].1 == found[2].1, "{found:?}");
    }
}
