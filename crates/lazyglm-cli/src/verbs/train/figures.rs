//! The results of a training run, as text.

use crate::args::Train;
use crate::print::{self, count};
use lazyglm::data::feature_ids::one_line;
use lazyglm::{HeadKind, HeadReport, Place, Report, Solver, Stop, Targets, Validation};
use std::io::{self, Write};

/// Maximum number of classes or labels in the table.
const SHOWN: usize = 20;

/// Prints the results, one per line.
pub(super) fn human(out: &mut dyn Write, args: &Train, targets: &Targets, report: &Report) -> io::Result<()> {
    let (rows, features) = (count(report.rows as u64), count(report.features as u64));
    let heads = targets.heads();
    let mut learnt =
        print::counted(report.epochs, if report.solver == Solver::Newton { "step" } else { "epoch" });
    if report.runs > 1 {
        learnt += &format!(", the mean of {} runs,", report.runs);
    }
    let of_heads = heads.map_or(String::new(), |heads| {
        format!(" × {} {}", count(heads.names.len() as u64), heads.kind.nouns())
    });
    let Report { seconds_read: read, seconds_search: search, seconds_train: train, .. } = report;
    let (evaluate, write) = (report.seconds_evaluate, report.seconds_write);
    writeln!(
        out,
        "trained    {rows} rows × {features} features{of_heads}, {learnt} in {train:.3} s (read in {read:.3} s)"
    )?;
    writeln!(
        out,
        "seconds    {read:.3} read, {search:.3} search, {train:.3} train, {evaluate:.3} evaluate, {write:.3} write"
    )?;
    if let Some([negative, positive]) = targets.classes() {
        writeln!(out, "classes    {} (−), {} (+)", one_line(negative), one_line(positive))?;
    }
    print::objective(out, report, if heads.is_some() { "biases" } else { "the bias" })?;
    distance(report).iter().try_for_each(|text| writeln!(out, "{text}"))?;
    writeln!(out, "violation  {:.2e} of the optimality conditions (0 at the optimum)", report.violation)?;
    let all = count((report.features * heads.map_or(1, |heads| heads.names.len())) as u64);
    writeln!(out, "penalty    l1 {:?}, l2 {:?} (l1_max {:.3e})", report.l1, report.l2, report.l1_max)?;
    tried(report).iter().try_for_each(|text| writeln!(out, "tried      {text}"))?;
    writeln!(out, "non-zeros  {} of {all}", count(report.nonzeros as u64))?;
    stopped(report).iter().try_for_each(|text| writeln!(out, "stopped    {text}"))?;
    if let Some(Validation { loss, best_epoch }) = &report.validation {
        let kept = match (args.early_stop, heads.map(|heads| heads.kind)) {
            _ if report.solver == Solver::Newton => String::new(),
            (Some(_), None | Some(HeadKind::Softmax)) => {
                format!(" (that of epoch {best_epoch}, the best, which was kept)")
            }
            (Some(_), Some(kind)) => format!(" (each {} at its own best epoch)", kind.noun()),
            (None, _) if *best_epoch == report.epochs => " (the lowest of all epochs)".to_string(),
            (None, _) => format!(" (epoch {best_epoch} had a lower one: --early-stop would keep it)"),
        };
        writeln!(out, "held out   loss {}{kept}", print::decimals(*loss, 8))?;
    }
    match &args.output {
        Some(path) => writeln!(out, "model      {}", Place::file(path))?,
        None => writeln!(out, "model      not kept: add -o MODEL to write it")?,
    }
    match (heads, &report.heads) {
        (Some(heads), Some(figures)) => table(out, heads.kind, &figures.heads),
        _ => Ok(()),
    }
}

/// The share above the optimum up to which the distance of a model is printed, for solvers that do not aim at the optimum.
const NEAR: f64 = 0.1;

/// The distance from the optimum. A model that was chosen by its held-out loss is not meant to be near it.
fn distance(report: &Report) -> Option<String> {
    if report.solver == Solver::Ftrl && !report.tried.is_empty() {
        let compared = report.tried.iter().any(|point| point.solver == Solver::Newton && point.nonzeros > 0);
        let lower = if compared { ", which is lower than that of the optimum" } else { "" };
        return Some(format!("chosen     for its held-out loss{lower}: this model is not the optimum"));
    }
    let aims = !matches!(report.solver, Solver::Sgd | Solver::Adagrad | Solver::Ftrl);
    if !aims && report.objective - report.dual? > NEAR * report.dual?.abs() {
        let solver = report.solver;
        return Some(format!(
            "optimum    {solver} does not aim at it: --solver newton does, with a certificate"
        ));
    }
    let (dual, above) = (report.dual?, print::above_optimum(report.objective, report.dual?));
    Some(format!("certified  {above} (lower bound {})", print::decimals(dual, 8)))
}

/// The number of models that a search tried, by solver.
fn tried(report: &Report) -> Option<String> {
    let mut solvers: Vec<(Solver, usize)> = Vec::new();
    for point in &report.tried {
        match solvers.iter_mut().find(|(solver, _)| *solver == point.solver) {
            Some((_, count)) => *count += 1,
            None => solvers.push((point.solver, 1)),
        }
    }
    let each: Vec<String> = solvers.iter().map(|(solver, count)| format!("{count} by {solver}")).collect();
    (!each.is_empty()).then(|| {
        format!(
            "{} on held-out rows ({})",
            print::counted(report.tried.len() as u64, "model"),
            each.join(", ")
        )
    })
}

/// The reason why the run stopped, unless all epochs were run.
fn stopped(report: &Report) -> Option<String> {
    match (report.stop, report.predicted_decrease) {
        (Stop::Gap, _) => Some("at the tolerance: proved by the duality gap".to_string()),
        (Stop::PredictedDecrease, Some(predicted_decrease)) => Some(format!(
            "at the tolerance: another step would lower the objective by about {predicted_decrease:.1e} of it (the certificate is loose without l2)"
        )),
        (Stop::PredictedDecrease, None) => Some(
            "at the tolerance, as the solver estimates it (the certificate is loose without l2)".to_string(),
        ),
        (Stop::Precision, _) => {
            Some("where the objective decreases no further in this precision".to_string())
        }
        (Stop::NoMinimum, _) => Some("because the objective has no minimum without a penalty".to_string()),
        (Stop::Steps, _) => Some("after all steps, short of the tolerance".to_string()),
        (Stop::Interrupted, _) => Some("by an interruption".to_string()),
        _ => None,
    }
}

/// Prints a table of the classes or labels with the most rows.
fn table(out: &mut dyn Write, kind: HeadKind, heads: &[HeadReport]) -> io::Result<()> {
    writeln!(out)?;
    let mut shown: Vec<&HeadReport> = heads.iter().collect();
    if shown.len() > SHOWN {
        shown.sort_by_key(|head| std::cmp::Reverse(head.rows)); // stable
        shown.truncate(SHOWN);
    }
    let width = shown.iter().map(|head| one_line(&head.name).chars().count()).max().unwrap_or(0).clamp(5, 40);
    writeln!(out, "{:>width$}  {:>10}  {:>10}  {:>10}", kind.noun(), "rows", "non-zeros", "loss")?;
    for HeadReport { name, rows, nonzeros, loss, .. } in &shown {
        let (rows, nonzeros) = (count(*rows as u64), count(*nonzeros as u64));
        let loss = print::decimals(*loss, 6);
        writeln!(out, "{:>width$}  {rows:>10}  {nonzeros:>10}  {loss:>10}", one_line(name))?;
    }
    let more = heads.len() - shown.len();
    if more > 0 {
        writeln!(out, "{:>width$}  {} more, of fewer rows: --json has them all", "…", count(more as u64))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lazyglm::Tried;

    #[test]
    fn a_model_chosen_by_its_held_out_loss_is_not_measured_by_its_distance_from_the_optimum() {
        let (solver, dual, relative_gap) = (Solver::Ftrl, Some(0.01), Some(0.95));
        let given = Report { solver, dual, relative_gap, objective: 0.0105, ..Report::default() };
        assert!(distance(&given).unwrap().contains("above the optimum (lower bound 0.01"));
        for solver in [Solver::Sgd, Solver::Adagrad, Solver::Ftrl] {
            let far = distance(&Report { solver, objective: 0.2, ..given.clone() }).unwrap();
            assert!(far.contains("--solver newton") && !far.contains('%'), "{far}");
        }
        let newton = distance(&Report { solver: Solver::Newton, objective: 0.2, ..given.clone() }).unwrap();
        assert!(newton.contains("at most 1900 % above the optimum"), "{newton}");
        let (l1, l2, loss, se, nonzeros, rows, seconds) = (0.1, 0.0, 0.1, 0.01, 1, 10, 0.1);
        let one = Tried { solver, l1, l2, loss, se, nonzeros, rows, seconds, chosen: true };
        let optimum = Tried { solver: Solver::Newton, chosen: false, ..one.clone() };
        let alone = distance(&Report { tried: vec![one.clone()], ..given.clone() }).unwrap();
        assert!(
            alone.contains("not the optimum") && !alone.contains("lower"),
            "no optimum was tried: {alone}"
        );
        let text = distance(&Report { tried: vec![one, optimum], ..given }).unwrap();
        assert!(text.contains("lower than that of the optimum") && !text.contains("bound"), "{text}");
    }
}
