//! Timing of one epoch, for the demo and the benchmarks.

use lazyglm::optim::lane_loss::Same;
use lazyglm::optim::lanes::{self, Pass};
use lazyglm::optim::sgd::{Online, Rule};
use lazyglm::optim::update::Update;
use lazyglm::schedule::{Setting, Spec};
use lazyglm::{ElasticNet, Error, Method, Precision, Result, Task};
use std::time::Instant;

/// The result of a timed epoch.
pub struct Timed {
    /// Time from the first row to the settled weights.
    pub seconds: f64,
    /// The weights.
    pub weights: Vec<f64>,
    /// The bias.
    pub bias: f64,
}

/// Trains on the first rows in the order of the data, with the learning rate `eta0`/√t.
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

/// Trains many models at once on all rows in the same way, and returns the weights of the first.
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
        (task.data.rows.borrow(), Same { loss: &*task.loss, examples: task.examples() });
    let mut block = lanes::block(rows.columns(), penalties, method, true, width);
    let started = Instant::now();
    block.learn(&mut lane_loss, &Pass { rates: &[&*schedule], rows, weights: None, order: &order });
    let weights = block.weights(0).collect();
    Ok(Timed { seconds: started.elapsed().as_secs_f64(), weights, bias: block.bias(0) })
}
