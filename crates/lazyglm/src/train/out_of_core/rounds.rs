//! Rounds of one solve and one pass, until the duality gap is within the tolerance.

use super::counted;
use super::passes::Seen;
use super::sample;
use super::working_set::WorkingSet;
use crate::eval::objective::{self, Evaluation, Objective};
use crate::model::report::{Stop, Validation};
use crate::model::trained::Trained;
use crate::optim::newton::{NewtonProgress, NewtonStop, Options};
use crate::problem::settings::Start;
use crate::train::evaluate::reported;
use crate::train::holdout::Fitted;
use crate::train::job::Job;
use crate::train::minimiser::STEPS;
use crate::train::progress::{Progress, Stage};
use crate::util::error::{Error, Kind, Result};
use crate::util::number::positive_part;
use std::time::Instant;

/// Largest number of passes. A problem needs about three to eight.
const PASSES: u64 = 60;
/// Tolerance of the restricted problem while many columns are missing.
const ROUGH: f64 = 1e-3;
/// Few columns are missing if they are at most one in this many of the non-zero weights.
const FEW: usize = 50;
/// Share of the tolerance for the gap of the restricted problem.
const SHARE: f64 = 1.0 / 3.0;
/// The smallest tolerance of the restricted problem.
const FINEST: f64 = 1e-13;

/// The result of the rounds.
pub(super) enum Outcome {
    /// The model, with its certificate.
    Done(Box<Trained>),
    /// The columns do not fit into memory: the best point so far, and the number of passes made.
    TooLarge { start: Start, passes: u64 },
}

/// When rounds end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// At a duality gap within the tolerance.
    Gap,
    /// At a predicted decrease within the tolerance, with all columns there, if the gap is loose.
    Decrease,
    /// As soon as few columns are missing, for a model that is compared with others.
    Roughly,
}

/// The point with the lowest objective so far, as evaluated in a pass.
struct Best {
    start: Start,
    objective: Objective,
    violation: f64,
}

/// The state of the rounds.
pub(super) struct Rounds<'a, 'w> {
    job: &'a Job<'a>,
    set: WorkingSet<'a>,
    until: Until,
    best: Option<Best>,
    bound: Option<f64>,
    predicted_decrease: f64,
    null: [f64; 2], // λ₁_max and the objective without weights
    progress: Progress,
    started: Instant,
    watch: &'w mut (dyn FnMut(&Progress) + Send),
}

impl<'a, 'w> Rounds<'a, 'w> {
    /// Finds the starting point on a sample of the rows.
    pub fn begin(
        job: &'a Job<'a>,
        until: Until,
        watch: &'w mut (dyn FnMut(&Progress) + Send),
    ) -> Result<Rounds<'a, 'w>> {
        let started = Instant::now();
        let set = WorkingSet::new(job, sample::look(job)?);
        let mut progress = Progress::start(PASSES, set.rows as u64);
        progress.stage = Stage::Minimising;
        let (best, bound, predicted_decrease, null) = (None, None, f64::NAN, [f64::NAN; 2]);
        Ok(Rounds { job, set, until, best, bound, predicted_decrease, null, progress, started, watch })
    }

    /// Runs until the gap is within the tolerance, the columns do not fit into memory, or the run is interrupted.
    pub fn run(mut self) -> Result<Outcome> {
        let settings = self.job.settings;
        if settings.interrupted() {
            return Err(Kind::Interrupted.into());
        }
        let Some(mut missing) = self.set.add_wanted() else { return Ok(self.too_large()) };
        let mut finer = 1.0;
        for round in 0..PASSES {
            let (fine, mut stop) = (missing * FEW <= self.set.nonzeros(), NewtonStop::Steps);
            let arriving = self.set.columns.len() - self.set.complete;
            if round > 0 {
                stop = self.solve(fine, finer);
                match stop {
                    _ if settings.interrupted() => return self.done(Stop::Interrupted),
                    NewtonStop::Diverged => return Err(self.diverged()),
                    _ => {}
                }
            }
            match self.pass()? {
                Seen::All => {}
                Seen::TooLarge => return Ok(self.too_large()),
                Seen::Interrupted => return self.done(Stop::Interrupted),
            }
            if self.gap().is_some_and(|gap| gap <= settings.tolerance) {
                return self.done(Stop::Gap);
            }
            let Some(wanted) = self.set.add_wanted() else { return Ok(self.too_large()) };
            missing = wanted;
            let few = missing * FEW <= self.set.nonzeros();
            let all_there = missing == 0 && arriving == 0;
            match self.until {
                Until::Roughly if round > 0 && few => return self.done(Stop::PredictedDecrease),
                Until::Decrease if round > 0 && all_there && fine && self.gap_is_loose() => {
                    return self.done(Stop::PredictedDecrease);
                }
                _ => {}
            }
            if round > 0 && all_there && fine {
                // All columns are there: only a finer solution of the restricted problem can close the gap.
                finer *= 0.1;
                match stop {
                    _ if self.gap_is_void() => return self.done(Stop::PredictedDecrease),
                    NewtonStop::Precision => return self.done(Stop::Precision),
                    _ if finer * settings.tolerance < FINEST => return self.done(Stop::Precision),
                    _ => {}
                }
            }
        }
        self.done(Stop::Steps)
    }

    /// Reports the progress of a pass.
    fn tell(
        progress: &mut Progress,
        watch: &mut (dyn FnMut(&Progress) + Send),
        passes: u64,
        row: u64,
        rows: u64,
    ) {
        (progress.epoch, progress.learnt) = (passes + 1, passes * rows + row);
        progress.epoch_ends = row == rows;
        watch(progress);
    }

    /// Keeps the current point if it is the best so far. An objective or a violation that is infinite or NaN is an error.
    fn enter(&mut self, objective: Objective, violation: f64) -> Result<()> {
        if !objective.total().is_finite() || !violation.is_finite() {
            return Err(self.diverged());
        }
        self.progress.running_loss = objective.total();
        self.progress.nonzeros = Some(self.set.nonzeros());
        if !self.best.as_ref().is_some_and(|best| best.objective.total() <= objective.total()) {
            let start = Start::one(self.set.weights.clone(), self.set.bias);
            self.best = Some(Best { start, objective, violation });
        }
        Ok(())
    }

    /// Solves the restricted problem, roughly or to a share of the tolerance; returns why it stopped.
    fn solve(&mut self, fine: bool, finer: f64) -> NewtonStop {
        let settings = self.job.settings;
        let target = match fine {
            true => SHARE * settings.tolerance * finer,
            false => ROUGH.max(SHARE * settings.tolerance),
        };
        // If the gap is loose, its square is about the distance: Newton's method then stops at the gap alone.
        let loose = self.gap_is_loose() && self.until == Until::Gap;
        let tolerance = if fine && loose { (target * target).max(FINEST) } else { target };
        let (progress, watch) = (&mut self.progress, &mut *self.watch);
        let options = Options { tolerance, steps: STEPS };
        let found = self.set.solve(&options, &mut |look: &NewtonProgress| {
            (progress.running_loss, progress.nonzeros) = (look.objective, Some(look.nonzeros));
            progress.epoch_ends = false;
            watch(progress);
            !(settings.interrupted() || (fine && loose && look.gap <= target))
        });
        self.predicted_decrease = found.predicted_decrease;
        found.stop
    }

    /// One pass at the current point: its objective, a lower bound, and the columns that were missing.
    fn pass(&mut self) -> Result<Seen> {
        let (passes, rows) = (self.set.passes, self.set.rows as u64);
        let (progress, watch) = (&mut self.progress, &mut *self.watch);
        let (seen, found) = self.set.evaluate(&mut |row| Self::tell(progress, watch, passes, row, rows))?;
        let Some(found) = found else { return Ok(seen) };
        let Evaluation { objective, violation, l1_max, baseline } = found.evaluation;
        if self.best.is_none() {
            self.null = [l1_max, baseline]; // of the first pass
        }
        self.enter(objective, violation)?;
        self.bound = self.bound.into_iter().chain(self.set.bound(&found)).reduce(f64::max);
        self.set.dual = Some(found.dual);
        Ok(seen)
    }

    /// The relative gap between the best objective and the best lower bound.
    fn gap(&self) -> Option<f64> {
        let objective = self.best.as_ref()?.objective.total();
        let gap = positive_part(objective - self.bound?);
        Some(if gap == 0.0 { 0.0 } else { gap / objective.abs() })
    }

    /// Whether the gap is of first order in the violation, and the distance of second order.
    fn gap_is_loose(&self) -> bool {
        self.job.settings.penalty.l2 == 0.0 || self.gap_is_void()
    }

    /// Whether some weight has no penalty, so that there is no useful lower bound.
    fn gap_is_void(&self) -> bool {
        let settings = self.job.settings;
        settings.penalty.is_none() || settings.factors.as_ref().is_some_and(|factors| factors.contains(&0.0))
    }

    /// The error for an objective or a quadratic model that is infinite or NaN.
    fn diverged(&self) -> Error {
        let what = "the objective or its quadratic model is infinite or NaN".to_string();
        let hint = "scale the features down, and targets as well if they are numbers".to_string();
        let (place, epoch) = (self.job.problem.file(), self.set.steps);
        Kind::Diverged { place, epoch, step: epoch * self.set.rows as u64, what, hint }.into()
    }

    fn too_large(self) -> Outcome {
        let here = Start::one(self.set.weights, self.set.bias);
        Outcome::TooLarge { start: self.best.map_or(here, |best| best.start), passes: self.set.passes }
    }

    /// The best model so far, and its report.
    fn done(self, stop: Stop) -> Result<Outcome> {
        let (job, gap) = (self.job, self.gap());
        let Some(best) = self.best else { return Err(Kind::Interrupted.into()) }; // no pass was made
        let Start { weights, bias, .. } = best.start;
        let held_out = job.validation.map(|held| {
            let loss = objective::mean_loss(held.examples(), &*held.loss, &weights, bias);
            Validation { loss, best_epoch: self.set.steps }
        });
        let fitted = Fitted {
            heads: Vec::new(),
            epochs: self.set.steps,
            stop,
            seconds: self.started.elapsed().as_secs_f64(),
            validation: held_out,
            ..Fitted::default()
        };
        let [l1_max, baseline] = self.null;
        let Best { objective, violation, .. } = best;
        let evaluation = Evaluation { objective, violation, l1_max, baseline };
        let mut trained = reported(job, 0.0, fitted, (weights, bias), evaluation)?;
        let report = &mut trained.report;
        (report.dual, report.relative_gap) = (self.bound, gap);
        report.passes = Some(self.set.passes);
        report.predicted_decrease = Some(self.predicted_decrease).filter(|decrease| decrease.is_finite());
        let (held, all) = (self.set.columns.len(), job.columns());
        trained.notes.push(format!(
            "rows on disk: Newton's method on {held} of {all} columns, which fit into memory; {} over the rows",
            counted(self.set.passes)
        ));
        Ok(Outcome::Done(Box::new(trained)))
    }
}
