//! One epoch under the clock, for the demo and the benchmark.

use lazyglm::optim::lane_loss::Same;
use lazyglm::optim::lanes::{self, Pass};
use lazyglm::optim::sgd::{Online, Rule};
use lazyglm::optim::update::Update;
use lazyglm::schedule::{Setting, Spec};
use lazyglm::{ElasticNet, Error, Method, Precision, Result, Task};
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
    let setting = Setting { eta0, l2: 0.0, rows: Some(task.len() as u64), epochs: 1 };
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

/// Learns all rows the same way for many models at once; the first one's weights.
pub fn learn_lanes(
    task: &Task,
    eta0: f64,
    penalties: &[ElasticNet],
    method: Method,
    width: Precision,
) -> Result<Timed> {
    let setting = Setting { eta0, l2: 0.0, rows: Some(task.len() as u64), epochs: 1 };
    let schedule = Spec::parse("inverse-sqrt")?.resolve(&setting)?;
    let order: Vec<u32> = (0..task.len() as u32).collect();
    let (rows, mut lane_loss) =
        (task.data.rows.borrow(), Same { loss: &*task.loss, targets: task.numbers() });
    let mut block = lanes::block(rows.columns(), penalties, method, true, width);
    let started = Instant::now();
    block.learn(&mut lane_loss, &Pass { rates: &[&*schedule], rows, weights: None, order: &order });
    let weights = block.weights(0).collect();
    Ok(Timed { seconds: started.elapsed().as_secs_f64(), weights, bias: block.bias(0) })
}
