//! Arguments of `lazyglm tune` and `lazyglm path`, in addition to those of `train`.

use super::tables::names;
use super::train::Train;
use super::values::duration;
use clap::{Args as ClapArgs, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `lazyglm tune`.
#[derive(ClapArgs)]
#[command(after_help = names())]
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
#[command(after_help = names())]
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
