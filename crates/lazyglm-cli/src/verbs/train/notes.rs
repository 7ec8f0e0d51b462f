//! Notes and warnings about a training run.

use crate::args::Train;
use crate::plan::tolerance_is_idle;
use crate::print::{self, note, warning};
use lazyglm::loss::Admits;
use lazyglm::{Problem, Report, Settings, Solver, Stop, Targets, Trained};

/// Prints the notes and warnings about a run that has ended.
pub(super) fn comment(args: &Train, settings: &Settings, trained: &Trained, problem: &dyn Problem) {
    let report = &trained.report;
    let heads = problem.targets().heads();
    if let Some(heads) = heads
        && args.tolerance.is_some()
        && args.multiclass.is_none()
        && !args.multilabel
        && args.task != Some(crate::args::Task::Multilabel)
    {
        let text = tolerance_is_idle(settings.solver, heads.kind); // with these flags, it was printed before
        text.iter().for_each(|text| note(args.quiet, text)); // it warns
    }
    if has_only_zeros(problem) {
        let text = "all targets are zero: there is no minimum, because a lower bias is always better, and predictions are close to zero. \
                    Check the targets";
        return warning(text);
    }
    if settings.solver == Solver::Auto && (heads.is_none() || report.solver == Solver::Newton) {
        note(args.quiet, &did(settings, report, problem.in_memory().is_none()));
    }
    match report.stop {
        Stop::Interrupted => warning(&interrupted(report)),
        Stop::NoMinimum => warning(
            "there is no minimum: the classes are linearly separable, so that larger weights are always better without a penalty. \
             Give --l1 or --l2",
        ),
        Stop::Steps if settings.penalty.is_none() => warning(&format!(
            "no minimum within {} steps: without a penalty there may be none (linearly separable classes). Give --l1 or --l2",
            report.epochs
        )),
        Stop::Steps => {
            let text = format!(
                "--tolerance {:?} was not reached within {} steps",
                settings.tolerance, report.epochs
            );
            warning(&text);
        }
        Stop::Precision => warning(&format!(
            "--tolerance {:?} was not reached: the objective does not decrease further in this precision",
            settings.tolerance
        )),
        _ => {}
    }
    let has_rate = match report.solver {
        Solver::Sgd => report.tried.is_empty() && settings.schedule.uses_eta0(),
        Solver::Adagrad | Solver::Ftrl => true,
        _ => false,
    };
    if has_rate && settings.eta0.is_none() && report.tried.is_empty() && report.eta0 > 0.0 {
        note(
            args.quiet,
            &format!(
                "eta0 {}, the best of a search on a sample of the rows",
                print::significant(report.eta0)
            ),
        );
    }
    if let Some(place) = &trained.held_down_by {
        note(
            args.quiet,
            &format!(
                "eta0 is held down by the row at {place}: if its values are much larger than those of other rows, scale the features"
            ),
        );
    }
    let none = report.stop == Stop::NoMinimum;
    if !none && report.objective > report.baseline + 1e-9 * report.baseline.abs() + f64::MIN_POSITIVE {
        let baseline = print::decimals(report.baseline, 6);
        let rest = if heads.is_some() { "the biases alone" } else { "the bias alone" };
        warning(&format!(
            "this model is worse than {rest}, which has the objective {baseline}. Change --eta0 or --epochs, or scale the features"
        ));
    }
    let (l1, most) = (settings.penalty.l1, report.l1_max);
    if l1 >= most && l1 > 0.0 && settings.factors.is_none() && !settings.choose_penalty {
        note(
            args.quiet,
            &format!(
                "l1 = {l1:?} is not below l1_max = {most:.3e}, the smallest l1 at which all weights are zero"
            ),
        );
    }
}

/// Whether the targets of a loss with a log link are all zero: its predictions are never zero.
fn has_only_zeros(problem: &dyn Problem) -> bool {
    let zeros =
        matches!(problem.targets(), Targets::Real(targets) if targets.iter().all(|target| *target == 0.0));
    zeros && problem.loss().admits() == Admits::NonNegative
}

/// A warning about what an interrupted run reached.
fn interrupted(report: &Report) -> String {
    let distance = match report.relative_gap {
        Some(gap) => format!("the optimum is lower by at most {gap:.1e} of the objective"),
        None => "the distance from the optimum is not known".to_string(),
    };
    let tried = report.tried.iter().find(|point| point.chosen);
    match (report.epochs, tried) {
        (0, Some(point)) => format!(
            "interrupted during the choice of a penalty: this is the best of {} models so far, trained on {} of {} rows; {distance}",
            report.tried.len(),
            print::count(point.rows as u64),
            print::count(report.rows as u64)
        ),
        (epochs, _) => {
            let what = if report.solver == Solver::Newton { "Newton step" } else { "epoch" };
            format!("interrupted: this is the model after {}; {distance}", print::counted(epochs, what))
        }
    }
}

/// A note about what `auto` chose.
fn did(settings: &Settings, report: &Report, streams: bool) -> String {
    let Report { l1, l2, tried, .. } = report;
    let chosen = match tried.iter().find(|point| point.chosen) {
        None if report.nonzeros == 0 && report.l1_max == 0.0 => {
            return "auto: no feature is related to the targets (l1_max is 0), so this model is a bias alone, which is the optimum \
                    for any penalty"
                .to_string();
        }
        Some(point) if point.nonzeros == 0 && report.nonzeros == 0 => {
            return format!(
                "auto: none of {} models tried is significantly better on held-out rows than the bias alone (loss {:.5} there), so \
                 this model has no weights; give --l1 or --l2 to train one with weights",
                tried.len() - 1,
                point.loss
            );
        }
        Some(point) if report.solver == Solver::Newton => format!(
            "l1 {l1:?} and l2 {l2:?}: of {} tried on held-out rows, it has the fewest weights with a loss within 0.1 % of the \
             lowest (loss {:.5} there)",
            tried.len(),
            point.loss
        ),
        Some(point) => format!(
            "l1 {l1:?} and l2 {l2:?}, the best of {} tried on held-out rows (loss {:.5} there)",
            tried.len(),
            point.loss
        ),
        None if settings.choose_penalty => format!("l1 {l1:?} and l2 {l2:?}, since none was given"),
        None => format!("l1 {l1:?} and l2 {l2:?}, as given"),
    };
    let how = match report.solver {
        Solver::Newton if report.stop == Stop::Interrupted => "Newton's method, interrupted".to_string(),
        Solver::Newton if matches!(report.stop, Stop::Gap | Stop::PredictedDecrease) => {
            format!("the optimum to a tolerance of {:?}, by Newton's method", settings.tolerance)
        }
        Solver::Newton => {
            format!("Newton's method, which did not reach the tolerance of {:?}", settings.tolerance)
        }
        Solver::Ftrl if streams => {
            let runs = match report.runs {
                1 => String::new(),
                runs => format!(", the average of {runs} runs"),
            };
            format!("{} of FTRL-Proximal{runs}", print::counted(report.epochs, "epoch"))
        }
        Solver::Svrg => format!("{} of SVRG", print::counted(report.epochs, "epoch")),
        Solver::Ftrl => format!(
            "{} of FTRL-Proximal, the average of {} runs, with a lower loss there than the optimum of any penalty tried",
            print::counted(report.epochs, "epoch"),
            report.runs
        ),
        _ if streams => format!("{} epochs of SGD, then the zero test", report.epochs),
        _ if *l1 == 0.0 && *l2 == 0.0 => {
            format!("{} epochs of SGD, since the loss has kinks and there is no penalty", report.epochs)
        }
        _ => format!("{} epochs of SGD, since the loss is zero without weights", report.epochs),
    };
    format!("auto: {chosen}; {how}")
}
