//! A loss that sets the flag of an interruption at one of its calls.

use lazyglm::loss::Admits;
use lazyglm::{Loss, Task};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A task with the loss of another one, which counts calls and sets a flag.
pub struct Alarm {
    pub task: Task,
    pub alarm: Arc<Alarmed>,
}

/// A loss that counts its calls, and sets a flag once there were so many.
#[derive(Debug)]
pub struct Alarmed {
    loss: Arc<dyn Loss>,
    at: usize,
    stuck: bool, // whether the loss is larger from then on, so that no step lowers it
    calls: AtomicUsize,
    flag: Arc<AtomicBool>,
}

impl Alarm {
    /// The rows of a task, and a loss that sets its flag after so many calls.
    pub fn of(task: &Task, at: usize, stuck: bool) -> Alarm {
        let (calls, flag) = Default::default();
        let alarm = Arc::new(Alarmed { loss: task.loss.clone(), at, stuck, calls, flag });
        Alarm { task: Task { loss: alarm.clone(), ..task.clone() }, alarm }
    }
}

impl Alarmed {
    /// The number of calls so far: one per row and pass.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    pub fn flag(&self) -> Arc<AtomicBool> {
        self.flag.clone()
    }

    /// Counts a call. Returns what the loss is larger by.
    fn count(&self) -> f64 {
        let late = self.calls.fetch_add(1, Ordering::Relaxed) >= self.at;
        if late {
            self.flag.store(true, Ordering::Relaxed);
        }
        if late && self.stuck { 1e3 } else { 0.0 }
    }
}

impl Loss for Alarmed {
    fn spec(&self) -> String {
        self.loss.spec()
    }

    fn value(&self, score: f64, target: f64) -> f64 {
        self.count() + self.loss.value(score, target)
    }

    fn slope(&self, score: f64, target: f64) -> f64 {
        self.count();
        self.loss.slope(score, target)
    }

    fn curvature(&self) -> Option<f64> {
        self.loss.curvature()
    }

    fn gradient_bound(&self) -> f64 {
        self.loss.gradient_bound()
    }

    fn second_derivative(&self, score: f64, target: f64) -> Option<f64> {
        self.loss.second_derivative(score, target)
    }

    fn is_quadratic(&self) -> bool {
        self.loss.is_quadratic()
    }

    fn has_kinks(&self) -> bool {
        self.loss.has_kinks()
    }

    fn majoriser(&self, score: f64, target: f64) -> Option<f64> {
        self.loss.majoriser(score, target)
    }

    fn taylor(&self, score: f64, target: f64) -> [f64; 3] {
        let [value, slope, second_derivative] = self.loss.taylor(score, target);
        [self.count() + value, slope, second_derivative]
    }

    fn conjugate(&self, slope: f64, target: f64) -> f64 {
        self.loss.conjugate(slope, target)
    }

    fn admits(&self) -> Admits {
        self.loss.admits()
    }
}
