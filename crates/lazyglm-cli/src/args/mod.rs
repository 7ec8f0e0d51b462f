//! What was typed. These names are a contract: other programs call them.

mod choices;
mod data;
mod model;
mod search;
mod tables;
mod train;
mod values;

pub use choices::{Method, Multiclass, Order, Precision, Thresholds, Update};
pub use data::{Convert, ReadConfig, Stats};
pub use model::{Certify, Evaluate, Inspect, Predict, What};
pub use search::{Choose, Path, Tune};
pub use tables::Table;
pub use train::Train;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args as ClapArgs, Parser, Subcommand};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default());

/// Sparse linear models with exact elastic-net regularisation, in time proportional to the non-zeros.
///
/// Minimises  (Σ ωᵢ·loss(w·xᵢ + b, yᵢ))/n + l1·‖w‖₁ + ½·l2·‖w‖²  over weights w and bias b, ω the row weights.
/// Start with `lazyglm demo`, then `lazyglm train DATA -o MODEL`.
#[derive(Parser)]
#[command(name = "lazyglm", version, styles = STYLES, max_term_width = 110)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

impl Args {
    /// Whether the results go to standard output.
    pub fn prints(&self) -> bool {
        match &self.verb {
            Verb::Predict(args) => args.output.as_ref().is_none_or(|path| path.as_os_str() == "-"),
            Verb::Convert(args) => args.output.as_os_str() == "-",
            _ => true,
        }
    }
}

/// What to do.
#[derive(Subcommand)]
pub enum Verb {
    /// Train a model
    Train(Box<Train>),
    /// Find the penalty: a grid of them, cross-validated, all in one pass
    Tune(Box<Tune>),
    /// Show what becomes of the model as λ₁ falls, all in one pass
    Path(Box<Path>),
    /// Print one prediction a row; blank lines and comments are no rows
    Predict(Predict),
    /// Measure a model on data with targets
    Evaluate(Evaluate),
    /// Prove how far a model can be from the minimum: a lower bound for the objective, in two passes over the data
    Certify(Certify),
    /// Show what is in a model
    Inspect(Inspect),
    /// Show what is in data: sizes, values, targets, copies, and how much l1 is too much
    Stats(Stats),
    /// Write data in another format: svmlight, vw, jsonl, csv or lazyglm's cache
    Convert(Convert),
    /// List solvers and what they can do, losses, schedules or formats
    List {
        /// Which table.
        table: Table,
    },
    /// Show the main job on made data: train, evaluate, lazy against dense
    Demo,
    /// Benchmarks
    #[command(subcommand)]
    Bench(Bench),
}

/// Benchmarks.
#[derive(Subcommand)]
pub enum Bench {
    /// The paper's Table 1 on data of its shape: seconds a row for lazy, table and dense updates
    Paper(BenchPaper),
    /// What 8 and 16 models in one pass cost against one, on data of the paper's shape, on one core
    Lanes(BenchPaper),
}

/// `lazyglm bench paper` and `lazyglm bench lanes`.
#[derive(ClapArgs)]
pub struct BenchPaper {
    /// Rows to make; 1,000,000 as in the paper need 0.8 GB
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = clap::value_parser!(u32).range(100..))]
    pub rows: u32,
    /// The figures as one JSON object
    #[arg(long)]
    pub json: bool,
}
