//! The duality gap of a model with many heads.
//!
//! ```text
//! ovr, labels   F = Σₖ Fₖ  and  D = Σₖ Dₖ      every head is a model of its own
//! softmax       see softmax_gap.rs
//! ```

use super::merged_rows::ByColumn;
use super::{
    Certificate, Evaluation, HeadsEvaluation, Judge, SoftmaxProblem, Worst, certify_softmax, of_heads,
};
use crate::data::rows::Examples;
use crate::problem::heads::{Head, HeadKind};
use rayon::prelude::*;

/// Least number of heads for which rows without a weight are merged.
const MANY_HEADS: usize = 16;

/// The certificate of all heads together: sums of the objectives and lower bounds, and the largest violation. `known` has
/// lower bounds that a solver found for heads.
pub(crate) fn certify_heads(what: &HeadsEvaluation, heads: &[Head], known: &[Option<f64>]) -> Certificate {
    match what.kind {
        HeadKind::Softmax => together(what, heads),
        _ => Certificate::sum(&certificates(what, heads, known)),
    }
}

/// The evaluation of each head and the certificate of all heads together, while `go_on` returns true: `None` if it returned false. `known`
/// has lower bounds that a solver found for heads.
pub(crate) fn judge_heads_while(
    what: &HeadsEvaluation,
    heads: &[Head],
    known: &[Option<f64>],
    go_on: &(dyn Fn() -> bool + Sync),
) -> Option<(Vec<Evaluation>, Certificate)> {
    match what.kind {
        HeadKind::Softmax => go_on().then(|| (of_heads(what, heads), together(what, heads))),
        _ => {
            let (evaluations, each): (Vec<_>, Vec<_>) =
                one_by_one(what, heads, known, go_on)?.into_iter().unzip();
            Some((evaluations, Certificate::sum(&each)))
        }
    }
}

/// The certificate of all heads together, and that of each head. The heads of a softmax share one lower bound, so each of
/// them has its part of F and its violation only.
pub(crate) fn certify_each_head(what: &HeadsEvaluation, heads: &[Head]) -> (Certificate, Vec<Certificate>) {
    if what.kind != HeadKind::Softmax {
        let each = certificates(what, heads, &[]);
        return (Certificate::sum(&each), each);
    }
    let part = |part: Evaluation| Certificate {
        objective: part.objective.total(),
        dual: None,
        relative_gap: None,
        kkt: part.violation,
        worst: Worst::Nowhere,
    };
    (together(what, heads), of_heads(what, heads).into_iter().map(part).collect())
}

fn together(what: &HeadsEvaluation, heads: &[Head]) -> Certificate {
    let HeadsEvaluation { rows, weights, weighted_penalty, with_bias: bias, .. } = *what;
    let problem = SoftmaxProblem { rows, classes: &what.sets.ids, weights, weighted_penalty, bias };
    certify_softmax(&problem, heads)
}

/// The certificate of each head.
fn certificates(what: &HeadsEvaluation, heads: &[Head], known: &[Option<f64>]) -> Vec<Certificate> {
    let each = one_by_one(what, heads, known, &|| true).unwrap_or_default();
    each.into_iter().map(|(_, certificate)| certificate).collect()
}

/// The evaluation and the certificate of each head; `None` if `go_on` returned false.
fn one_by_one(
    what: &HeadsEvaluation,
    heads: &[Head],
    known: &[Option<f64>],
    go_on: &(dyn Fn() -> bool + Sync),
) -> Option<Vec<(Evaluation, Certificate)>> {
    let rows = what.sets.rows_of(heads.len());
    let by_column = (heads.len() >= MANY_HEADS && !what.loss.has_kinks()).then(|| ByColumn::of(what));
    let one = |k: usize| {
        go_on().then_some(())?;
        let (weights, bias) = (heads[k].dense(what.rows.columns()), what.with_bias.then_some(heads[k].bias));
        let judge = |examples: Examples| {
            let (loss, weighted_penalty) = (what.loss, what.weighted_penalty);
            Judge { examples, loss, weighted_penalty, weights: &weights, bias, null: None }
                .certify(known.get(k).copied().flatten())
        };
        if let Some(merged) = by_column.as_ref().and_then(|all| all.merged(what, &heads[k], &rows[k])) {
            return Some(judge(merged.examples()));
        }
        let targets = what.sets.signs(&rows[k]);
        Some(judge(Examples { rows: what.rows, targets: &targets, weights: what.weights, offsets: None }))
    };
    let mut all = Vec::with_capacity(heads.len());
    for start in (0..heads.len()).step_by(what.at_once.max(1)) {
        let some = start..(start + what.at_once.max(1)).min(heads.len());
        all.extend(some.into_par_iter().map(one).collect::<Option<Vec<_>>>()?);
    }
    Some(all)
}
