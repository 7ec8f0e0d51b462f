//! `lazyglm bench lanes`: the time of many models in one pass, compared with one model.
//!
//! Contenders run by turns on one core, several rounds, and the fastest round of each counts.

use crate::args::BenchPaper;
use crate::print::{self, count};
use crate::timing::{learn, learn_lanes};
use lazyglm::Precision;
use lazyglm::objective::objective;
use lazyglm::optim::kernel::Folded;
use lazyglm::synth::{PAPER, Shape, documents};
use lazyglm::{ElasticNet, Method, Result, Task};
use serde_json::json;

const ROUNDS: usize = 5;
const ETA0: f64 = 0.1;
const L2: f64 = 1e-6;

/// One line of the result.
struct Contender {
    name: &'static str,
    lanes: usize,
    seconds: f64,
    objective: f64, // of the first lane, which all contenders have
    nonzeros: usize,
}

/// λ₁ of a lane: eight steps per decade; the first lane is the same for all contenders.
fn penalties(lanes: usize) -> Vec<ElasticNet> {
    (0..lanes).map(|l| ElasticNet { l1: 1e-6 * 10f64.powf(l as f64 / 8.0), l2: L2 }).collect()
}

/// Runs the verb.
pub fn run(args: &BenchPaper) -> Result<()> {
    let shape = Shape { rows: args.rows as usize, ..PAPER };
    print::note(false, &format!("making {} rows", count(u64::from(args.rows))));
    let task = documents(&shape).task;
    print::note(false, &format!("timing by turns, {ROUNDS} rounds"));
    let contenders = race(&task)?;
    let nonzeros = task.examples().rows.nonzeros() as f64;
    let times = |c: &Contender| {
        let one = if c.name.ends_with("f64") { &contenders[1] } else { &contenders[0] };
        c.seconds / one.seconds
    };
    print::result(|out| {
        if args.json {
            let lines: Vec<_> = contenders
                .iter()
                .map(|c| {
                    json!({"name": c.name, "lanes": c.lanes, "seconds": c.seconds, "times_one": times(c),
                        "objective": c.objective, "nonzeros": c.nonzeros})
                })
                .collect();
            return writeln!(
                out,
                "{}",
                json!({"rows": args.rows, "nonzeros": nonzeros, "contenders": lines})
            );
        }
        writeln!(
            out,
            "{:<14} {:>9} {:>8} {:>9} {:>14} {:>10} {:>9}",
            "", "seconds", "ns/nnz", "/ one", "ns/nnz/model", "objective", "non-zeros"
        )?;
        contenders.iter().try_for_each(|c| {
            let per = c.seconds * 1e9 / nonzeros;
            writeln!(
                out,
                "{:<14} {:>9.4} {per:>8.2} {:>9.2} {:>14.2} {:>10.5} {:>9}",
                c.name,
                c.seconds,
                times(c),
                per / c.lanes as f64,
                c.objective,
                count(c.nonzeros as u64)
            )
        })
    })
}

fn race(task: &Task) -> Result<Vec<Contender>> {
    let start = || vec![0.0; task.examples().rows.columns()];
    let (all, penalty, method) = (task.len(), penalties(1)[0], Method::Fobos);
    let mut contenders: Vec<Contender> = Vec::new();
    for _ in 0..ROUNDS {
        let round = [
            ("one, f32", 1, learn(task, all, ETA0, Folded::<f32>::new(start(), penalty, method))?),
            ("one, f64", 1, learn(task, all, ETA0, Folded::<f64>::new(start(), penalty, method))?),
            ("8 lanes, f32", 8, learn_lanes(task, ETA0, &penalties(8), method, Precision::F32)?),
            ("16 lanes, f32", 16, learn_lanes(task, ETA0, &penalties(16), method, Precision::F32)?),
            ("8 lanes, f64", 8, learn_lanes(task, ETA0, &penalties(8), method, Precision::F64)?),
        ];
        for (k, (name, lanes, run)) in round.into_iter().enumerate() {
            match contenders.get_mut(k) {
                Some(known) => known.seconds = known.seconds.min(run.seconds),
                None => contenders.push(Contender {
                    name,
                    lanes,
                    seconds: run.seconds,
                    objective: objective(task.examples(), &*task.loss, penalty, &run.weights, run.bias)
                        .total(),
                    nonzeros: run.weights.iter().filter(|w| **w != 0.0).count(),
                }),
            }
        }
    }
    Ok(contenders)
}
