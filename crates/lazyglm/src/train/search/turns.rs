//! Work in pieces on a few items, such as blocks of lanes, that keeps all threads busy to the end.
//!
//! ```text
//! three items of four pieces on two threads      A1 B1 · C1 A2 · B2 C2 · A3 B3 · C3 A4 · B4 C4
//! ```
//!
//! The pieces of an item follow each other, so the result does not depend on the number of threads. Item by item, the third would
//! have one thread wait.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Number of pieces of each item: a thread waits for at most one piece at the end.
pub(super) const PIECES: usize = 4;

/// Calls `work` with each item and its pieces `0..PIECES` in order, on all threads of the current pool.
pub(super) fn in_turns<T: Send>(items: impl Iterator<Item = T>, work: impl Fn(&mut T, usize) + Sync) {
    let waiting: Mutex<VecDeque<(T, usize)>> = Mutex::new(items.map(|item| (item, 0)).collect());
    let locked = || waiting.lock().unwrap_or_else(PoisonError::into_inner);
    let threads = rayon::current_num_threads().min(locked().len());
    let take_turns = || {
        let mut next = locked().pop_front();
        // Without a waiting item, the other threads have all that are left, and this thread ends.
        while let Some((mut item, piece)) = next {
            work(&mut item, piece);
            let mut waiting = locked();
            if piece + 1 < PIECES {
                waiting.push_back((item, piece + 1));
            }
            next = waiting.pop_front();
        }
    };
    rayon::scope(|scope| (0..threads).for_each(|_| scope.spawn(|_| take_turns())));
}

/// A piece of a slice, of `PIECES` of nearly the same length.
pub(super) fn piece<T>(all: &[T], piece: usize) -> &[T] {
    let at = |piece: usize| all.len() * piece / PIECES;
    &all[at(piece)..at(piece + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn pieces_are_in_order_and_threads_share_the_last_items() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let (mut seen, both) = ([const { Vec::new() }; 3], Barrier::new(2));
        // Two threads meet before each piece: item by item, the third would wait for ever.
        pool.install(|| {
            in_turns(seen.iter_mut(), |seen, piece| {
                both.wait();
                seen.push(piece);
            });
        });
        assert_eq!(seen, [[0, 1, 2, 3]; 3]);
    }

    #[test]
    fn the_pieces_of_a_slice_are_the_slice() {
        for length in 0..20 {
            let all: Vec<usize> = (0..length).collect();
            let pieces: Vec<&[usize]> = (0..PIECES).map(|k| piece(&all, k)).collect();
            assert_eq!(pieces.concat(), all);
            assert!(pieces.iter().all(|piece| piece.len().abs_diff(length / PIECES) <= 1));
        }
    }
}
