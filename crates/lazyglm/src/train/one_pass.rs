//! One pass over rows that can be read once, such as standard input, in memory that does not depend on their number.
//!
//! ```text
//! beginning   the first rows: loss, classes, bias and learning rate       they stay in memory, and nothing else does
//! block       for each row: score, slope, step, penalty step (lazy)       weights grow with the features
//! sums        cⱼ = Σ ω(ℓ′xⱼ − ℓ″xⱼ²wⱼ),  hⱼ = Σ ωℓ″xⱼ²                     at the weights before the step on each row
//! zero test   wⱼ ← 0  where  |cⱼ|/n ≤ λ₁                                  with g = (c + h∘w)/n for [`zero_test`]
//! ```
//! The test counts only if it lowers the objective of the first rows. A search on few rows says little, so their learning rate is
//! damped (`first_rows`).

mod end;
mod first_rows;
mod run;
mod streamed;

pub use streamed::Streamed;

use crate::data::feature_ids::FeatureIds;
use crate::data::features::Declared;
use crate::data::format::{Lines, Parsed, ReadOptions};
use crate::data::read_config::Input;
use crate::model::report::Stop;
use crate::model::trained::Trained;
use crate::problem::loss::Loss;
use crate::problem::settings::{Precision, Settings};
use crate::util::error::{Error, Kind, Place, Result};
use crate::util::parameter::Parameter;
use run::Run;
use std::path::Path;
use std::sync::Arc;

/// The first rows are at most so many, with at most so many non-zeros.
const FIRST: (usize, usize) = (10_000, 1 << 22);

/// What to train in one pass.
pub struct OnePass<'a> {
    /// The rows; `-` is standard input.
    pub path: &'a Path,
    /// How to read them.
    pub asked: &'a ReadOptions,
    /// Base and number of features.
    pub declared: Declared,
    /// Penalty, learning rate, schedule, method, precision, bias and interruption.
    pub settings: &'a Settings,
    /// The loss; the default depends on the first targets.
    pub loss: Option<Arc<dyn Loss>>,
    /// Whether numbers as targets are classes.
    pub classify: bool,
}

/// The model of one pass.
pub struct Passed {
    /// The features and the kind of targets, without rows.
    pub problem: Streamed,
    /// The weights. The loss of the report is the mean of each row's loss before the step on it.
    pub trained: Trained,
    /// Number of weights that the zero test has set to zero.
    pub zeroed: usize,
    /// Number of rows at the beginning, which have determined the loss, the bias and the learning rate.
    pub first: usize,
    /// Whether these rows were too few for a search of the learning rate, which is therefore nearer to the rate at which a step
    /// just about cancels the error of its row.
    pub damped: bool,
}

impl OnePass<'_> {
    /// Reads all rows once and trains a model on them.
    pub fn run(&self) -> Result<Passed> {
        let mut input = Input::open(self.path, self.asked, None)?;
        let reading = input.reading.clone();
        if reading.has_idf() {
            let hint = format!("leave {} out, or put idf=no into {}", Parameter::Passes, Parameter::Text);
            return Err(Error::call(
                "idf needs the number of rows with each word before the first step",
                hint,
            ));
        }
        let mut feature_ids = reading.hash_bits.map_or(Ok(FeatureIds::Indices), FeatureIds::hashed)?;
        let as_f32 = self.settings.precision == Precision::F32;
        input.as_f32 = as_f32 && reading.hash_bits.is_none();
        let mut gathered = Some(Parsed::default());
        let mut run: Option<Run> = None;
        let done = input.for_each_named(Vec::new(), &mut feature_ids, &mut |block| {
            if self.settings.interrupted() {
                return Err(Kind::Interrupted.into()); // nothing more is read
            }
            match (&mut run, &mut gathered) {
                (Some(run), _) => run.learn(block),
                (None, Some(all)) => {
                    if let Err(row) = all.append(block, as_f32) {
                        return Err(self.too_large(&all.lines, row));
                    }
                    if all.rows.len() >= FIRST.0 || all.rows.nonzeros() >= FIRST.1 {
                        let mut all = gathered.take().unwrap_or_default();
                        run.insert(Run::begin(self, &all, &reading)?).learn(&mut all)?;
                    }
                    Ok(())
                }
                (None, None) => Ok(()),
            }
        });
        let stop = match done {
            Ok(()) => Stop::Epochs,
            Err(error) if matches!(error.kind(), Kind::Interrupted) && run.is_some() => Stop::Interrupted,
            Err(error) => return Err(error),
        };
        let run = match (run, gathered) {
            (Some(run), _) => run,
            (None, gathered) => {
                let mut all = gathered.unwrap_or_default();
                let mut run = Run::begin(self, &all, &reading)?;
                run.learn(&mut all)?;
                run
            }
        };
        reading.check(&feature_ids)?;
        Ok(run.end(feature_ids, reading, stop))
    }

    fn too_large(&self, lines: &Lines, row: usize) -> Error {
        let what = "a value is too large for f32 (3.4e38)";
        let hint = format!("scale the feature down, or use {}", Parameter::Precision.set("f64"));
        Error::data(Place::file(self.path).line(lines.of(row)), what, hint)
    }
}
