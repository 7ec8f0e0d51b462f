//! The steps of a pass: what the first rows determine, then block by block.

use super::OnePass;
use super::first_rows::{beginning, rate};
use crate::data::dataset::Dataset;
use crate::data::feature_ids::FeatureIds;
use crate::data::features::Features;
use crate::data::format::{Lines, Parsed, Span};
use crate::data::read_config::ReadConfig;
use crate::data::vocabulary::Vocabulary;
use crate::eval::objective;
use crate::optim::sgd::{Diverged, Rule};
use crate::optim::stream::{Learner, learner};
use crate::problem::schedule::{Schedule, Setting};
use crate::problem::source::Problem;
use crate::problem::task::{Task, check_offsets, targets_of};
use crate::train::evaluate::lower_eta0;
use crate::util::error::{Error, Kind, Place, Result};
use crate::util::memory;
use crate::util::parameter::Parameter;
use std::time::Instant;

/// Bytes per feature: the weight, whether it occurs, and two sums.
const PER_FEATURE: usize = 32;

/// A pass that has begun.
pub(super) struct Run<'a> {
    pub pass: &'a OnePass<'a>,
    pub started: Instant,
    pub first: Task,
    pub base: u32,
    least: usize, // columns that are known before they occur
    span: Option<Span>,
    pub eta0: f64,
    pub damped: bool, // the first rows are too few for a search of eta0
    schedule: Box<dyn Schedule>,
    pub learner: Box<dyn Learner>,
    mean_weight: f64, // of the first rows
    pub rows: usize,
    pub weighted: bool,
    pub offsets: bool,
}

impl<'a> Run<'a> {
    /// Determines loss, classes, bias and learning rate from the first rows, which do not depend on how blocks are cut.
    pub fn begin(pass: &'a OnePass<'a>, all: &Parsed, reading: &ReadConfig) -> Result<Run<'a>> {
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
        let (eta0, damped) = match settings.eta0 {
            Some(eta0) => (eta0, false),
            None if !settings.schedule.uses_eta0() => (f64::NAN, false),
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
            damped,
            schedule,
            learner,
            mean_weight,
            rows,
            weighted,
            offsets,
        })
    }

    pub fn learn(&mut self, block: &mut Parsed) -> Result<()> {
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
