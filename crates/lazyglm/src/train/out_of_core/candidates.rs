//! Candidates for a model without a given penalty, trained on the rows on disk and judged on the rows that are held out.
//!
//! ```text
//! optima           λ, λ/√10, λ/10, …       from the penalty of a sample downwards, while the held-out loss falls
//! FTRL-Proximal    three weak penalties, then half the rate, and half of that while the held-out loss falls
//! ```
//!
//! A sample has fewer rows than the data, and fewer rows need a stronger penalty. So the optima go downwards only.

use super::rounds::{Outcome, Rounds, Until};
use crate::eval::objective::NullModel;
use crate::model::report::{Stop, Tried};
use crate::model::trained::Trained;
use crate::problem::heads::Head;
use crate::problem::penalty::ElasticNet;
use crate::problem::settings::{Settings, Start};
use crate::problem::solvers::Solver;
use crate::problem::task::Task;
use crate::train::fold::digits;
use crate::train::ftrl_candidate::{self, FtrlCandidate, SHARES};
use crate::train::holdout_score::HoldoutScore;
use crate::train::job::Job;
use crate::train::penalty_search::{MARGIN, SLACK, raised};
use crate::train::progress::{Progress, Stage};
use crate::train::{ftrl, stochastic};
use crate::util::error::{Error, Kind, Result};
use std::sync::Arc;
use std::time::Instant;

/// Largest number of optima along the ray.
const OPTIMA: usize = 6;
/// Tolerance of an optimum that is compared with others.
const TOLERANCE: f64 = 5e-3;
/// Largest number of epochs of FTRL-Proximal, and the number of epochs without a gain that ends a run.
const EPOCHS: u64 = 16;
const PATIENCE: u64 = 1;
/// Largest number of times that the rate is halved.
const HALVINGS: u32 = 2;

/// A model that was trained without the rows held out.
pub(super) struct Candidate {
    pub how: How,
    pub held: HoldoutScore,
    pub start: Arc<Start>,
    /// Its number among all that were tried.
    pub number: usize,
}

/// How to train on all rows.
pub(super) enum How {
    /// The optimum with this penalty.
    Optimum(ElasticNet),
    /// FTRL-Proximal, for the number of epochs found.
    Ftrl(FtrlCandidate),
}

/// The comparison of candidates.
pub(super) struct Comparison<'a> {
    job: &'a Job<'a>, // on the rows learnt
    held: &'a Task,
    nothing: [Head; 1], // the best bias without weights
    pub tried: Vec<Tried>,
    pub optimum: Option<Candidate>,
    pub ftrl: Option<Candidate>,
    /// Whether the columns of an optimum did not fit into memory.
    pub too_large: bool,
    watch: &'a mut (dyn FnMut(&Progress) + Send),
}

impl<'a> Comparison<'a> {
    /// A comparison without candidates.
    pub fn new(
        job: &'a Job<'a>,
        held: &'a Task,
        watch: &'a mut (dyn FnMut(&Progress) + Send),
    ) -> Comparison<'a> {
        let bias = NullModel::new(&job.problem.pooled(), job.loss(), job.settings.bias).bias();
        let nothing = [Head { bias, ..Head::default() }];
        let (tried, optimum, ftrl, too_large) = (Vec::new(), None, None, false);
        Comparison { job, held, nothing, tried, optimum, ftrl, too_large, watch }
    }

    /// Goes down a ray of penalties while the held-out loss falls.
    pub fn optima(&mut self, mut penalty: ElasticNet, mut start: Arc<Start>) -> Result<()> {
        for _ in 0..OPTIMA {
            let settings = Settings {
                solver: Solver::Newton,
                penalty,
                start: Some(start.clone()),
                tolerance: TOLERANCE,
                choose_penalty: false,
                ..self.job.settings.clone()
            };
            let job = Job { settings: &settings, ..*self.job };
            let (started, count) = (Instant::now(), self.tried.len() as u64);
            let watch = &mut |_: &Progress| (self.watch)(&choosing(count, None));
            let outcome = Rounds::begin(&job, Until::Roughly, watch).and_then(Rounds::run);
            let trained = match found(outcome)? {
                Some(Outcome::Done(trained)) if trained.report.stop != Stop::Interrupted => trained,
                Some(Outcome::TooLarge { .. }) => {
                    self.too_large = true;
                    break;
                }
                _ => break,
            };
            let next = self.judged(How::Optimum(penalty), &trained, started);
            start = next.start.clone();
            let last = self.optimum.as_ref().map_or(f64::INFINITY, |best| best.held.loss());
            if next.held.loss() >= raised(last, -SLACK) {
                break; // more weights for no gain
            }
            self.optimum = Some(next);
            let lower = |l: f64| digits(l / 10f64.sqrt());
            penalty = ElasticNet { l1: lower(penalty.l1), l2: lower(penalty.l2) };
        }
        Ok(())
    }

    /// Tries FTRL-Proximal: the penalties first, then lower rates with the best of them.
    pub fn follow_leaders(&mut self, units: ElasticNet) -> Result<()> {
        let penalty = ftrl_candidate::penalty(units, SHARES[1]);
        let settings = Settings { penalty, eta0: None, epochs: 2, ..base(self.job.settings) };
        let Some(eta) = found(ftrl::rate(&Job { settings: &settings, ..*self.job }))? else { return Ok(()) };
        for share in SHARES {
            self.follow_leader(ftrl_candidate::penalty(units, share), digits(eta))?;
        }
        for halving in 1..=HALVINGS {
            let Some((How::Ftrl(best), number)) = self.ftrl.as_ref().map(|best| (&best.how, best.number))
            else {
                break;
            };
            let (penalty, eta) = (best.penalty, digits(eta * 0.5f64.powi(halving as i32)));
            self.follow_leader(penalty, eta)?;
            if self.ftrl.as_ref().is_some_and(|best| best.number == number) {
                break; // no gain
            }
        }
        Ok(())
    }

    fn follow_leader(&mut self, penalty: ElasticNet, eta: f64) -> Result<()> {
        let settings = Settings { penalty, eta0: Some(eta), ..base(self.job.settings) };
        if settings.interrupted() {
            return Ok(());
        }
        let (started, count) = (Instant::now(), self.tried.len() as u64);
        let watch = &mut |_: &Progress| (self.watch)(&choosing(count, None));
        let Some(trained) = found(stochastic::train(self.job.problem, Some(self.held), &settings, watch))?
        else {
            return Ok(());
        };
        let epochs = trained.report.validation.as_ref().map_or(1, |held| held.best_epoch.max(1));
        let candidate = FtrlCandidate { penalty, eta, epochs, held: HoldoutScore::LOST, number: 0 };
        let next = self.judged(How::Ftrl(candidate), &trained, started);
        let last = self.ftrl.as_ref().map_or(f64::INFINITY, |best| best.held.loss());
        if next.held.loss() < last {
            self.ftrl = Some(next);
        }
        Ok(())
    }

    /// Evaluates a candidate on the held-out rows.
    fn judged(&mut self, how: How, trained: &Trained, started: Instant) -> Candidate {
        let head = Head::of(trained.weights.iter().copied(), trained.bias);
        let held = HoldoutScore::of(self.held, &[head], &self.nothing, None);
        let (report, number) = (&trained.report, self.tried.len());
        self.tried.push(Tried {
            solver: report.solver,
            l1: report.l1,
            l2: report.l2,
            loss: held.loss(),
            se: held.se(),
            nonzeros: report.nonzeros,
            rows: self.job.problem.rows() - self.held.len(),
            seconds: started.elapsed().as_secs_f64(),
            chosen: false,
        });
        (self.watch)(&choosing(number as u64, Some((held.loss(), report.nonzeros))));
        let start = Arc::new(Start::one(trained.weights.clone(), trained.bias));
        Candidate { how, held, start, number }
    }

    /// The best candidate. The optimum is preferred, since it has a certificate.
    pub fn best(self) -> (Option<Candidate>, Vec<Tried>, bool) {
        let best = match (self.optimum, self.ftrl) {
            (Some(optimum), Some(ftrl)) if ftrl.held.loss() < raised(optimum.held.loss(), -MARGIN) => {
                Some(ftrl)
            }
            (optimum, ftrl) => optimum.or(ftrl),
        };
        let mut tried = self.tried;
        best.iter().for_each(|best| tried[best.number].chosen = true);
        (best, tried, self.too_large)
    }
}

/// The settings of a run of FTRL-Proximal that stops early.
fn base(settings: &Settings) -> Settings {
    Settings {
        epochs: EPOCHS,
        early_stop: Some(PATIENCE),
        choose_penalty: false,
        runs: 1,
        ..ftrl_candidate::base(settings)
    }
}

/// A result, unless the run was interrupted or diverged: then another candidate is better.
fn found<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if gives_up(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn gives_up(error: &Error) -> bool {
    matches!(error.kind(), Kind::Interrupted | Kind::Diverged { .. })
}

/// The progress of the choice: the candidate with this number is being trained, or has these loss and non-zeros.
fn choosing(number: u64, done: Option<(f64, usize)>) -> Progress {
    let mut progress = Progress::start(number + 2, 1);
    (progress.epoch, progress.learnt) = (number + 1, number + u64::from(done.is_some()));
    progress.epoch_ends = done.is_some();
    (progress.validation_loss, progress.nonzeros) = (done.map(|done| done.0), done.map(|done| done.1));
    progress.stage = Stage::Choosing;
    progress
}
