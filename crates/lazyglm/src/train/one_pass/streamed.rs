//! The problem of a pass that is over: features and targets without rows.

use crate::data::features::Features;
use crate::data::read_config::ReadConfig;
use crate::problem::loss::Loss;
use crate::problem::source::{About, Pooled, Problem, See, Sequence, Source};
use crate::problem::task::Targets;
use crate::util::error::{Error, Place, Result};
use std::borrow::Cow;
use std::sync::Arc;

/// A problem whose rows were read once and are gone.
pub struct Streamed {
    pub(super) rows: usize,
    pub(super) loss: Arc<dyn Loss>,
    pub(super) targets: Targets,
    pub(super) features: Features,
    pub(super) occurs: Vec<bool>,
    pub(super) reading: ReadConfig,
    pub(super) weighted: bool,
    pub(super) offsets: bool,
    pub(super) file: Place,
}

/// The error for a second pass.
fn gone() -> Error {
    Error::call("the rows were read once and are gone", "put them into a file to read them again")
}

impl Source for Streamed {
    fn rows(&self) -> usize {
        self.rows
    }

    fn epoch(&self, _: Sequence, _: u64, _: &mut See) -> Result<()> {
        Err(gone())
    }

    fn pass(&self, _: &mut See) -> Result<()> {
        Err(gone())
    }
}

impl Problem for Streamed {
    fn about(&self) -> About<'_> {
        let Streamed { loss, targets, features, reading, weighted, offsets, .. } = self;
        About { loss, targets, features, reading, weighted: *weighted, offsets: *offsets }
    }

    fn occurring(&self) -> Cow<'_, [bool]> {
        Cow::Borrowed(&self.occurs)
    }

    fn nonzeros(&self) -> usize {
        0
    }

    fn pooled(&self) -> Vec<Pooled> {
        Vec::new()
    }

    fn beginning(&self, _: Sequence, _: &mut See) -> Result<()> {
        Err(gone())
    }

    fn file(&self) -> Place {
        self.file.clone()
    }
}
