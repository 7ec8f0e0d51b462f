//! A sample of the heads, by which choices are made for all: of the penalty, and of tf-idf or counts.

use crate::problem::heads::HeadKind;
use crate::problem::task::{Sets, Targets, Task};

/// Number of heads whose held-out loss chooses for all, if heads are independent.
pub(in crate::train) const SAMPLED_HEADS: usize = 24;

/// The task with a sample of its heads, from the most to the least frequent, if heads are independent and there are more.
pub(in crate::train) fn sampled(task: &Task) -> Option<Task> {
    let most = SAMPLED_HEADS;
    let targets =
        task.targets.heads().filter(|heads| heads.kind != HeadKind::Softmax && heads.names.len() > most)?;
    let counts = targets.sets.counts(targets.names.len());
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|&k| std::cmp::Reverse(counts[k]));
    let kept: Vec<usize> = (0..most).map(|i| order[i * order.len() / most]).collect();
    let mut new = vec![None; counts.len()];
    kept.iter().zip(0..).for_each(|(&k, id)| new[k] = Some(id));
    let mut sets = Sets::default();
    for i in 0..targets.sets.len() {
        let mut ids: Vec<u32> = targets.sets.of(i).iter().filter_map(|&k| new[k as usize]).collect();
        ids.sort_unstable();
        sets.push(ids);
    }
    let names = kept.iter().map(|&k| targets.names[k].clone()).collect();
    Some(Task { targets: Targets::Labels { names, sets }, ..task.clone() })
}
