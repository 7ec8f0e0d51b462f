//! The tensors of heads in a model file: encoding, and validated decoding.

use crate::problem::heads::{HeadKind, Heads};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Names and kind of the heads, as stored in the header.
#[derive(Serialize, Deserialize)]
pub(super) struct HeadNames {
    pub kind: HeadKind,
    pub names: Vec<String>,
}

/// The tensors `head_ends`, `head_biases` and `head_thresholds`.
pub(super) fn head_bytes(heads: &Heads) -> [Vec<u8>; 3] {
    let f64s = |of: &[f64]| of.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    [
        heads.ends.iter().flat_map(|&end| (end as u64).to_le_bytes()).collect(),
        f64s(&heads.biases),
        heads.thresholds.as_deref().map(f64s).unwrap_or_default(),
    ]
}

/// Decodes heads and returns `None` if they are invalid. Names must differ, each head needs one bias, and
/// each feature needs weights of increasing heads.
pub(super) fn read_heads(
    header: HeadNames,
    ends: Vec<u64>,
    ids: Vec<u32>,
    biases: Vec<f64>,
    thresholds: Option<Vec<f64>>,
) -> Option<Heads> {
    let HeadNames { kind, names } = header;
    let fewest = if kind == HeadKind::Labels { 1 } else { 2 };
    let distinct: HashSet<&String> = names.iter().collect();
    let finite = |of: &[f64]| of.len() == names.len() && of.iter().all(|x| x.is_finite());
    let fine = names.len() >= fewest
        && distinct.len() == names.len()
        && names.iter().all(|name| is_plain(name))
        && finite(&biases)
        && thresholds.as_deref().is_none_or(|of| kind == HeadKind::Labels && finite(of))
        && ids.iter().all(|&id| (id as usize) < names.len());
    let mut start = 0;
    for &end in &ends {
        let own = ids.get(start..usize::try_from(end).ok()?)?;
        if own.is_empty() || !own.windows(2).all(|two| two[0] < two[1]) {
            return None;
        }
        start = end as usize;
    }
    let ends = ends.into_iter().map(|end| end as usize).collect();
    (fine && start == ids.len()).then_some(Heads { kind, names, biases, ends, ids, thresholds })
}

/// Whether a class name is in the canonical form of targets.
pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_ascii_control())
}
