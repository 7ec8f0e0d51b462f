//! The figures of a run, as text.

use crate::args::Train;
use crate::print::{self, count};
use lazyglm::data::feature_ids::one_line;
use lazyglm::{Place, Report, Solver, Stop, Validation};

/// Writes them, a line for each thing there is to say.
pub(super) fn human(
    out: &mut dyn std::io::Write,
    args: &Train,
    classes: Option<&[String; 2]>,
    report: &Report,
) -> std::io::Result<()> {
    let rows = count(report.rows as u64);
    let features = count(report.features as u64);
    let mut learnt =
        print::counted(report.epochs, if report.solver == Solver::Newton { "step" } else { "epoch" });
    if report.runs > 1 {
        learnt += &format!(", the mean of {} runs,", report.runs);
    }
    let (train, read) = (report.seconds_train, report.seconds_read);
    writeln!(
        out,
        "trained    {rows} rows × {features} features, {learnt} in {train:.3} s (read in {read:.3} s)"
    )?;
    if let Some([negative, positive]) = classes {
        writeln!(out, "classes    {} (−), {} (+)", one_line(negative), one_line(positive))?;
    }
    print::objective(out, report, "the bias")?;
    if let (Some(dual), Some(gap)) = (report.dual, report.relative_gap) {
        writeln!(
            out,
            "proved     no weights are below {dual:.8}: the minimum is at most {gap:.1e} of F away"
        )?;
    }
    writeln!(out, "non-zeros  {} of {features}", count(report.nonzeros as u64))?;
    let stopped = match (report.stop, report.predicted_decrease) {
        (Stop::Gap, _) => Some("at the tolerance: proved by the duality gap".to_string()),
        (Stop::PredictedDecrease, Some(predicted_decrease)) => Some(format!(
            "at the tolerance: a step more would gain {predicted_decrease:.1e} of F (the gap is loose without l2)"
        )),
        (Stop::Precision, _) => Some("where F falls no further in this precision".to_string()),
        (Stop::Steps, _) => Some("after all steps, short of the tolerance".to_string()),
        (Stop::Interrupted, _) => Some("when it was told to".to_string()),
        _ => None,
    };
    stopped.iter().try_for_each(|text| writeln!(out, "stopped    {text}"))?;
    if let Some(validation) = report.validation.filter(|_| report.solver == Solver::Newton) {
        writeln!(out, "held out   loss {:.8}", validation.loss)?;
    } else if let Some(validation) = &report.validation {
        let Validation { loss, best_epoch } = validation;
        let kept = match (args.early_stop, *best_epoch == report.epochs) {
            (Some(_), _) => format!("that of epoch {best_epoch}, the best, which was kept"),
            (None, true) => "the lowest of all epochs".to_string(),
            (None, false) => format!("epoch {best_epoch} had a lower one: --early-stop would keep it"),
        };
        writeln!(out, "held out   loss {loss:.8} ({kept})")?;
    }
    match &args.output {
        Some(path) => writeln!(out, "model      {}", Place::file(path)),
        None => writeln!(out, "model      not kept: add -o MODEL to write it"),
    }
}
