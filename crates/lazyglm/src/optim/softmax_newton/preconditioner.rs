//! A preconditioner for conjugate gradients: exact within each class for the features of largest curvature, and
//! the diagonal for the others.
//!
//! ```text
//! Aᵏ = XᵀDᵏX + nλ₂ on some features, dᵢₖ = hᵢₖ − pᵢₖ²          Aᵏ = LLᵀ
//! ```
//!
//! Frequent features are correlated with each other, and conjugate gradients would spend most passes on them.
//! The classes are lanes: eight matrices are built and factored at once.

#![allow(clippy::needless_range_loop)] // inner loops go over indices: see `lanes`

use super::lanes::{Block, WIDE};
use super::model::QuadraticModel;
use super::point::CHUNK;
use crate::data::rows::Value;
use crate::optim::kernel::ColumnStore;
use crate::simd::{self, Work};
use rayon::prelude::*;

/// Maximum number of features with an exact block.
const FEATURES: usize = 256;
/// Number of sums over parts of the rows. Fixed, so that bits do not depend on the number of threads.
const PARTS: usize = 4;
/// Maximum cost of the matrices, in passes over the non-zeros.
const EFFORT: usize = 60;
/// Added to the diagonal, relative to it. The matrices are in f32, and columns may be dependent.
const RIDGE: f32 = 1e-5;

/// The matrices XᵀDᵏX of some features: the lower triangle by rows, a vector of one number per class each.
pub(super) struct Gram {
    features: Vec<u32>, // places in the working set
    a: Vec<Block<f32>>,
}

impl Gram {
    /// The matrices of the features of the working set that have the largest curvature.
    pub fn of<V: Value>(model: &QuadraticModel<V>) -> Gram {
        let (rows, blocks) = (model.newton.problem.rows, model.newton.blocks);
        let mut features = model.of_most_curvature(FEATURES);
        let mut slots = vec![u32::MAX; rows.columns()];
        features.iter().enumerate().for_each(|(s, &at)| slots[model.set[at as usize] as usize] = s as u32);
        // Fewer features where rows have many of them.
        let limit = EFFORT * rows.nonzeros().max(1);
        while features.len() > 1 && squared_lengths(model, &slots, features.len()) > 2 * limit {
            features.truncate(features.len() / 2);
        }
        let count = features.len();
        let diagonal = model.diagonals();
        let size = count * (count + 1) / 2 * blocks;
        let of_part = rows.len().div_ceil(PARTS);
        let parts: Vec<Vec<Block<f32>>> = (0..PARTS)
            .into_par_iter()
            .map(|part| {
                let mut a = vec![[0.0; WIDE]; size];
                let span = (part * of_part).min(rows.len())..((part + 1) * of_part).min(rows.len());
                simd::fastest(Build { model, slots: &slots, count, diagonal: &diagonal, span, a: &mut a });
                a
            })
            .collect();
        let sum = |at: usize| std::array::from_fn(|l| parts.iter().map(|part| part[at][l]).sum());
        Gram { features, a: (0..size).into_par_iter().with_min_len(CHUNK).map(sum).collect() }
    }
}

/// Σ over rows of the squared number of selected features.
fn squared_lengths<V: Value>(model: &QuadraticModel<V>, slots: &[u32], count: usize) -> usize {
    let rows = model.newton.problem.rows;
    let length = |i: usize| {
        let row = rows.row(model.newton.values, i);
        row.ids.iter().filter(|j| (slots[**j as usize] as usize) < count).count()
    };
    (0..rows.len()).into_par_iter().map(|i| length(i) * length(i)).sum()
}

struct Build<'b, 'm, V> {
    model: &'b QuadraticModel<'m, V>,
    slots: &'b [u32],
    count: usize,
    diagonal: &'b [Block<f32>],
    span: std::ops::Range<usize>,
    a: &'b mut [Block<f32>],
}

impl<V: Value> Work for Build<'_, '_, V> {
    type Answer = ();
    const WIDE: bool = true;
    #[inline(always)]
    fn run(self) {
        let blocks = self.model.newton.blocks;
        let mut found: Vec<(usize, f32)> = Vec::new();
        let mut scaled = vec![[0.0f32; WIDE]; blocks];
        for i in self.span {
            if i.is_multiple_of(CHUNK) && self.model.newton.must_end() {
                return; // no step follows
            }
            let row = self.model.newton.problem.rows.row(self.model.newton.values, i);
            found.clear();
            for (&j, x) in row.ids.iter().zip(row.values) {
                let slot = self.slots[j as usize] as usize;
                if slot < self.count {
                    found.push((slot, (self.model.columns.unit(j as usize) * x.to_f64()) as f32));
                }
            }
            found.sort_unstable_by_key(|(slot, _)| *slot);
            let d = &self.diagonal[i * blocks..][..blocks];
            for (k, &(slot, x)) in found.iter().enumerate() {
                for b in 0..blocks {
                    for l in 0..WIDE {
                        scaled[b][l] = x * d[b][l];
                    }
                }
                let line = &mut self.a[slot * (slot + 1) / 2 * blocks..][..(slot + 1) * blocks];
                for &(other, y) in &found[..=k] {
                    super::lanes::add_multiple(&mut line[other * blocks..][..blocks], y, &scaled);
                }
            }
        }
    }
}

/// The preconditioner M⁻¹ on a face.
pub(super) struct Preconditioner<'g> {
    /// One over the diagonal, and zero off the face.
    pub inverse: Vec<Block<f32>>,
    features: &'g [u32],
    l: Vec<Block<f32>>, // the factors, the diagonal inverted
    blocks: usize,
}

impl<'g> Preconditioner<'g> {
    /// Factors the matrices of the face. Off the face, they are the identity.
    ///
    /// `inverse` has one over the diagonal, `ridges` the rest of the diagonal: the penalty and the damping.
    pub fn new(
        gram: &'g Gram,
        inverse: Vec<Block<f32>>,
        ridges: &[Block<f32>],
        blocks: usize,
    ) -> Preconditioner<'g> {
        let count = gram.features.len();
        let mut l = gram.a.clone();
        for a in 0..count {
            for b in 0..=a {
                for block in 0..blocks {
                    let at = (a * (a + 1) / 2 + b) * blocks + block;
                    let [one, other] = [a, b].map(|s| gram.features[s] as usize * blocks + block);
                    for lane in 0..WIDE {
                        let on_face = inverse[one][lane] != 0.0 && inverse[other][lane] != 0.0;
                        let v = &mut l[at][lane];
                        *v = match (on_face, a == b) {
                            (true, true) => *v * (1.0 + RIDGE) + ridges[one][lane],
                            (true, false) => *v,
                            (false, same) => f32::from(u8::from(same)),
                        };
                    }
                }
            }
        }
        simd::fastest(Factor { l: &mut l, count, blocks });
        Preconditioner { inverse, features: &gram.features, l, blocks }
    }

    /// The product M⁻¹·way.
    pub fn apply(&self, way: &[Block<f32>]) -> Vec<Block<f32>> {
        let one = |(way, inverse): (&Block<f32>, &Block<f32>)| std::array::from_fn(|l| way[l] * inverse[l]);
        let mut out: Vec<Block<f32>> =
            way.par_iter().zip(&self.inverse).with_min_len(CHUNK).map(one).collect();
        let vector = |at: &u32| way[*at as usize * self.blocks..][..self.blocks].iter().copied();
        let mut x: Vec<Block<f32>> = self.features.iter().flat_map(vector).collect();
        simd::fastest(Solve { l: &self.l, x: &mut x, blocks: self.blocks });
        for (at, x) in self.features.iter().zip(x.chunks(self.blocks)) {
            for (block, x) in x.iter().enumerate() {
                let at = *at as usize * self.blocks + block;
                out[at] = std::array::from_fn(|l| if self.inverse[at][l] == 0.0 { 0.0 } else { x[l] });
            }
        }
        out
    }
}

/// The update sum ← sum − a∘b.
#[inline(always)]
fn subtract_product(sum: &mut Block<f32>, a: &Block<f32>, b: &Block<f32>) {
    for l in 0..WIDE {
        sum[l] -= a[l] * b[l];
    }
}

struct Factor<'a> {
    l: &'a mut [Block<f32>],
    count: usize,
    blocks: usize,
}

impl Work for Factor<'_> {
    type Answer = ();
    const WIDE: bool = true;
    #[inline(always)]
    fn run(self) {
        let blocks = self.blocks;
        let line = |a: usize| a * (a + 1) / 2 * blocks;
        for a in 0..self.count {
            let (before, rest) = self.l.split_at_mut(line(a));
            let own = &mut rest[..(a + 1) * blocks];
            for b in 0..=a {
                let (done, here) = own.split_at_mut(b * blocks);
                for block in 0..blocks {
                    let mut sum = here[block];
                    for k in 0..b {
                        let one = &done[k * blocks + block];
                        let other = if b == a { one } else { &before[line(b) + k * blocks + block] };
                        subtract_product(&mut sum, one, other);
                    }
                    here[block] = std::array::from_fn(|l| match a == b {
                        true if sum[l] > 1e-6 * here[block][l] => 1.0 / sum[l].sqrt(),
                        true => 0.0, // depends on earlier features: stays
                        false => sum[l] * before[line(b) + b * blocks + block][l],
                    });
                }
            }
        }
    }
}

struct Solve<'a> {
    l: &'a [Block<f32>],
    x: &'a mut [Block<f32>],
    blocks: usize,
}

impl Work for Solve<'_> {
    type Answer = ();
    const WIDE: bool = true;
    #[inline(always)]
    fn run(self) {
        let (blocks, count) = (self.blocks, self.x.len() / self.blocks);
        let line = |a: usize| a * (a + 1) / 2 * blocks;
        for a in 0..count {
            for block in 0..blocks {
                let mut sum = self.x[a * blocks + block];
                for k in 0..a {
                    let (factor, x) = (&self.l[line(a) + k * blocks + block], &self.x[k * blocks + block]);
                    subtract_product(&mut sum, factor, x);
                }
                let inverse = &self.l[line(a) + a * blocks + block];
                self.x[a * blocks + block] = std::array::from_fn(|l| sum[l] * inverse[l]);
            }
        }
        for a in (0..count).rev() {
            for block in 0..blocks {
                let inverse = &self.l[line(a) + a * blocks + block];
                let value: Block<f32> = std::array::from_fn(|l| self.x[a * blocks + block][l] * inverse[l]);
                self.x[a * blocks + block] = value;
                for k in 0..a {
                    let factor = &self.l[line(a) + k * blocks + block];
                    let x = &mut self.x[k * blocks + block];
                    subtract_product(x, factor, &value);
                }
            }
        }
    }
}
