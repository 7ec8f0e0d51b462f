//! Training of one head per class or label on rows that are not in memory, by SGD.
//!
//! ```text
//! softmax       all classes learn from each window
//! ovr, labels   as many heads as fit into memory learn from each window; then the next ones
//! ```
//!
//! The learning rate is chosen on a sample of the rows. So is the penalty, if none is given: λ = λ_sample·√(n_sample/n).
//! Each pass over the file then trains all heads whose weights are in memory.

use super::lanes::{FittedBlock, Lanes, merge_blocks};
use super::memory::too_many_weights;
use super::report::{About, Found, reported};
use super::softmax::Coupled;
use super::{FittedHeads, SAMPLED_HEADS, STRIDE, rate, sampled};
use crate::data::rows::Rows;
use crate::eval::objective::{self, Certificate, HeadsEvaluation, IndependentHeads};
use crate::model::trained::Trained;
use crate::optim::sgd::{Diverged, Sample};
use crate::optim::softmax::Softmax;
use crate::problem::heads::{Head, HeadKind};
use crate::problem::penalty::ElasticNet;
use crate::problem::schedule::Schedule;
use crate::problem::settings::Settings;
use crate::problem::solvers::Solver;
use crate::problem::source::{Batch, HeadSums, Problem};
use crate::problem::task::{HeadTargets, Sets, Task};
use crate::train::epoch_loop::Fit;
use crate::train::evaluate::lower_eta0;
use crate::train::holdout::{Evaluated, Evaluation, Holdout};
use crate::train::job::Job;
use crate::train::out_of_core;
use crate::train::penalty_search::{self, Choice, How};
use crate::train::progress::Progress;
use crate::train::retry::{heads_may_retry, until_finite};
use crate::train::units::Unit;
use crate::util::error::{Error, Kind, Place, Result};
use crate::util::parameter::{Parameter, WARNING};
use crate::util::state::Fields;
use rayon::prelude::*;
use std::time::Instant;

/// Bytes per non-zero, per row and per column that the search for a penalty needs.
const SEARCH: [usize; 3] = [44, 200, 64];
/// Additional bytes for each head that is searched together: per row and per column, as Newton's method on a softmax needs.
const PER_HEAD: [usize; 2] = [44, 32];
/// The same for the search for a learning rate; its weights are those of the run.
const RATE: [usize; 3] = [12, 48, 0];
/// The smallest sample to choose a penalty on, in rows.
const LEAST: usize = 500;
/// Memory for the sample if a penalty cannot be chosen.
const LITTLE: usize = 1 << 20;

/// A problem with heads, and how to train it.
#[derive(Clone, Copy)]
struct OnDisk<'a> {
    problem: &'a dyn Problem,
    targets: HeadTargets<'a>,
    sums: &'a HeadSums,
    validation: Option<&'a Task>,
    sample: &'a Task,
}

/// Trains one head per class or label on rows that are not in memory.
pub(in crate::train) fn train(
    problem: &dyn Problem,
    validation: Option<&Task>,
    settings: &Settings,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Trained> {
    let Some(targets) = problem.targets().heads() else {
        return Err(Error::call("the task has no heads", "give targets of classes or labels"));
    };
    let heads = match targets.kind {
        HeadKind::Softmax => targets.names.len(), // a softmax has no sample of its classes
        _ => targets.names.len().min(SAMPLED_HEADS),
    };
    let bytes = [SEARCH[0], SEARCH[1] + heads * PER_HEAD[0], SEARCH[2] + heads * PER_HEAD[1]];
    let whole = Job { problem, validation: None, settings, beside: None };
    let mut sample = out_of_core::copy_some(&whole, bytes, problem.spare_memory())?;
    let enough = sample.len() >= LEAST.min(problem.rows() / 2);
    if !enough {
        sample = out_of_core::copy_some(&whole, RATE, LITTLE)?;
    }
    let sample = &sample;
    let sums = &problem.head_sums()?;
    let job = OnDisk { problem, targets, sums, validation, sample };
    let mut tried = Vec::new();
    let mut settings = settings.clone();
    let by_default = settings.solver == Solver::Auto;
    if by_default {
        if settings.choose_penalty && enough && !problem.loss().has_kinks() {
            let by_newton = Settings { solver: Solver::Newton, ..settings.clone() };
            let some = sampled(sample);
            let found: Choice =
                penalty_search::choose(some.as_ref().unwrap_or(sample), &by_newton, false, watch)?;
            if let How::Minimise(penalty, _) = found.how {
                // More rows need a weaker penalty: the noise of a mean gradient falls with the root of their number.
                let share = (sample.len() as f64 / problem.rows() as f64).sqrt();
                settings.penalty = ElasticNet { l1: share * penalty.l1, l2: share * penalty.l2 };
            }
            tried = found.tried;
        }
        settings.solver = Solver::Sgd;
    }
    let mut trained = until_finite(&settings, &mut |settings| job.fit(settings, watch))?;
    trained.report.tried = tried;
    if by_default {
        let (nouns, epochs) = (targets.kind.nouns(), trained.report.epochs);
        trained.notes.push(format!(
            "the rows are on disk: the {nouns} were trained by {epochs} epochs of SGD, which end near the optimum"
        ));
        if settings.choose_penalty && !enough {
            let (memory, l1) = (Parameter::Memory, Parameter::L1);
            trained.notes.push(format!(
                "{WARNING}the rows are on disk, and {memory} is too little to choose a penalty: raise it, or give {l1}"
            ));
        }
    }
    Ok(trained)
}

impl OnDisk<'_> {
    /// Trains all heads with one penalty.
    fn fit(&self, settings: &Settings, watch: &mut (dyn FnMut(&Progress) + Send)) -> Result<Trained> {
        let started = Instant::now();
        let eta0 = self.eta0(settings)?;
        let rate = rate::schedule(self.problem.rows(), settings, settings.rate_factor * eta0)?;
        let eta0 = rate.eta(0);
        settings.method.check(settings.penalty, eta0)?;
        let mut learnt = match self.targets.kind {
            HeadKind::Softmax => self.softmax(settings, &*rate, watch)?,
            _ => self.independent(settings, &*rate, watch)?,
        };
        let (heads, file) = (self.targets.names.len(), self.problem.file());
        if let (true, Some((_, at))) = (heads_may_retry(settings), learnt.diverged.first()) {
            let what = format!("{} of {heads} heads diverged", learnt.diverged.len());
            let (epoch, hint) = (learnt.fitted.epochs, lower_eta0(eta0));
            return Err(Kind::Diverged { place: file, epoch, step: at.t, what, hint }.into());
        }
        learnt.fitted.seconds = started.elapsed().as_secs_f64();
        let place = |_| -> Place { self.problem.file() };
        let about = About { problem: self.problem, settings, eta0, place: &place };
        reported(&about, learnt, |heads| self.evaluate(settings, heads))
    }

    /// The starting learning rate: the one given, or the best on the sample.
    fn eta0(&self, settings: &Settings) -> Result<f64> {
        if !settings.schedule.uses_eta0() {
            return Ok(f64::NAN); // not used
        }
        if let Some(eta0) = settings.eta0 {
            return Ok(eta0);
        }
        let unit = Unit::of(settings, "rate of heads", self.problem, None)?;
        let mut eta0 = 0.0;
        match (&unit, self.sample.targets.heads()) {
            (Some(unit), _) if unit.checkpoint.find(unit.key, &mut eta0)? => return Ok(eta0),
            (_, Some(targets)) => eta0 = rate::find(self.sample, targets, settings)?,
            (_, None) => {}
        }
        unit.iter().for_each(|unit| unit.checkpoint.put(unit.key, &mut eta0));
        Ok(eta0)
    }

    /// The memory for weights, or an error if it holds less than is needed.
    fn room(&self, needed: usize) -> Result<usize> {
        let room = self.problem.spare_memory();
        if needed <= room {
            return Ok(room);
        }
        let (nouns, heads) = (self.targets.kind.nouns(), self.targets.names.len());
        let what = format!(
            "the weights of {heads} {nouns} need {} MB more than {} leaves",
            (needed - room).div_ceil(1 << 20),
            Parameter::Memory
        );
        let ovr = Parameter::Multiclass.set("ovr");
        let hint = match self.targets.kind {
            HeadKind::Softmax => format!("raise it, or use {ovr}, which trains some classes at a time"),
            _ => format!("raise it, or lower the number of features with {}", Parameter::HashBits),
        };
        Err(Error::call(what, hint))
    }

    fn rule<'r>(
        &'r self,
        settings: &'r Settings,
        rate: &dyn Schedule,
        watch: &'r mut (dyn FnMut(&Progress) + Send),
    ) -> Holdout<'r> {
        let slower = lower_eta0(rate.eta(0));
        Holdout { settings, validation: self.validation, slower, spent: 0.0, watch }
    }

    fn softmax(
        &self,
        settings: &Settings,
        rate: &dyn Schedule,
        watch: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<FittedHeads> {
        let (columns, classes) = (self.problem.features().columns(), self.targets.names.len());
        self.room(Softmax::bytes(columns, classes, settings.precision))?;
        let mut model = Coupled::new(self.problem, settings, rate, classes);
        let fitted = self.rule(settings, rate, watch).fit(&mut model, self.problem)?;
        Ok(FittedHeads { fitted, diverged: Vec::new(), duals: Vec::new(), untouched: 0 })
    }

    fn independent(
        &self,
        settings: &Settings,
        rate: &dyn Schedule,
        watch: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<FittedHeads> {
        let (columns, heads) = (self.problem.features().columns(), self.targets.names.len());
        let lanes = settings.precision.most_lanes().min(heads);
        let block = columns * settings.precision.lane_bytes(lanes);
        let room = self.room(block)?;
        let (mut done, mut first, mut weights) = (Vec::new(), 0, 0);
        while first < heads {
            let blocks = room.saturating_sub(weights * Head::WEIGHT) / block.max(1);
            let count = (lanes * blocks.max(1)).min(heads - first);
            let null = |l: usize| self.null_head(settings, first + l);
            if settings.interrupted() {
                done.push(FittedBlock::untouched((0..count).map(null).collect()));
                first += count;
                continue;
            }
            let blocks = (first..first + count).step_by(lanes);
            let blocks = blocks.map(|at| at..(at + lanes).min(first + count));
            let mut all =
                Abreast(blocks.map(|some| Lanes::new(self.problem, settings, rate, some)).collect());
            let mut tell = |at: &Progress| {
                let part =
                    |rows: u64| rows / heads as u64 * count as u64 + at.total / heads as u64 * first as u64;
                watch(&Progress { learnt: part(at.learnt), ..*at });
            };
            let fitted = self.rule(settings, rate, &mut tell).fit(&mut all, self.problem)?;
            drop(all);
            let (block, more) = FittedBlock::sound(fitted, self.problem.rows(), null);
            weights += more;
            first += count;
            if weights * Head::WEIGHT > room {
                return Err(too_many_weights(room, first, heads));
            }
            done.push(block);
        }
        let all = merge_blocks(done, self.validation.is_some());
        match all.untouched == heads {
            true => Err(Kind::Interrupted.into()), // no head made a step
            false => Ok(all),
        }
    }

    /// The head that replaces an untrained one: no weights, and the best bias.
    fn null_head(&self, settings: &Settings, head: usize) -> Head {
        let rows = self.problem.rows() as f64;
        objective::null_head(self.sums.weights[head], rows, &**self.problem.loss(), settings.bias)
    }

    /// The evaluation of the heads on all rows. A softmax has a certificate if the sums of all its classes fit into memory at once.
    fn evaluate(&self, settings: &Settings, heads: &[Head]) -> Result<Found> {
        let (problem, room, counts) = (self.problem, self.problem.spare_memory(), self.sums.rows.clone());
        let (columns, loss) = (problem.features().columns(), &**problem.loss());
        let (weighted_penalty, with_bias) = (settings.weighted_penalty(), settings.bias);
        let shares: Vec<f64> = self.sums.weights.iter().map(|sum| sum / problem.rows() as f64).collect();
        if self.targets.kind == HeadKind::Softmax {
            let at_once = (room / HeadsEvaluation::bytes(columns).max(1)).max(1);
            let (none, sets, kind) = (Rows::new(), &Sets::default(), self.targets.kind);
            let rows = none.borrow();
            let like = HeadsEvaluation {
                rows,
                weights: None,
                sets,
                kind,
                loss,
                weighted_penalty,
                with_bias,
                at_once,
            };
            let (verdicts, proof) =
                objective::of_softmax_on(problem, columns, &like, &shares, heads, settings.certificate)?;
            return Ok(Found { verdicts, proof, counts });
        }
        let at_once = (room / IndependentHeads::bytes(columns).max(1)).max(1);
        let nonzeros = problem.nonzeros();
        let all =
            IndependentHeads { loss, weighted_penalty, with_bias, heads, shares: &shares, columns, nonzeros };
        let (verdicts, proofs): (Vec<_>, Vec<_>) = all.evaluate(problem, at_once)?.into_iter().unzip();
        let proof = settings.certificate.then(|| Certificate::sum(&proofs));
        Ok(Found { verdicts, proof, counts })
    }
}

/// Blocks of lanes that learn from each window before the next one is read.
struct Abreast<'a>(Vec<Lanes<'a>>);

impl Fit for Abreast<'_> {
    fn learn(&mut self, batch: &Batch, order: &[u32]) -> std::result::Result<Sample, Diverged> {
        let Some(sets) = batch.sets() else { return Ok(Sample::default()) };
        let (rows, weights) = (batch.rows, batch.weights);
        let samples = self.0.par_iter_mut().map(|lanes| lanes.learn_rows((rows, weights), sets, order));
        let samples: Vec<Sample> = samples.collect();
        let weight = samples.first().map_or(0.0, |sample| sample.weight); // of the same rows
        Ok(Sample { sum: samples.iter().map(|sample| sample.sum).sum(), weight })
    }

    fn fields(&mut self, fields: &mut Fields) {
        self.0.iter_mut().for_each(|lanes| lanes.fields(fields));
    }
}

impl Evaluated for Abreast<'_> {
    fn t(&self) -> u64 {
        self.0.first().map_or(0, Lanes::t)
    }

    fn units(&self) -> usize {
        self.0.iter().map(Lanes::units).sum()
    }

    fn number(&self) -> u64 {
        self.0.first().map_or(0, Lanes::number)
    }

    fn lost(&self) -> Vec<(usize, Diverged)> {
        let mut first = 0;
        let of_block = |lanes: &Lanes| {
            let lost: Vec<_> = lanes.lost().into_iter().map(|(l, at)| (first + l, at)).collect();
            first += lanes.units();
            lost
        };
        self.0.iter().flat_map(of_block).collect()
    }

    fn evaluate(&mut self, validation: Option<&Task>) -> Evaluation {
        let each: Vec<Evaluation> = self.0.par_iter_mut().map(|lanes| lanes.evaluate(validation)).collect();
        let losses: Option<Vec<Vec<f64>>> = each.into_iter().map(|one| one.losses).collect();
        Evaluation { finite: true, nonzeros: None, losses: losses.map(|losses| losses.concat()) }
    }

    fn heads(&self, unit: usize) -> Vec<Head> {
        let width = self.0.first().map_or(1, Lanes::units); // the last block may have fewer lanes
        self.0[unit / width].heads(unit % width)
    }

    fn nonzeros(&self) -> Option<usize> {
        None
    }

    /// A row costs as much as one per head elsewhere.
    fn stride(&self) -> usize {
        (STRIDE / self.units().max(1)).clamp(1, 8192)
    }
}
