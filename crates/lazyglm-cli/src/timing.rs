//! One epoch under the clock, for the demo and the benchmark.

use lazyglm::schedule::{Setting, Spec};
use lazyglm::solver::online::{Online, Rule};
use lazyglm::update::Update;
use lazyglm::{Error, Result, Task};
use std::time::Instant;

/// What came of it.
pub struct Timed {
    /// From the first row learnt to weights settled.
    pub seconds: f64,
    /// w.
    pub weights: Vec<f64>,
    /// b.
    pub bias: f64,
}

/// Learns the first rows in the order of the data, at a rate that falls from `eta0` like 1/√t.
pub fn learn<U: Update>(task: &Task, rows: usize, eta0: f64, update: U) -> Result<Timed> {
    let setting = Setting { eta0, l2: 0.0, rows: Some(task.targets.len() as u64), epochs: 1 };
    let schedule = Spec::parse("inverse-sqrt")?.resolve(&setting)?;
    let rule = Rule { loss: &*task.loss, schedule: &*schedule };
    let order: Vec<u32> = (0..rows as u32).collect();
    let mut model = Online::new(update, true);
    let started = Instant::now();
    let learnt = model.learn(&rule, task.examples(), &order);
    learnt.map_err(|_| Error::call("a run on made data diverged", "report this"))?;
    let weights = model.update.weights();
    Ok(Timed { seconds: started.elapsed().as_secs_f64(), weights, bias: model.bias })
}
