//! The certificate of one model within a memory limit: its rows are read from disk, a window at a time, if they do not fit.
//!
//! ```text
//! pass 1    F, its gradient, and the lower bound of the derivatives at (w, b)
//! pass 2    the lower bound at a better bias, if b is not the best: F stays that of b
//! ```
//!
//! F and its gradient are those of rows in memory. The lower bound comes from sums alone (`eval/objective/streamed_gap`). For a
//! smooth loss it is nearly that of rows in memory; for a loss with kinks it is lower, since no dual ascent improves it.

use super::{Certify, Placed, Proved, check_names};
use crate::eval::objective::StreamedGap;
use crate::model::Model;
use crate::problem::settings::Settings;
use crate::problem::source::{Problem, Source};
use crate::problem::windows::{Surveyed, Windows, WindowsOptions};
use crate::util::error::{Error, Result};
use crate::util::parameter::Parameter;
use std::path::Path;

/// Bytes per feature of the model: its number and its weight, in the model and on the columns of the data.
const PER_FEATURE: usize = 24;
/// Bytes per feature of factors and bounds.
const PENALTY: usize = 24;

impl Certify {
    /// Certifies a model within a memory limit.
    pub(super) fn within(&self, model: &Model, data: &Path, memory: usize) -> Result<Proved> {
        let options = WindowsOptions {
            asked: self.load(model).asked,
            loss: Some(model.loss.clone()),
            class_weight: self.class_weight.clone(),
            scale: self.scale,
            memory: memory.saturating_sub(self.held(model)),
            ..WindowsOptions::default()
        };
        let settings = Settings { precision: model.training.precision, ..Settings::default() };
        let surveyed = Surveyed::open_as(data, &options, &settings, Some(&model.reading))?;
        if surveyed.fits() {
            let (rows, weights) = surveyed.load_as(&self.load(model), &model.reading)?;
            drop(surveyed);
            return self.in_memory(model, data, self.task(model, data, rows, weights)?);
        }
        self.refuse_files()?;
        self.by_windows(model, data, &surveyed.windows_like(&options, &model.targets())?)
    }

    /// The memory of the model, beside what training needs, in bytes: whole megabytes, so that a message names the limit as given
    /// if the model is small.
    fn held(&self, model: &Model) -> usize {
        let words = model.words.as_ref().map_or(0, |words| words.names.bytes());
        let penalty = if self.factors.is_some() || self.bounds.is_some() { PENALTY } else { 0 };
        (words + model.features.len() * (PER_FEATURE + penalty)) >> 20 << 20
    }

    /// Rejects weights and offsets in files of their own: they are assigned to rows in memory only.
    fn refuse_files(&self) -> Result<()> {
        let refused = |what: Parameter, hint: String| {
            let memory = Parameter::Memory;
            Err(Error::call(format!("{what} with more rows than {memory} holds"), hint))
        };
        let raise = format!("or raise {}", Parameter::Memory);
        match (&self.sample_weights, &self.offsets) {
            (Some(_), _) => {
                let hint = format!("put them into the data, as Vowpal Wabbit text has them, {raise}");
                refused(Parameter::SampleWeights, hint)
            }
            (None, Some(_)) => {
                let column = Parameter::OffsetColumn;
                let hint = format!("train and certify with offsets in the data ({column}), {raise}");
                refused(Parameter::Offset, hint)
            }
            (None, None) => Ok(()),
        }
    }

    /// Certifies a model in one pass over rows on disk.
    fn by_windows(&self, model: &Model, data: &Path, windows: &Windows) -> Result<Proved> {
        let features = windows.features();
        check_names(model, data, features, windows.nonzeros() > 0)?;
        let there = Placed::of(self, model, features)?;
        let (weighted_penalty, weights) = (there.weighted_penalty(self), &there.start.weights);
        let bias = model.training.bias.then_some(there.start.bias);
        let sums = |bias: Option<f64>| StreamedGap::new(&*model.loss, weights, bias, windows.nonzeros());
        let (mut here, mut passes) = (sums(bias).with_curvature(), 1);
        see_all(windows, &mut here)?;
        let better = here.better_bias();
        let (evaluation, worst, dual) = here.finish(weighted_penalty);
        let mut certificate = dual.certify(&evaluation, worst, weighted_penalty);
        if let (Some(_), Some(better)) = (certificate.dual, better) {
            let mut there = sums(Some(better));
            see_all(windows, &mut there)?;
            passes += 1;
            let (_, _, dual) = there.finish(weighted_penalty);
            let bound = dual.bound(weighted_penalty, certificate.objective);
            certificate = bound.map_or(certificate, |bound| certificate.at_least(bound));
        }
        self.check_bound(&certificate, data)?;
        let worst = there.worst(&certificate, features);
        Ok(Proved { certificate, heads: Vec::new(), worst, rows: windows.rows(), passes: Some(passes) })
    }
}

/// Adds all rows to the sums.
fn see_all(windows: &Windows, sums: &mut StreamedGap) -> Result<()> {
    windows.pass(&mut |batch| {
        sums.add(batch.examples());
        Ok(())
    })
}
