//! The duality gap of a model with many heads.
//!
//! ```text
//! ovr, labels   F = Σₖ Fₖ  and  D = Σₖ Dₖ      every head is a model of its own
//! ```

use super::{Certificate, HeadsEvaluation, certify};
use crate::data::rows::Examples;
use crate::problem::heads::Head;
use rayon::prelude::*;

/// The certificate of all heads together: sums of the objectives and lower bounds, and the largest violation.
pub(crate) fn certify_heads(what: &HeadsEvaluation, heads: &[Head]) -> Certificate {
    let rows = what.sets.rows_of(heads.len());
    let one = |k: usize| {
        let targets = what.sets.signs(&rows[k]);
        let examples = Examples { rows: what.rows, targets: &targets, weights: what.weights, offsets: None };
        let (weights, bias) = (heads[k].dense(what.rows.columns()), what.with_bias.then_some(heads[k].bias));
        certify(examples, what.loss, what.weighted_penalty, &weights, bias)
    };
    let mut all = Vec::with_capacity(heads.len());
    for start in (0..heads.len()).step_by(what.at_once.max(1)) {
        let some = start..(start + what.at_once.max(1)).min(heads.len());
        all.extend(some.into_par_iter().map(one).collect::<Vec<Certificate>>());
    }
    Certificate::sum(&all)
}
