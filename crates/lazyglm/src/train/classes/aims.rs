//! What lanes aim at where each is a class or label, and how they are getting on.

use super::task::ClassTask;
use crate::optim::lane_loss::LaneLoss;
use crate::optim::sgd::Sample;
use crate::problem::loss::Loss;
use std::sync::Mutex;

/// Some heads, not next to each other.
pub(super) struct Chosen<'a> {
    task: &'a ClassTask,
    loss: &'a dyn Loss,
    lane_of: Vec<usize>, // of each head; those not chosen have none
    count: usize,
}

impl<'a> Chosen<'a> {
    /// The heads with the most rows.
    pub fn most_frequent(task: &'a ClassTask, most: usize) -> Chosen<'a> {
        let counts = task.sets.counts(task.names.len());
        let mut by_count: Vec<usize> = (0..counts.len()).collect();
        by_count.sort_by_key(|&head| std::cmp::Reverse(counts[head])); // stable: the first of equals
        by_count.truncate(most);
        let mut lane_of = vec![usize::MAX; counts.len()];
        by_count.iter().enumerate().for_each(|(lane, &head)| lane_of[head] = lane);
        Chosen { task, loss: &*task.loss, lane_of, count: by_count.len() }
    }

    pub fn heads(&self) -> usize {
        self.count
    }

    fn each(&self, i: usize, scores: &[f64], into: &mut [f64], of: impl Fn(f64, f64) -> f64) {
        into.iter_mut().zip(scores).for_each(|(into, &score)| *into = of(score, -1.0));
        for &head in self.task.sets.of(i) {
            let lane = self.lane_of[head as usize];
            if lane < into.len() {
                into[lane] = of(scores[lane], 1.0);
            }
        }
    }
}

impl LaneLoss for Chosen<'_> {
    fn slopes(&self, i: usize, scores: &[f64], slopes: &mut [f64]) {
        self.each(i, scores, slopes, |score, target| self.loss.slope(score, target));
    }

    fn losses(&self, i: usize, scores: &[f64], losses: &mut [f64]) {
        self.each(i, scores, losses, |score, target| self.loss.value(score, target));
    }
}

/// An aim whose losses are noted, for one row in so many, before the row is learnt.
pub(super) struct Heard<'a, A> {
    aim: A,
    task: &'a ClassTask,
    one_in: usize,
    lanes: usize,
    sum: Mutex<Sample>, // nobody else wants it: a lock is how one changes what is lent
}

impl<'a, A: LaneLoss> Heard<'a, A> {
    pub fn new(aim: A, task: &'a ClassTask, one_in: usize, lanes: usize) -> Heard<'a, A> {
        Heard { aim, task, one_in, lanes, sum: Mutex::default() }
    }

    /// The mean over rows of the sum over lanes; what is noted starts anew.
    pub fn mean(&self) -> f64 {
        self.sum.lock().map_or(f64::NAN, |mut sum| std::mem::take(&mut *sum).mean())
    }
}

impl<A: LaneLoss> LaneLoss for Heard<'_, A> {
    fn slopes(&self, i: usize, scores: &[f64], slopes: &mut [f64]) {
        if i.is_multiple_of(self.one_in) {
            let mut losses = [0.0; 16];
            self.losses(i, scores, &mut losses[..self.lanes]);
            if let Ok(mut sum) = self.sum.lock() {
                let weight = self.task.weight(i);
                *sum = sum.and(Sample { sum: weight * losses[..self.lanes].iter().sum::<f64>(), weight });
            }
        }
        self.aim.slopes(i, scores, slopes);
    }

    fn losses(&self, i: usize, scores: &[f64], losses: &mut [f64]) {
        self.aim.losses(i, scores, losses);
    }
}
