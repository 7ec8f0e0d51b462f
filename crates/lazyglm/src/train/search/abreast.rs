//! Work in steps on all threads: of all that wait, the work with the fewest steps goes next.
//!
//! ```text
//! next        argmin steps made, the first in the list among equals
//! invariant   one job per work that waits, and a job takes whichever work is next
//! ```
//!
//! So whenever the work ends, all of it is about equally far. A thread that waits inside a step may take a step of
//! other work, and never more than that one.

use rayon::Scope;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One work, its place in the list, and the steps that it has made.
struct Turn<T> {
    steps: usize,
    place: usize,
    work: T,
}

/// Works that wait for their next step, and the results of those that have ended.
struct Abreast<T, R, S, E> {
    waiting: Mutex<Vec<Turn<T>>>,
    ended: Mutex<Vec<(usize, R)>>,
    step: S,
    end: E,
}

/// Repeats `step` on each work until it returns false, then makes its result by `end`. Returns the results in the order of the
/// works.
pub(super) fn abreast<T: Send, R: Send>(
    works: Vec<T>,
    step: impl Fn(&mut T) -> bool + Sync,
    end: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let count = works.len();
    let waiting = works.into_iter().enumerate().map(|(place, work)| Turn { steps: 0, place, work }).collect();
    let all = Abreast { waiting: Mutex::new(waiting), ended: Mutex::default(), step, end };
    rayon::scope(|scope| (0..count).for_each(|_| scope.spawn(|scope| all.go_on(scope))));
    let mut ended = all.ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    ended.sort_by_key(|(place, _)| *place);
    ended.into_iter().map(|(_, result)| result).collect()
}

impl<T: Send, R: Send, S: Fn(&mut T) -> bool + Sync, E: Fn(T) -> R + Sync> Abreast<T, R, S, E> {
    /// Makes one step of the work that is next.
    fn go_on<'s>(&'s self, scope: &Scope<'s>) {
        let Some(mut turn) = self.next() else { return };
        let goes_on = (self.step)(&mut turn.work);
        turn.steps += 1;
        if goes_on {
            locked(&self.waiting).push(turn);
            scope.spawn(|scope| self.go_on(scope));
        } else {
            let result = (self.end)(turn.work);
            locked(&self.ended).push((turn.place, result));
        }
    }

    fn next(&self) -> Option<Turn<T>> {
        let mut waiting = locked(&self.waiting);
        let least = (0..waiting.len()).min_by_key(|&k| (waiting[k].steps, waiting[k].place))?;
        Some(waiting.swap_remove(least))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::abreast;
    use std::sync::Mutex;

    #[test]
    fn works_go_in_turn_and_come_back_in_their_order() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let seen = Mutex::new(Vec::new());
        let ended = pool.install(|| {
            let step = |(name, left): &mut (char, u32)| {
                seen.lock().unwrap().push(*name);
                *left -= 1;
                *left > 0
            };
            abreast(vec![('a', 3), ('b', 1), ('c', 2)], step, |(name, _)| name)
        });
        assert_eq!(seen.into_inner().unwrap().into_iter().collect::<String>(), "abcaca");
        assert_eq!(ended, ['a', 'b', 'c']);
    }
}
