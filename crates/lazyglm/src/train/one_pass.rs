//! One pass over rows that can be read once, such as standard input, in memory that does not depend on their number.
//!
//! ```text
//! beginning   the first rows: loss, classes, bias and learning rate       they stay in memory, and nothing else does
//! block       for each row: score, slope, step, penalty step (lazy)       weights grow with the features
//! sums        cⱼ = Σ ω(ℓ′xⱼ − ℓ″xⱼ²wⱼ),  hⱼ = Σ ωℓ″xⱼ²                     at the weights before the step on each row
//! zero test   wⱼ ← 0  where  |cⱼ|/n ≤ λ₁                                  with g = (c + h∘w)/n for [`zero_test`]
//! ```
//! The test counts only if it lowers the objective of the first rows.

mod streamed;

pub use streamed::Streamed;

use super::evaluate::lower_eta0;
use super::zero_test::TIMES;
use crate::data::dataset::Dataset;
use crate::data::feature_ids::FeatureIds;
use crate::data::features::{Declared, Features};
use crate::data::format::{Lines, Parsed, ReadOptions, Span};
use crate::data::read_config::{Input, ReadConfig};
use crate::data::rows::Examples;
use crate::data::vocabulary::Vocabulary;
use crate::eval::objective;
use crate::model::report::{Report, Stop};
use crate::model::trained::Trained;
use crate::optim::sgd::{Diverged, Rule};
use crate::optim::shard::zero_test;
use crate::optim::starting_rate::{self, Extent, Trial};
use crate::optim::stream::{Learner, learner};
use crate::problem::loss::Loss;
use crate::problem::schedule::{Schedule, Setting};
use crate::problem::settings::{Precision, Settings};
use crate::problem::solvers::Solver;
use crate::problem::source::Problem;
use crate::problem::task::{Targets, Task, check_offsets, targets_of};
use crate::util::error::{Error, Kind, Place, Result};
use crate::util::memory;
use crate::util::parameter::Parameter;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The first rows are at most so many, with at most so many non-zeros.
const FIRST: (usize, usize) = (10_000, 1 << 22);

/// Bytes per feature: the weight, whether it occurs, and two sums.
const PER_FEATURE: usize = 32;

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

struct Run<'a> {
    pass: &'a OnePass<'a>,
    started: Instant,
    first: Task,
    base: u32,
    least: usize, // columns that are known before they occur
    span: Option<Span>,
    eta0: f64,
    schedule: Box<dyn Schedule>,
    learner: Box<dyn Learner>,
    mean_weight: f64, // of the first rows
    rows: usize,
    weighted: bool,
    offsets: bool,
}

impl<'a> Run<'a> {
    /// Determines loss, classes, bias and learning rate from the first rows, which do not depend on how blocks are cut.
    fn begin(pass: &'a OnePass<'a>, all: &Parsed, reading: &ReadConfig) -> Result<Run<'a>> {
        let (settings, started) = (pass.settings, Instant::now());
        if all.span.is_none() && reading.hash_bits.is_none() {
            pass.declared.check(&FeatureIds::Words(Vocabulary::default()))?;
        }
        let mut some = all.clone();
        some.labels.unify_booleans();
        let features = Features::columns_from(0, some.rows.columns());
        let mut data = beginning(Dataset::of_blocks(some, features, reading.clone(), pass.path)?);
        let base = match all.span.filter(|_| reading.hash_bits.is_none()) {
            None => 0,
            Some(_) => {
                let from_zero = data.rows.ids().contains(&0);
                pass.declared.base.unwrap_or(u32::from(!from_zero))
            }
        };
        let columns = data.rows.columns().saturating_sub(base as usize);
        if !data.rows.ids_are_in(base as usize..usize::MAX) {
            return Err(below(pass, all.span, base));
        }
        data.rows.count_from(base, columns)?;
        let count = data.rows.len();
        let builder = Task::builder(data).loss(pass.loss.clone());
        let first = if pass.classify { builder.classify().build()? } else { builder.build()? };
        if first.targets.heads().is_some() {
            let what = format!(
                "{} trains one model, and there are more than two classes, or labels",
                Parameter::Passes
            );
            let hint = format!(
                "leave {} out: all rows are then kept, and can be read several times",
                Parameter::Passes
            );
            return Err(Error::call(what, hint));
        }
        let rows = first.len() as u64;
        let schedule = |eta0: f64| {
            let setting = Setting { eta0, l2: settings.penalty.l2, rows: None, epochs: 1 };
            let (name, _) =
                settings.schedule.text().split_once(':').unwrap_or((settings.schedule.text(), ""));
            let in_rows = ["bottou", "inverse", "inverse-sqrt", "power"].contains(&name); // t0 is in rows
            settings.schedule.resolve(&Setting { rows: in_rows.then_some(rows), ..setting })
        };
        schedule(1.0)?; // a schedule that needs the number of rows
        let eta0 = match settings.eta0 {
            Some(eta0) => eta0,
            None if !settings.schedule.uses_eta0() => f64::NAN,
            None => rate(&first, settings)?,
        };
        let schedule = schedule(eta0)?;
        let eta0 = schedule.eta(0);
        settings.method.check(settings.penalty, eta0)?;
        let sums = settings.penalty.l1 > 0.0 && !first.loss.has_kinks();
        let mut learner = learner(settings, sums);
        if settings.bias {
            learner.begin_at(objective::starting_bias(&*first.loss, first.pooled()));
        }
        let weights = || all.weights.iter().take(count).filter(|weight| **weight > 0.0);
        let mean_weight = weights().sum::<f64>() / weights().count().max(1) as f64;
        let mean_weight = if mean_weight > 0.0 { mean_weight } else { 1.0 };
        let least = reading.hash_bits.map_or(pass.declared.count.unwrap_or(0), |bits| 1 << bits);
        let (span, rows, weighted, offsets) = (None, 0, false, false);
        Ok(Run {
            pass,
            started,
            first,
            base,
            least,
            span,
            eta0,
            schedule,
            learner,
            mean_weight,
            rows,
            weighted,
            offsets,
        })
    }

    fn learn(&mut self, block: &mut Parsed) -> Result<()> {
        let path = self.pass.path;
        let place = |lines: &Lines, i: usize| Place::file(path).line(lines.of(i));
        if let Some(row) = block.unlabelled {
            let hint = "give each row its target";
            return Err(Error::data(place(&block.lines, row), "this row has no target", hint));
        }
        let lines = &block.lines;
        let targets =
            targets_of(&block.labels, &*self.first.loss, self.first.targets.classes(), &|i| place(lines, i))?;
        check_offsets(&block.offsets, &|i| place(lines, i))?;
        self.check_span(block.span)?;
        let columns = block.rows.columns().saturating_sub(self.base as usize);
        let columns = columns.max(self.least).max(self.learner.columns());
        if columns.saturating_mul(PER_FEATURE) > memory::room() {
            let what = format!("weights of {columns} features do not fit into memory");
            return Err(Error::call(
                what,
                format!("give {}, which limits their number", Parameter::HashBits),
            ));
        }
        self.learner.grow(columns);
        block.rows.count_from(self.base, columns)?;
        let weight = |i: usize| block.weights.get(i).map_or(1.0, |own| own / self.mean_weight);
        let known = |i: usize| [targets[i], weight(i), block.offset(i)];
        let rule = Rule { loss: &*self.first.loss, schedule: &*self.schedule };
        let done = self.learner.learn(&rule, block.rows.borrow(), &known);
        self.rows += block.rows.len();
        self.weighted |= !block.weights.is_empty();
        self.offsets |= !block.offsets.is_empty();
        done.map_err(|lost: Diverged| {
            let Diverged { row, t, score, slope } = lost;
            let what = format!("a score of {score} with a slope of {slope}");
            let hint = lower_eta0(self.eta0);
            Kind::Diverged { place: place(lines, row), epoch: 1, step: t, what, hint }.into()
        })
    }

    /// Keeps the range of indices, and refuses those below the first.
    fn check_span(&mut self, span: Option<Span>) -> Result<()> {
        self.span = Span::of_both(self.span, span);
        let (path, base) = (self.pass.path, self.base);
        let place = |line: u64, column: u64| Place::file(path).line(line).column(column);
        match self.span {
            Some(Span { low, .. }) if low.index < base => Err(below(self.pass, self.span, base)),
            Some(Span { high, .. }) => {
                let most = self.pass.declared.count.unwrap_or(usize::MAX);
                let found = high.index as usize + 1 - base as usize;
                if found <= most {
                    return Ok(());
                }
                let what = format!("index {} is beyond the {most} features declared", high.index);
                let hint = format!("raise {} to {found} or more", Parameter::Features);
                Err(Error::data(place(high.line, high.column), what, hint))
            }
            None => Ok(()),
        }
    }

    fn end(self, feature_ids: FeatureIds, reading: ReadConfig, stop: Stop) -> Passed {
        let (settings, loss, bias) = (self.pass.settings, self.first.loss.clone(), self.learner.bias());
        let (weights, n) = (self.learner.weights(), self.rows.max(1) as f64);
        let count = weights.len();
        let fewer = self.tested(&weights, bias, n);
        let nonzeros = |weights: &[f64]| objective::nonzeros(weights);
        let zeroed = fewer.as_ref().map_or(0, |fewer| nonzeros(&weights) - nonzeros(fewer));
        let weights = fewer.unwrap_or(weights);
        let (mean, penalty) = (self.learner.loss() / n, settings.weighted_penalty().value(&weights));
        let report = Report {
            objective: mean + penalty,
            loss: mean,
            penalty,
            l1: settings.penalty.l1,
            l2: settings.penalty.l2,
            nonzeros: nonzeros(&weights),
            features: count,
            rows: self.rows,
            epochs: 1,
            runs: 1,
            eta0: self.eta0,
            seconds_train: self.started.elapsed().as_secs_f64(),
            solver: Solver::Sgd,
            stop,
            ..Report::default()
        };
        let mut features = Features::columns_from(self.base, count);
        features.feature_ids = Arc::new(feature_ids);
        let targets = match self.first.targets.classes() {
            Some(classes) => Targets::Binary { classes: classes.clone(), signs: Vec::new() },
            None => Targets::Real(Vec::new()),
        };
        let first = self.first.len();
        let problem = Streamed {
            rows: self.rows,
            loss,
            targets,
            features,
            occurs: self.learner.occurs().to_vec(),
            reading,
            weighted: self.weighted,
            offsets: self.offsets,
            file: Place::file(self.pass.path),
        };
        Passed { problem, trained: Trained::one(weights, bias, report), zeroed, first }
    }

    /// The weights after the zero test, if it lowers the objective of the first rows.
    fn tested(&self, weights: &[f64], bias: f64, n: f64) -> Option<Vec<f64>> {
        let (from_zero, curvature) = self.learner.sums()?;
        let weighted_penalty = self.pass.settings.weighted_penalty();
        let mean =
            |sums: &[f64]| (0..weights.len()).map(|j| sums.get(j).map_or(0.0, |sum| sum / n)).collect();
        let (from_zero, curvature): (Vec<f64>, Vec<f64>) = (mean(from_zero), mean(curvature));
        let gradient: Vec<f64> =
            (0..weights.len()).map(|j| from_zero[j] + curvature[j] * weights[j]).collect();
        let mut first = self.first.data.rows.clone();
        first.declare_columns(weights.len());
        let examples = Examples { rows: first.borrow(), ..self.first.examples() };
        let f = |weights: &[f64]| {
            objective::mean_loss(examples, &*self.first.loss, weights, bias) + weighted_penalty.value(weights)
        };
        let before = f(weights);
        TIMES.into_iter().find_map(|times| {
            let mut fewer = weights.to_vec();
            let curvature: Vec<f64> = curvature.iter().map(|h| times * h).collect();
            let some = zero_test(&mut fewer, &gradient, &curvature, &weighted_penalty) > 0;
            (some && f(&fewer) < before).then_some(fewer)
        })
    }
}

fn below(pass: &OnePass, span: Option<Span>, base: u32) -> Error {
    let place = Place::file(pass.path);
    let (place, index) = match span {
        Some(Span { low, .. }) => (place.line(low.line).column(low.column), low.index),
        None => (place, 0),
    };
    let what = format!("index {index} occurs, and indices begin at {base}");
    Error::data(place, what, format!("give {}", Parameter::IndexBase.set(0)))
}

fn beginning(data: Dataset) -> Dataset {
    let ends = data.rows.borrow().offsets().to_vec();
    let within = |&i: &usize| i == 0 || (i < FIRST.0 && ends[i + 1] <= FIRST.1);
    let rows: Vec<usize> = (0..data.rows.len()).take_while(within).collect();
    data.select(&rows)
}

fn rate(first: &Task, settings: &Settings) -> Result<f64> {
    let order: Vec<u32> = (0..first.len() as u32).collect();
    let trial = Trial {
        examples: first.examples(),
        order: &order,
        rows: first.len() as u64,
        extent: Extent::of(first.examples()),
        loss: &*first.loss,
        penalty: settings.penalty,
        method: settings.method,
        schedule: &settings.schedule,
        epochs: 1,
        bias: settings.bias,
        go_on: &|| !settings.interrupted(),
    };
    starting_rate::find(&trial).map(|found| found.eta0)
}
