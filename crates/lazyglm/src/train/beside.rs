//! What a report says of the data alone, computed on another core while a solver learns row by row, which takes one core.

use crate::eval::objective::{NullFigures, NullModel};
use crate::problem::source::Problem;
use crate::problem::task::Task;
use rayon::ThreadPoolBuilder;
use std::sync::OnceLock;

/// Least number of non-zeros for which a thread is worth its start.
const LARGE: usize = 1 << 20;

/// Figures of the rows in memory that do not depend on the weights.
pub(super) struct Beside<'a> {
    task: &'a Task,
    bias: bool,
    null: OnceLock<NullFigures>,
}

impl Beside<'_> {
    /// The figures of the null model, which another thread may be computing.
    pub fn null(&self) -> NullFigures {
        let Beside { task, bias, null } = self;
        *null.get_or_init(|| NullModel::of(task.examples(), &*task.loss, *bias).figures())
    }
}

/// Calls `learn` on this thread, while another one computes what does not depend on the weights, if rows are in memory, many, and
/// there is a core to spare. The figures are the same without it.
pub(super) fn beside<T>(problem: &dyn Problem, bias: bool, learn: impl FnOnce(Option<&Beside>) -> T) -> T {
    let is_large = |task: &&Task| task.data.rows.nonzeros() >= LARGE && task.targets.heads().is_none();
    let spare = rayon::current_num_threads() > 1;
    let Some(task) = problem.in_memory().filter(|task| spare && is_large(task)) else { return learn(None) };
    let beside = Beside { task, bias, null: OnceLock::new() };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // One core: the others are for the solver. Without a pool of its own, the figures come after learning.
            if let Ok(one) = ThreadPoolBuilder::new().num_threads(1).build() {
                one.install(|| _ = beside.null());
            }
        });
        learn(Some(&beside))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::{Shape, documents};

    #[test]
    fn many_rows_have_the_figures_of_their_null_model_and_few_rows_none() {
        let of = |rows| documents(&Shape { rows, features: 300, words: 60.0, ..Shape::default() }).task;
        assert!(beside(&of(100), true, |beside| beside.is_none()));
        let many = of(30_000);
        for bias in [true, false] {
            let expected = NullModel::of(many.examples(), &*many.loss, bias).figures();
            let found = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
            let found = found.install(|| beside(&many, bias, |beside| beside.map(Beside::null)));
            let bits = |of: NullFigures| [of.baseline, of.l1_max].map(f64::to_bits);
            assert_eq!(found.map(bits), Some(bits(expected)));
        }
    }
}
