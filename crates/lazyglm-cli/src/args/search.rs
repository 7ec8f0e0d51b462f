//! Arguments of `lazyglm tune` and `lazyglm path`, in addition to those of `train`.

use super::train::{TABLES, Train};
use super::values::duration;
use clap::{Arg, Args as ClapArgs, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Examples below the help of `tune`.
const TUNE: &str = "\
Examples:
  lazyglm tune data.svm -o model                          20 l1 × 2 ratios
  lazyglm tune data.svm --l1 1e-6..1e-3:12 --metric auc   12 l1, by AUC
";

/// Examples below the help of `path`.
const PATH: &str = "\
Examples:
  lazyglm path data.svm --coefficients weights.csv         write all weights
  lazyglm path data.svm --max-features 20 --folds 5 -o m   at most 20 features
";

/// The flags that `-h` of a search shows. `--help` shows all.
const COMMON: [&str; 17] = [
    "data",
    "target",
    "loss",
    "l1",
    "l2",
    "l1_ratio",
    "validation",
    "folds",
    "choose",
    "metric",
    "max_features",
    "budget",
    "output",
    "quiet",
    "json",
    "csv",
    "coefficients",
];

/// Flags of `train` that no search supports, and one that has an effect only where SGD trains the chosen model again.
const HIDDEN: [&str; 9] = [
    "adaptive",
    "update",
    "early_stop",
    "average",
    "runs",
    "table_budget",
    "no_certificate",
    "on_divergence",
    "passes",
];

/// The argument with this help in `--help`. `-h` shows it, too, unless `brief` gives fewer words.
fn told(arg: Arg, text: impl Into<String>) -> Arg {
    let text = text.into();
    arg.help(text.clone()).long_help(text)
}

/// The argument with few words in `-h`, so that it fits into one line, and all words in `--help`.
fn brief(arg: Arg, short: &'static str, long: impl Into<String>) -> Arg {
    arg.help(short).long_help(long.into())
}

/// Replaces the help of arguments whose default differs from that of `train`, and hides those that no search supports.
fn for_search(arg: Arg) -> Arg {
    let several = "A,B,C or LOW..HIGH:N";
    let id = arg.get_id().to_string();
    let arg = arg.hide_short_help(!COMMON.contains(&id.as_str()));
    match id.as_str() {
        "target" => brief(
            arg,
            "Column that holds the target",
            "Column that holds the target (csv, jsonl, parquet) [default: target, label, y or class]",
        ),
        "l1" => brief(
            arg.value_name("NUMBERS"),
            "Weights of the ℓ₁ penalty: A,B,C or LOW..HIGH:N",
            format!("Weights of the ℓ₁ penalty ‖w‖₁: {several} [default: from λ₁_max down to 1e-5·λ₁_max]"),
        ),
        "l2" => brief(
            arg.value_name("NUMBERS"),
            "Weights of the ℓ₂ penalty: A,B,C or LOW..HIGH:N",
            format!(
                "Weights of the ℓ₂ penalty ½‖w‖²: {several} [default: by --l1-ratio; for --solver sgd 1e-6, or 0 if --l1 is given]"
            ),
        ),
        "alpha" => told(
            arg.value_name("NUMBERS"),
            format!(
                "Weights of the whole penalty, as in scikit-learn: {several}; l1 = alpha·ratio, l2 = alpha·(1 − ratio)"
            ),
        ),
        "solver" => told(
            arg,
            "Solver: newton finds the optimum of each penalty; sgd trains all models in the same passes [default: newton; \
             sgd if --method, --schedule, --eta0, --epochs or --order is given]",
        ),
        "tolerance" => {
            told(arg, "Relative distance from the optimum at which --solver newton stops [default: 1e-4]")
        }
        "eta0" => told(
            arg.value_name("NUMBERS|auto"),
            format!(
                "Starting learning rates of --solver sgd: {several}, or 'auto' to search for one on a sample of the rows \
                 [default: auto]"
            ),
        ),
        "epochs" => told(arg, "Number of passes of --solver sgd over the rows [default: 5]"),
        "validation" => brief(
            arg.help_heading("Search"),
            "Held-out rows: a file, or a fraction",
            "Held-out rows that each model is measured on, instead of folds: a file, or a fraction (0.1)",
        ),
        "memory" => {
            told(arg, "Memory limit, as in 2G or 500M; the rows and the weights of all models must fit")
        }
        hidden if HIDDEN.contains(&hidden) => arg.hide(true),
        _ => arg,
    }
}

/// The help of `tune`, with its own defaults.
fn for_tune(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "l1_ratio" => {
            told(for_search(arg), "Shares of ℓ₁, as in 0.1,0.5,1 [default: 0.1,1]").value_name("RATIOS")
        }
        "folds" => brief(
            for_search(arg),
            "Cross-validation folds [default: 5]",
            "Number of cross-validation folds [default: 5; none with --validation]",
        ),
        _ => for_search(arg),
    }
}

/// The help of `path`, with its own defaults.
fn for_path(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "l1_ratio" => {
            told(for_search(arg), "Shares of ℓ₁, as in 0.1,0.5,1 [default: 1]").value_name("RATIOS")
        }
        "folds" => told(for_search(arg), "Cross-validation folds [default: none]"),
        _ => for_search(arg),
    }
}

/// Arguments of `lazyglm tune`.
#[derive(ClapArgs)]
#[command(
    after_help = format!("{TUNE}\nAll flags: lazyglm tune --help"),
    after_long_help = format!("{TUNE}\n{TABLES}"),
    mut_args(for_tune)
)]
pub struct Tune {
    /// The arguments that `path` has as well. They come first, so that the help shows their group first.
    #[command(flatten)]
    pub search: Search,
    /// Time limit of the search: 60s, 5m, 1h
    ///
    /// When the time is over, tune takes the best penalty among those that every fold has seen.
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Search")]
    pub budget: Option<Duration>,
    /// Search to the end, also where models are far worse than the best; of no effect if --solver newton is given penalties
    #[arg(long, help_heading = "Search")]
    pub no_halving: bool,
    /// The arguments of `train`.
    #[command(flatten)]
    pub train: Train,
}

/// Arguments of a search along penalties.
#[derive(ClapArgs)]
pub struct Search {
    /// Number of cross-validation folds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=65535), help_heading = "Search", conflicts_with = "validation")]
    pub folds: Option<u32>,
    /// Model of -o: best or one-se [default: best]
    ///
    /// best has the best score on held-out rows. one-se has the strongest penalty whose score is within one standard error of the best.
    #[arg(long, value_enum, value_name = "WHICH", hide_possible_values = true, help_heading = "Search")]
    pub choose: Option<Choose>,
    /// Held-out metric, as auc [default: loss]
    ///
    /// One of loss, log-loss, accuracy, auc, pr-auc, f1, macro-f1, rmse, mae and r2.
    #[arg(long, value_name = "METRIC", help_heading = "Search")]
    pub metric: Option<String>,
    /// Only models with at most N features
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Search")]
    pub max_features: Option<u32>,
}

impl Search {
    /// The penalty to choose, with its default.
    pub fn choose(&self) -> Choose {
        self.choose.unwrap_or(Choose::Best)
    }

    /// The name of the metric, with its default.
    pub fn metric(&self) -> &str {
        self.metric.as_deref().unwrap_or("loss")
    }
}

/// Which point of a grid to refit.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Choose {
    /// The penalty with the best mean held-out score.
    Best,
    /// The strongest penalty whose mean held-out score is within one standard error of the best.
    OneSe,
}

/// Arguments of `lazyglm path`.
#[derive(ClapArgs)]
#[command(
    after_help = format!("{PATH}\nAll flags: lazyglm path --help"),
    after_long_help = format!("{PATH}\n{TABLES}"),
    mut_args(for_path)
)]
pub struct Path {
    /// The arguments that `tune` has as well. They come first, so that the help shows their group first.
    #[command(flatten)]
    pub search: Search,
    /// The arguments of `train`.
    #[command(flatten)]
    pub train: Train,
    /// Print one line per penalty as CSV
    ///
    /// The columns are l1,l2,features,nonzeros,loss,objective,gap,held_out,se (with --solver sgd: l1,l2,nonzeros,loss,objective,validation_loss).
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub csv: bool,
    /// File for all non-zero weights, as CSV
    ///
    /// The columns are l1,l2,feature,weight.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub coefficients: Option<PathBuf>,
}
