//! Command-line arguments. Their names are a stable interface: scripts depend on them.

mod choices;
mod data;
mod model;
mod search;
mod tables;
mod train;
mod values;

pub use choices::{
    Limit, Method, Multiclass, OnDivergence, Order, Precision, ShowProgress, Task, Thresholds, Update,
};
pub use data::{Convert, ReadConfig, Stats};
pub use model::{Certify, Evaluate, Inspect, Predict, What};
pub use search::{Choose, Path, Search, Tune};
pub use tables::Table;
pub use train::Train;

use crate::messages::known as known_message;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args as ClapArgs, Parser, Subcommand};

/// The version, and what the program is built from and with.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("LAZYGLM_BUILD"), ")");

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default());

/// Examples below the help of the program.
const EXAMPLES: &str = "\
Examples:
  lazyglm demo --data .                              write small data sets to try the program on
  lazyglm train messages_train.txt -o spam.model     train a model
  lazyglm evaluate spam.model messages_test.txt      measure it on other data
  lazyglm predict spam.model new.txt                 predict new rows

The flags of a verb: lazyglm train -h (the most common) or lazyglm train --help (all)";

/// Sparse linear models with exact elastic-net regularisation, in time proportional to the non-zeros.
///
/// Minimises  (Σ ωᵢ·loss(w·xᵢ + b, yᵢ))/n + l1·‖w‖₁ + ½·l2·‖w‖²  over the weights w and the bias b. ωᵢ is the weight of row i, with mean one.
#[derive(Parser)]
#[command(name = "lazyglm", version = VERSION, styles = STYLES, max_term_width = 110, after_help = EXAMPLES)]
#[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
pub struct Args {
    /// The verb to run.
    #[command(subcommand)]
    pub verb: Verb,
    /// Do not print the note or warning with this name, from `lazyglm list messages`; 'all' for all; may be repeated
    #[arg(long, global = true, value_name = "NAME", value_parser = known_message, help_heading = "Output", hide_short_help = true)]
    pub silence: Vec<String>,
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

/// The verb to run.
#[derive(Subcommand)]
pub enum Verb {
    /// Train a model
    Train(Box<Train>),
    /// Choose a penalty by cross-validation, and train the optimum for it
    Tune(Box<Tune>),
    /// Show the regularisation path: the optimum at each λ₁, from strong to weak
    Path(Box<Path>),
    /// Print one prediction per row; blank lines and comments are not rows
    Predict(Predict),
    /// Measure the loss and the accuracy of a model on data with targets
    Evaluate(Evaluate),
    /// Compute how far a model is from the optimum, from a lower bound on the objective
    Certify(Certify),
    /// Show the weights and the training settings of a model
    Inspect(Inspect),
    /// Show statistics of data: sizes, values, targets, duplicate rows, and λ₁_max
    Stats(Stats),
    /// Write data in another format: svmlight, vw, jsonl, csv or lazyglm's cache
    Convert(Convert),
    /// List solvers with their capabilities, losses, schedules, formats, or messages
    List {
        /// Table to print
        table: Table,
    },
    /// Train and evaluate on synthetic data, and compare lazy with dense updates
    Demo {
        /// Write four small data sets into this folder instead: messages and houses, to train and to test
        #[arg(long, value_name = "FOLDER")]
        data: Option<std::path::PathBuf>,
    },
    /// Print a completion script for a shell, such as `lazyglm completions bash > lazyglm.bash`
    Completions {
        /// Shell that reads the script
        shell: clap_complete::Shell,
    },
    /// Write manual pages into a folder
    Man {
        /// Folder to write into, such as ~/.local/share/man/man1; it is made if it does not exist
        folder: std::path::PathBuf,
    },
    /// Run a benchmark
    #[command(subcommand, subcommand_value_name = "BENCHMARK", subcommand_help_heading = "Benchmarks")]
    Bench(Bench),
}

/// Benchmarks.
#[derive(Subcommand)]
pub enum Bench {
    /// Reproduce Table 1 of the paper on synthetic data: seconds per row for lazy, table and dense updates
    Paper(BenchPaper),
    /// Time 8 and 16 models in one pass against one model, on synthetic data, on one core
    Lanes(BenchPaper),
}

/// Arguments of `lazyglm bench paper` and `lazyglm bench lanes`.
#[derive(ClapArgs)]
pub struct BenchPaper {
    /// Number of rows to generate; 1,000,000 as in the paper need 0.8 GB
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = clap::value_parser!(u32).range(100..))]
    pub rows: u32,
    /// Print the results as one JSON object
    #[arg(long)]
    pub json: bool,
}
