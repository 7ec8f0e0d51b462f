//! Evaluates the classes of a softmax on rows that are not in memory, with their duality gap.
//!
//! ```text
//! R = P − Y at the scores of (W, b);  eₖ = Σᵢ ωᵢrᵢₖ,  tₖ = Σᵢ ωᵢpᵢₖ            known after the first pass
//! p̂ᵢₖ = (1 − aₖ)pᵢₖ + zₖ·Σₗ aₗpᵢₗ        aₖ = (eₖ)₊/tₖ,  zₖ = (−eₖ)₊/Σₗ(−eₗ)₊      redistribution: see softmax_gap.rs
//! Xᵀωp̂ₖ = (1 − aₖ)Xᵀωpₖ + zₖ·Σₗ aₗXᵀωpₗ                                       so the first pass has its gradient, too
//! φ(θ) = Σᵢₖ ωᵢ q ln q  of q = Y + θ(P̂ − Y)                                   a second pass, which sums φ at some θ
//! ```
//!
//! φ is convex, so the chords between these θ are above it, and D(θ) = −φ(θ)/n − Σⱼₖ r*(−θgⱼₖ) remains a lower bound.
//! It takes the sums of all classes at once. Where they do not fit into memory, there is no certificate.

use super::gap::best_share;
use super::heads::{Group, HeadsEvaluation, Nulls, scores_of};
use super::streamed_gap::{COUNT, SHARES, chord};
use super::{Certificate, Evaluation, Worst, sum};
use crate::problem::heads::Head;
use crate::problem::source::Source;
use crate::util::error::Result;
use crate::util::number::larger_or_nan;
use rayon::prelude::*;

/// Number of rows whose scores are in memory together.
const BLOCK: usize = 64;
/// Number of classes in a group.
const WIDE: usize = 8;

/// Like [`super::of_heads`], for the classes of a softmax on rows that are not in memory: `like` has everything but the rows, and
/// `shares` are the weighted shares of the rows of each class. It takes a pass for each `at_once` groups of eight classes, and one
/// more for the certificate, if `certified` and all groups are in memory at once.
pub(crate) fn of_softmax_on(
    source: &dyn Source,
    columns: usize,
    like: &HeadsEvaluation,
    shares: &[f64],
    heads: &[Head],
    certified: bool,
) -> Result<(Vec<Evaluation>, Option<Certificate>)> {
    let (groups, at_once) = (heads.len().div_ceil(WIDE), like.at_once.max(1));
    let (mut total, mut evaluations) = (vec![0.0; columns], Vec::with_capacity(heads.len()));
    let mut proof = None;
    for start in (0..groups).step_by(at_once) {
        let some = start..(start + at_once).min(groups);
        let mut some: Vec<Group> = some.map(|group| Group::new(heads, group, columns)).collect();
        source.pass(&mut |batch| {
            let Some(sets) = batch.sets() else { return Ok(()) };
            let what = HeadsEvaluation { rows: batch.rows, weights: batch.weights, sets, ..*like };
            let log_sums = what.log_sums(heads);
            some.par_iter_mut().for_each(|group| group.see(&what, Some(&log_sums)));
            if start == 0 {
                what.add_to(&mut total);
            }
            Ok(())
        })?;
        let nulls = Nulls { what: like, rows: source.rows(), total: &total, shares };
        evaluations.extend(some.iter().flat_map(|group| group.evaluations(&nulls)));
        if certified && some.len() == groups && !like.weighted_penalty.penalty.is_none() {
            let dual = Dual { like, shares, groups: some, redistribution: Redistribution::none(heads.len()) };
            proof = Some(dual.certify(source, &evaluations)?);
        }
    }
    Ok((evaluations, proof))
}

/// What classes with too much probability give to those with too little.
struct Redistribution {
    taken: Vec<f64>,  // aₖ
    shares: Vec<f64>, // zₖ
}

impl Redistribution {
    fn none(count: usize) -> Redistribution {
        Redistribution { taken: vec![0.0; count], shares: vec![0.0; count] }
    }

    /// From eₖ and tₖ.
    fn of(over: &[f64], all: &[f64]) -> Redistribution {
        let lack: f64 = over.iter().map(|e| (-e).max(0.0)).sum();
        if lack.is_nan() || lack <= 0.0 {
            return Redistribution::none(over.len());
        }
        // Rounding must not take more than all of it, and a class with nothing has nothing to give.
        let taken = |(e, t): (&f64, &f64)| if *e > 0.0 { (e / t).min(1.0) } else { 0.0 };
        let shares = over.iter().map(|e| (-e).max(0.0) / lack).collect();
        Redistribution { taken: over.iter().zip(all).map(taken).collect(), shares }
    }
}

/// The dual point and what its bound takes.
struct Dual<'a> {
    like: &'a HeadsEvaluation<'a>,
    shares: &'a [f64],
    groups: Vec<Group<'a>>,
    redistribution: Redistribution,
}

impl Dual<'_> {
    fn certify(mut self, source: &dyn Source, evaluations: &[Evaluation]) -> Result<Certificate> {
        let (n, penalty) = (source.rows() as f64, self.like.weighted_penalty);
        if self.like.with_bias {
            let over: Vec<f64> =
                self.groups.iter().flat_map(|group| &group.slopes[..group.heads.len()]).copied().collect();
            let all: Vec<f64> = over.iter().zip(self.shares).map(|(e, share)| e + n * share).collect();
            self.redistribution = Redistribution::of(&over, &all);
        }
        self.move_gradients();
        let conjugates = self.conjugates(source)?.map(|sum| sum / n);
        let objective = evaluations.iter().map(|one| one.objective.total()).sum();
        let kkt = evaluations.iter().map(|one| one.violation).fold(0.0, larger_or_nan);
        let groups = &self.groups;
        let numbers = || groups.iter().flat_map(|group| group.gradient.iter().enumerate());
        let most = numbers().map(|(j, g)| g.iter().map(|g| penalty.one(j).share(g / n)).fold(1.0, f64::min));
        let most = most.fold(1.0, f64::min);
        let dual = |share: f64| {
            let of_group = |group: &Group| {
                let g = &group.gradient;
                let one =
                    |j: usize| g[j].iter().map(|g| penalty.one(j).conjugate(share * g / n)).sum::<f64>();
                sum(g.len(), one)
            };
            -chord(&conjugates, share) - groups.iter().map(of_group).sum::<f64>()
        };
        let bound = best_share(most, dual(most), objective, dual);
        let plain = Certificate { objective, dual: None, relative_gap: None, kkt, worst: Worst::Nowhere };
        Ok(plain.with_bound(bound, 1.0))
    }

    /// Turns the gradients at (W, b) into those of the dual point: Xᵀω(P̂ − Y).
    fn move_gradients(&mut self) {
        let Redistribution { taken, shares } = &self.redistribution;
        let mut lost = vec![0.0; self.groups.first().map_or(0, |group| group.gradient.len())];
        for (group, taken) in self.groups.iter().zip(taken.chunks(WIDE)) {
            lost.par_iter_mut().enumerate().with_min_len(1024).for_each(|(j, lost)| {
                *lost += taken
                    .iter()
                    .enumerate()
                    .map(|(l, a)| a * (group.gradient[j][l] + group.own[j][l]))
                    .sum::<f64>();
            });
        }
        let each = taken.chunks(WIDE).zip(shares.chunks(WIDE));
        for (group, (taken, shares)) in self.groups.iter_mut().zip(each) {
            for (j, lost) in lost.iter().enumerate() {
                let (gradient, own) = (&mut group.gradient[j], &group.own[j]);
                for l in 0..taken.len() {
                    gradient[l] += shares[l] * lost - taken[l] * (gradient[l] + own[l]);
                }
            }
        }
    }

    /// φ at each of [`SHARES`], in a pass over the rows.
    fn conjugates(&self, source: &dyn Source) -> Result<[f64; COUNT]> {
        let mut all = [0.0; COUNT];
        source.pass(&mut |batch| {
            let Some(sets) = batch.sets() else { return Ok(()) };
            let what = HeadsEvaluation { rows: batch.rows, weights: batch.weights, sets, ..*self.like };
            let blocks = (0..sets.len().div_ceil(BLOCK)).into_par_iter();
            let parts: Vec<[f64; COUNT]> = blocks.map(|block| self.of_block(&what, block * BLOCK)).collect();
            parts.iter().for_each(|part| all.iter_mut().zip(part).for_each(|(sum, part)| *sum += part));
            Ok(())
        })?;
        Ok(all)
    }

    /// φ of the rows from `first` on, at each of [`SHARES`].
    fn of_block(&self, what: &HeadsEvaluation, first: usize) -> [f64; COUNT] {
        let count = BLOCK.min(what.sets.len() - first);
        let mut scores = vec![[0.0; WIDE]; count * self.groups.len()];
        for (group, scores) in self.groups.iter().zip(scores.chunks_mut(count)) {
            scores_of(what.rows, first, &group.weights, group.heads, scores);
        }
        let (mut sums, mut row) = ([0.0; COUNT], vec![0.0; self.redistribution.taken.len()]);
        for at in 0..count {
            let (Some(&own), weight) = (what.sets.of(first + at).first(), what.weight(first + at)) else {
                continue;
            };
            for (group, row) in scores.chunks(count).zip(row.chunks_mut(WIDE)) {
                row.copy_from_slice(&group[at][..row.len()]);
            }
            self.to_residuals(&mut row, own as usize);
            for (sum, share) in sums.iter_mut().zip(SHARES) {
                *sum += weight * negative_entropy(&row, own as usize, share);
            }
        }
        sums
    }

    /// Turns the scores of a row into p̂ − y. The residual of the own class is minus the sum of the others.
    fn to_residuals(&self, row: &mut [f64], own: usize) {
        let Redistribution { taken, shares } = &self.redistribution;
        let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        row.iter_mut().for_each(|s| *s = (*s - most).exp());
        let total: f64 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= total);
        let lost: f64 = row.iter().zip(taken).map(|(p, a)| a * p).sum();
        let others = row.iter_mut().zip(taken.iter().zip(shares)).enumerate();
        let mut all = 0.0;
        for (k, (p, (a, z))) in others {
            *p = (1.0 - a) * *p + z * lost;
            all += if k == own { 0.0 } else { *p };
        }
        row[own] = -all;
    }
}

/// Σₖ q ln q of q = Y + θ(P̂ − Y), given P̂ − Y.
fn negative_entropy(residuals: &[f64], own: usize, share: f64) -> f64 {
    let one = |(k, r): (usize, &f64)| match share * r {
        r if k == own && r <= -1.0 => 0.0, // 0·ln 0
        r if k == own => (1.0 + r) * r.ln_1p(),
        p if p <= 0.0 => 0.0 * p, // a zero, or NaN
        p => p * p.ln(),
    };
    residuals.iter().enumerate().map(one).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::dataset::Dataset;
    use crate::data::features::Features;
    use crate::data::labels::Labels;
    use crate::data::rows::Rows;
    use crate::eval::objective::certify_heads;
    use crate::problem::heads::HeadKind;
    use crate::problem::penalty::{ElasticNet, WeightedPenalty};
    use crate::problem::settings::Settings;
    use crate::problem::solvers::Solver;
    use crate::problem::task::Task;
    use crate::util::random::Random;

    /// A task of eleven classes, so of two groups, with unequal row weights.
    fn task() -> Task {
        let (mut random, mut rows, mut labels) = (Random::new(5), Rows::new(), Labels::default());
        for i in 0..300 {
            let class = if i < 11 { i } else { random.below(11) as u32 };
            let noise = 11 + random.below(9) as u32;
            rows.push(&[(class % 9, 1.0), (9 + class % 2, 0.5), (noise, 2.0)]).unwrap();
            labels.push(format!("{class}").as_bytes()).unwrap();
        }
        let columns = rows.columns();
        let data = Dataset::made(rows, labels, Features::columns_from(0, columns));
        let mut task = Task::builder(data).heads(HeadKind::Softmax).build().unwrap();
        task.weights = Some((0..300).map(|i| if i % 3 == 0 { 2.0 } else { 0.5 }).collect());
        task
    }

    #[test]
    fn the_bound_is_that_of_rows_in_memory_and_never_above_the_optimum() {
        let task = task();
        for (l1, l2, bias) in [(1e-3, 1e-2, true), (2e-3, 0.0, true), (1e-3, 1e-3, false)] {
            let penalty = ElasticNet { l1, l2 };
            let settings =
                Settings { solver: Solver::Newton, penalty, bias, tolerance: 1e-10, ..Settings::default() };
            let optimum = crate::train::train(&task, None, &settings, &mut |_| {}).unwrap();
            let least = optimum.report.objective;
            let mut random = Random::new(9);
            for far in [0.0, 1e-6, 1e-2, 1.0] {
                let move_of = |w: &f64| w + far * (random.uniform() - 0.5);
                let mut heads = optimum.heads.clone();
                heads.iter_mut().flat_map(|head| &mut head.weights).for_each({
                    let mut move_of = move_of;
                    move |w| *w = move_of(w)
                });
                heads
                    .iter_mut()
                    .zip(1..)
                    .for_each(|(head, k)| head.bias += if bias { far / f64::from(k) } else { 0.0 });
                let what = HeadsEvaluation::of(&task, WeightedPenalty::of(penalty), bias, 9).unwrap();
                let counts = what.sets.weights(11, |i| task.weight(i) / 300.0);
                let columns = task.data.rows.columns();
                let (parts, proof) = of_softmax_on(&task, columns, &what, &counts, &heads, true).unwrap();
                let (proof, memory) = (proof.unwrap(), certify_heads(&what, &heads, &[]));
                let (here, there) = (proof.dual.unwrap(), memory.dual.unwrap());
                assert!(here <= least + 1e-9, "{l1} {l2} {far}: {here} above {least}");
                assert!(
                    here <= there + 1e-9 && there - here <= 0.1 * (memory.objective - there) + 1e-9,
                    "{l1} {l2} {far}: {here}, {there} of {}",
                    memory.objective
                );
                assert!(
                    (proof.objective - memory.objective).abs() < 1e-12
                        && (proof.kkt - memory.kkt).abs() < 1e-12
                );
                if far == 0.0 && l2 > 0.0 {
                    assert!(proof.relative_gap.unwrap() < 1e-7, "{proof:?}");
                }
                let one_at_once = HeadsEvaluation { at_once: 1, ..what };
                let (apart, none) =
                    of_softmax_on(&task, columns, &one_at_once, &counts, &heads, true).unwrap();
                assert!(none.is_none() && apart == parts, "two passes of one group");
            }
        }
    }
}
