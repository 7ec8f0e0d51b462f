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
    /// Number of cross-validation folds [default: 5, unless --validation is given]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(2..=65535), help_heading = "Search", conflicts_with = "validation")]
    pub folds: Option<u32>,
    /// Grid point that -o refits on all rows: the best, or the strongest penalty within one standard error of the best
    #[arg(long, value_enum, default_value_t = Choose::Best, help_heading = "Search")]
    pub choose: Choose,
    /// Time limit, after which the best point so far is the result: 60s, 5m, 1h
    #[arg(long, value_name = "T", value_parser = duration, help_heading = "Search")]
    pub budget: Option<Duration>,
    /// Train all points to the end, also those that are far worse than the best
    #[arg(long, help_heading = "Search")]
    pub no_halving: bool,
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
    /// Print the points as CSV: l1,l2,nonzeros,loss,objective,validation_loss
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub csv: bool,
    /// File to write every non-zero weight to, as CSV: l1,l2,feature,weight
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub coefficients: Option<PathBuf>,
}
