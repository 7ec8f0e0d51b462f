//! Flags that change nothing in a run, each with a warning. The message is named `no-effect` and says why.

use crate::args::{Evaluate, Limit, Order, Search, Thresholds, Train};
use lazyglm::{Error, Problem, Result, Solver, Targets, WARNING};

/// The warning for a flag without effect, and the reason.
fn idle(flag: &str, why: &str) -> String {
    format!("{WARNING}{flag} has no effect {why}")
}

/// Warnings about flags of `train` that its solver never reads.
pub fn of_train(args: &Train) -> Vec<String> {
    let mut notes = Vec::new();
    let falls_back = args.memory.is_some(); // rows on disk may be trained by a solver with a learning rate
    if args.on_divergence.is_some() && args.solver() == Solver::Newton && !falls_back {
        notes.push(idle("--on-divergence", "with --solver newton, which has no learning rate"));
    }
    notes.extend(seed(args, false));
    notes
}

/// Warnings about flags of a search for minimisers. `folds` says whether the folds are drawn at random.
pub fn of_minimisers(args: &Train, search: &Search, no_halving: bool, folds: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if args.on_divergence.is_some() {
        notes.push(idle(
            "--on-divergence",
            "here: Newton's method trains all models and has no learning rate",
        ));
    }
    if no_halving && (args.l1.is_some() || args.alpha.is_some()) {
        let given = if args.l1.is_some() { "--l1" } else { "--alpha" };
        let why = format!("with {given}: --solver newton finds the optimum of every penalty that is given");
        notes.push(idle("--no-halving", &why));
    }
    if !folds && args.validation.is_none() {
        let why = "without held-out rows: add --folds 5 or --validation FILE";
        notes.extend(search.metric.is_some().then(|| idle("--metric", why)));
        notes.extend(search.choose.is_some().then(|| idle("--choose", why)));
    }
    notes.extend(without_output(args));
    notes
}

/// Warnings about flags of a search by SGD. `folds` says whether the folds are drawn at random, and `chooses` whether the verb
/// chooses one of its models.
pub fn of_grid(args: &Train, search: &Search, folds: bool, chooses: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if args.on_divergence.is_some() && args.output.is_none() {
        let why = "without -o: a search drops points that diverge, and only the refit for -o can retry";
        notes.push(idle("--on-divergence", why));
    }
    if search.choose.is_some() && !chooses {
        notes.push(idle("--choose", "with --solver sgd: this path has no chosen model"));
    }
    notes.extend(without_output(args));
    notes.extend(seed(args, folds));
    notes
}

/// A warning about `--limit-predictions yes` in a search that writes no model.
fn without_output(args: &Train) -> Option<String> {
    let idle_limit = args.limit_predictions == Limit::Yes && args.output.is_none();
    idle_limit
        .then(|| idle("--limit-predictions yes", "without -o: it is a setting of the model that -o writes"))
}

/// A warning about `--seed` where rows keep their order and nothing else is drawn at random.
fn seed(args: &Train, folds: bool) -> Option<String> {
    let sequential = matches!(args.order, Some(Order::Sequential))
        && matches!(args.solver(), Solver::Sgd | Solver::Adagrad | Solver::Ftrl);
    let share = |text: &str| text.parse::<f64>().is_ok(); // a fraction of the rows, drawn at random
    let draws = folds
        || args.runs.is_some_and(|runs| runs > 1)
        || args.thresholds == Thresholds::Tuned
        || args.validation.as_ref().is_some_and(|text| text.to_str().is_some_and(share));
    let idle_seed = args.seed.is_some() && sequential && !draws;
    idle_seed.then(|| idle("--seed", "with --order sequential: nothing in this run is random"))
}

/// A warning about `evaluate --seed` without a bootstrap.
pub fn of_evaluate(args: &Evaluate) -> Option<String> {
    let idle_seed = args.seed.is_some() && args.bootstrap.is_none();
    idle_seed.then(|| idle("--seed", "without --bootstrap, which alone draws rows at random"))
}

/// Rejects `--limit-predictions yes` in a search where `train` rejects it, before the search and not after it.
pub fn refuse_limits(args: &Train, problem: &dyn Problem) -> Result<()> {
    if args.limit_predictions != Limit::Yes {
        return Ok(());
    }
    let what = match problem.targets() {
        _ if problem.has_offsets() => "--limit-predictions has no meaning for rows with offsets",
        Targets::Real(_) => return Ok(()),
        _ => "--limit-predictions is for targets that are numbers",
    };
    Err(Error::call(what, "leave --limit-predictions out"))
}
