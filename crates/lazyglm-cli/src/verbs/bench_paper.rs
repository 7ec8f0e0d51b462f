//! `lazyglm bench paper`: Table 1 of Lipton & Elkan (2015) on data of its shape.
//!
//! Contenders run by turns, several rounds, and the fastest round of each counts: the machine may be busy.

use crate::args::BenchPaper;
use crate::print::{self, count};
use crate::timing::learn;
use lazyglm::objective::objective;
use lazyglm::optim::kernel::Folded;
use lazyglm::optim::reference::{Dense, Table};
use lazyglm::synth::{PAPER, Shape, documents};
use lazyglm::{ElasticNet, Method, Result, Task};
use serde_json::{Value, json};
use std::io::{self, Write};

const ROUNDS: usize = 5;
/// Number of rows for the dense updates: enough for a stable measurement.
const DENSE_ROWS: usize = 500;
const ETA0: f64 = 0.1;
const NET: ElasticNet = ElasticNet { l1: 1e-6, l2: 1e-6 };

/// The results of the paper: seconds per row for lazy, dense, and dense with sparse predictions.
fn printed(method: Method) -> [f64; 3] {
    match method {
        Method::Sgd => [0.0102, 21.377, 14.381],
        Method::Fobos => [0.0120, 22.511, 16.785],
    }
}

/// One line of the result.
struct Contender {
    name: &'static str,
    rows: usize,
    seconds_per_row: f64,
    objective: f64,
    nonzeros: usize,
}

/// Runs the verb.
pub fn run(args: &BenchPaper) -> Result<()> {
    let shape = Shape { rows: args.rows as usize, ..PAPER };
    print::note(false, &format!("making {} rows", count(u64::from(args.rows))));
    let task = documents(&shape).task;
    let (d, p) = (shape.features as f64, task.examples().rows.nonzeros() as f64 / shape.rows as f64);
    let mut tables = Vec::new();
    for method in [Method::Sgd, Method::Fobos] {
        print::note(false, &format!("timing {} by turns, {ROUNDS} rounds", name(method)));
        tables.push((method, race(&task, method)?));
    }
    print::result(|out| match args.json {
        true => writeln!(out, "{}", as_json(&tables, d, p, args.rows)),
        false => human(out, &tables, d, p),
    })
}

fn name(method: Method) -> &'static str {
    match method {
        Method::Sgd => "SGD",
        Method::Fobos => "FoBoS",
    }
}

fn race(task: &Task, method: Method) -> Result<Vec<Contender>> {
    let start = || vec![0.0; task.examples().rows.columns()];
    let all = task.len();
    let few = all.min(DENSE_ROWS);
    let mut contenders: Vec<Contender> = Vec::new();
    for _ in 0..ROUNDS {
        let round = [
            ("lazy f32", all, learn(task, all, ETA0, Folded::<f32>::new(start(), NET, method))?),
            ("lazy f64", all, learn(task, all, ETA0, Folded::<f64>::new(start(), NET, method))?),
            ("no penalty f32", all, learn(task, all, ETA0, Folded::<f32, false>::new(start(), NET, method))?),
            ("table", all, learn(task, all, ETA0, Table::new(start(), NET, method, 1 << 17, None))?),
            ("dense", few, learn(task, few, ETA0, Dense::<false>::new(start(), NET, method))?),
            (
                "dense, sparse predictions",
                few,
                learn(task, few, ETA0, Dense::<true>::new(start(), NET, method))?,
            ),
        ];
        for (k, (name, rows, run)) in round.into_iter().enumerate() {
            match contenders.get_mut(k) {
                Some(known) => known.seconds_per_row = known.seconds_per_row.min(run.seconds / rows as f64),
                None => contenders.push(Contender {
                    name,
                    rows,
                    seconds_per_row: run.seconds / rows as f64,
                    objective: objective(task.examples(), &*task.loss, NET, &run.weights, run.bias).total(),
                    nonzeros: run.weights.iter().filter(|w| **w != 0.0).count(),
                }),
            }
        }
    }
    Ok(contenders)
}

fn human(out: &mut dyn Write, tables: &[(Method, Vec<Contender>)], d: f64, p: f64) -> io::Result<()> {
    writeln!(
        out,
        "{} features, {p:.2} non-zeros per row; upper limit of the speed-up over dense updates: {:.0} (features/non-zeros)",
        count(d as u64),
        d / p
    )?;
    for (method, contenders) in tables {
        let lazy = contenders[0].seconds_per_row;
        writeln!(
            out,
            "\n{:<27} {:>10} {:>8} {:>9} {:>11} {:>9} {:>10}",
            name(*method),
            "s/row",
            "ns/nnz",
            "/ lazy",
            "rows",
            "non-zeros",
            "objective"
        )?;
        for c in contenders {
            writeln!(
                out,
                "{:<27} {:>10.3e} {:>8.2} {:>9.2} {:>11} {:>9} {:>10.5}",
                c.name,
                c.seconds_per_row,
                c.seconds_per_row * 1e9 / p,
                c.seconds_per_row / lazy,
                count(c.rows as u64),
                count(c.nonzeros as u64),
                c.objective
            )?;
        }
        let [paper_lazy, dense, sparse] = printed(*method);
        writeln!(
            out,
            "the paper (2015, Python)    lazy {paper_lazy} s, dense {dense} s ({:.0} ×), dense with sparse predictions {sparse} s ({:.0} ×)",
            dense / paper_lazy,
            sparse / paper_lazy
        )?;
    }
    Ok(())
}

fn as_json(tables: &[(Method, Vec<Contender>)], d: f64, p: f64, rows: u32) -> Value {
    let methods: Vec<Value> = tables
        .iter()
        .map(|(method, contenders)| {
            let lazy = contenders[0].seconds_per_row;
            let lines: Vec<Value> = contenders
                .iter()
                .map(|c| {
                    json!({"update": c.name, "rows": c.rows, "seconds_per_row": c.seconds_per_row,
                        "times_lazy": c.seconds_per_row / lazy, "objective": c.objective, "nonzeros": c.nonzeros})
                })
                .collect();
            let [lazy, dense, sparse] = printed(*method);
            json!({"method": name(*method).to_lowercase(), "updates": lines,
                "paper": {"lazy": lazy, "dense": dense, "dense_sparse_predict": sparse}})
        })
        .collect();
    json!({"rows": rows, "features": d, "nonzeros_per_row": p, "bound": d / p, "methods": methods})
}
