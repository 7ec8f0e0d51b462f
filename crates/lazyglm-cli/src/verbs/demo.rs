//! `lazyglm demo`: trains and evaluates on synthetic data, without any file.

use crate::args::ShowProgress;
use crate::print::{self, count};
use crate::progress::Display;
use crate::timing;
use crate::verbs::evaluate_table::metrics_table;
use lazyglm::eval::metrics::metrics;
use lazyglm::optim::kernel::Folded;
use lazyglm::optim::reference::Dense;
use lazyglm::synth::{Shape, documents};
use lazyglm::{ElasticNet, Result, Settings, Task, train};
use std::time::Instant;

/// Rows held out of training.
const HELD_OUT: usize = 20_000;
/// Rows on which lazy and dense updates run side by side.
const SIDE_BY_SIDE: usize = 2_000;

/// Runs the verb.
pub fn run() -> Result<()> {
    let shape = Shape { rows: 100_000 + HELD_OUT, ..Shape::default() };
    let started = Instant::now();
    let made = documents(&shape);
    let rows: Vec<usize> = (0..shape.rows).collect();
    let (task, held_out) = (made.task.select(&rows[HELD_OUT..]), made.task.select(&rows[..HELD_OUT]));
    print::result(|out| {
        writeln!(
            out,
            "Made {} documents from a vocabulary of {} words in {:.1} s, with {:.0} words per document.\n\
             {} planted words decide the class, and {} documents are held out.\n",
            count(shape.rows as u64),
            count(shape.features as u64),
            started.elapsed().as_secs_f64(),
            made.task.examples().rows.nonzeros() as f64 / shape.rows as f64,
            made.truth.len(),
            count(HELD_OUT as u64)
        )
    })?;

    let settings = Settings { penalty: ElasticNet::new(1e-4, 1e-5)?, ..Settings::default() };
    let mut display = Display::new(ShowProgress::Auto);
    let trained = train(&task, None, &settings, &mut |progress| display.see(progress));
    display.finish();
    let trained = trained?;
    let report = &trained.report;

    let examples = held_out.examples();
    let scores: Vec<f64> =
        (0..HELD_OUT).map(|i| examples.rows.dot(i, &trained.weights) + trained.bias).collect();
    let figures = metrics(&*task.loss, &scores, examples.targets);
    let found = found(&trained.weights, &made.truth);
    print::result(|out| {
        writeln!(
            out,
            "Trained {} epochs in {:.2} s ({:.1} ns per non-zero and epoch): objective {:.5}, {} non-zero weights.",
            report.epochs,
            report.seconds_train,
            report.seconds_train * 1e9 / (report.epochs as f64 * task.examples().rows.nonzeros() as f64),
            report.objective,
            count(report.nonzeros as u64)
        )?;
        writeln!(
            out,
            "{} of the {} planted words have a weight of the right sign, and {} are among the {} largest weights.\n",
            found.right_sign,
            made.truth.len(),
            found.among_largest,
            made.truth.len()
        )?;
        writeln!(out, "On the held-out documents:")?;
        metrics_table(out, &figures.named(), None)?;
        writeln!(out, "{:<18} {}", "rows", count(figures.rows as u64))
    })?;
    side_by_side(&task, settings.penalty, report.eta0)
}

struct Found {
    right_sign: usize,
    among_largest: usize,
}

fn found(weights: &[f64], truth: &[(usize, f64)]) -> Found {
    let mut largest: Vec<f64> = weights.iter().map(|w| w.abs()).collect();
    largest.sort_unstable_by(|a, b| b.total_cmp(a));
    let bar = largest[truth.len() - 1];
    Found {
        right_sign: truth.iter().filter(|(column, weight)| weights[*column] * weight > 0.0).count(),
        among_largest: truth.iter().filter(|(column, _)| weights[*column].abs() >= bar).count(),
    }
}

/// Times lazy and dense updates on the same rows.
fn side_by_side(task: &Task, penalty: ElasticNet, eta0: f64) -> Result<()> {
    let start = || vec![0.0; task.examples().rows.columns()];
    let method = Settings::default().method;
    let lazy = timing::learn(task, SIDE_BY_SIDE, eta0, Folded::<f64>::new(start(), penalty, method))?;
    let dense = timing::learn(task, SIDE_BY_SIDE, eta0, Dense::<false>::new(start(), penalty, method))?;
    let pairs = || lazy.weights.iter().zip(&dense.weights);
    let difference = pairs().map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let zeros = pairs().filter(|(a, b)| (**a == 0.0) != (**b == 0.0)).count();
    let rows = SIDE_BY_SIDE as f64;
    print::result(|out| {
        writeln!(out, "\nLazy against dense updates, the same {} rows in f64:", count(SIDE_BY_SIDE as u64))?;
        writeln!(out, "{:<18} {:.2} µs per row", "lazy", lazy.seconds * 1e6 / rows)?;
        writeln!(out, "{:<18} {:.2} µs per row", "dense", dense.seconds * 1e6 / rows)?;
        writeln!(
            out,
            "{:<18} {difference:.1e}; zero in one and not in the other: {zeros}",
            "largest difference"
        )
    })
}
