//! `lazyglm tune` and `lazyglm path`: what they take besides what `train` takes.

use super::tables::names;
use super::train::Train;
use super::values::duration;
use clap::{Args as ClapArgs, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// `lazyglm tune`.
#[derive(ClapArgs)]
#[command(after_help = names())]
pub struct Tune {
    /// What `train` takes, too.
    #[command(flatten)]
    pub train: Train,
    /// Hold out each of K parts of the rows in turn [default: 5, unless --validation is given]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(2..=65535), help_heading = "Search", conflicts_with = "validation")]
    pub folds: Option<u32>,
    /// Which point -o refits on all rows: the best, or the strongest penalty within one standard error of it
    #[arg(long, value_enum, default_value_t = Choose::Best, help_heading = "Search")]
    pub choose: Choose,
    /// Stop in time, with the best so far: 60s, 5m, 1h
    #[arg(long, value_name = "T", value_parser = duration, help_heading = "Search")]
    pub budget: Option<Duration>,
    /// Keep points that others have left far behind
    #[arg(long, help_heading = "Search")]
    pub no_halving: bool,
}

/// Which point of a grid to refit.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Choose {
    /// The lowest mean held-out loss.
    Best,
    /// The strongest penalty whose mean is within one standard error of it.
    OneSe,
}

/// `lazyglm path`.
#[derive(ClapArgs)]
#[command(after_help = names())]
pub struct Path {
    /// What `train` takes, too.
    #[command(flatten)]
    pub train: Train,
    /// The points as CSV: l1,l2,nonzeros,loss,objective,validation_loss
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub csv: bool,
    /// Write every weight that is not zero here, as CSV: l1,l2,feature,weight
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub coefficients: Option<PathBuf>,
}
