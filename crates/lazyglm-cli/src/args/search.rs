//! Arguments of `lazyglm tune` and `lazyglm path`, in addition to those of `train`.

use super::tables::names;
use super::train::Train;
use super::values::duration;
use clap::{Arg, Args as ClapArgs, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// The argument with this help, in `-h` and in `--help`.
fn told(arg: Arg, text: impl Into<String>) -> Arg {
    let text = text.into();
    arg.help(text.clone()).long_help(text)
}

/// Replaces the help of arguments whose default differs from that of `train`, and hides those that no search supports.
fn for_search(arg: Arg) -> Arg {
    let several = "one or several: A,B,C or LOW..HIGH:N";
    match arg.get_id().as_str() {
        "l1" => told(
            arg,
            format!(
                "λ₁, the weight of the ℓ₁ penalty ‖w‖₁, {several} [default: values from λ₁_max down to 1e-5·λ₁_max]"
            ),
        ),
        "l2" => told(
            arg,
            format!(
                "λ₂, the weight of the ℓ₂ penalty ½‖w‖², {several} [default: by --l1-ratio; 1e-6 for --solver sgd]"
            ),
        ),
        "solver" => told(
            arg,
            "Training algorithm: newton (the optimum of each penalty) or sgd (all models in one pass) [default: newton; sgd \
             if --method, --schedule, --eta0, --epochs or --order is given]",
        ),
        "tolerance" => {
            told(arg, "Relative distance from the optimum at which --solver newton stops [default: 1e-4]")
        }
        "eta0" => told(
            arg,
            format!(
                "Starting learning rate of --solver sgd, {several}; or 'auto' to search for one on a sample of the rows \
             [default: auto]"
            ),
        ),
        "epochs" => told(arg, "Number of passes of --solver sgd over the rows [default: 5]"),
        "update" | "early_stop" | "average" | "runs" | "table_budget" | "no_certificate" => arg.hide(true),
        _ => arg,
    }
}

/// Arguments of `lazyglm tune`.
#[derive(ClapArgs)]
#[command(after_help = "All flags: lazyglm tune --help", after_long_help = names(), mut_args(for_search))]
pub struct Tune {
    /// The arguments of `train`.
    #[command(flatten)]
    pub train: Train,
    /// The arguments that `path` has as well.
    #[command(flatten)]
    pub search: Search,
    /// Time limit, after which the best point so far is the result: 60s, 5m, 1h
    #[arg(long, value_name = "T", value_parser = duration, help_heading = "Search")]
    pub budget: Option<Duration>,
    /// Train all points to the end, also those that are far worse than the best
    #[arg(long, help_heading = "Search")]
    pub no_halving: bool,
}

/// Arguments of a search along penalties.
#[derive(ClapArgs)]
pub struct Search {
    /// Number of cross-validation folds [default: tune 5 unless --validation is given, path none]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(2..=65535), help_heading = "Search", conflicts_with = "validation")]
    pub folds: Option<u32>,
    /// Penalty that -o writes the model of: the best, or the strongest within one standard error of the best
    #[arg(long, value_enum, default_value_t = Choose::Best, help_heading = "Search")]
    pub choose: Choose,
    /// Shares of λ₁ in λ₁ + λ₂, as in 0.1,0.5,1: λ₂ = λ₁(1 − R)/R [default: 1 for path; 0.1,1 for tune; not used with --l2]
    #[arg(long, value_name = "R,R", help_heading = "Search", conflicts_with = "l2")]
    pub l1_ratio: Option<String>,
    /// Metric on held-out rows by which penalties are compared: loss, log-loss, accuracy, auc, pr-auc, f1, macro-f1, rmse, mae, r2
    #[arg(long, default_value = "loss", value_name = "M", help_heading = "Search")]
    pub metric: String,
    /// Only models with at most K features
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Search")]
    pub max_features: Option<u32>,
}

/// Which point of a grid to refit.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Choose {
    /// The point with the lowest mean held-out loss.
    Best,
    /// The strongest penalty whose mean held-out loss is within one standard error of the best.
    OneSe,
}

/// Arguments of `lazyglm path`.
#[derive(ClapArgs)]
#[command(after_help = "All flags: lazyglm path --help", after_long_help = names(), mut_args(for_search))]
pub struct Path {
    /// The arguments of `train`.
    #[command(flatten)]
    pub train: Train,
    /// The arguments that `tune` has as well.
    #[command(flatten)]
    pub search: Search,
    /// Print the points as CSV: l1,l2,features,nonzeros,loss,objective,gap,held_out,se (with --solver sgd: l1,l2,nonzeros,loss,objective,validation_loss)
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub csv: bool,
    /// File to write every non-zero weight to, as CSV: l1,l2,feature,weight
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub coefficients: Option<PathBuf>,
}
