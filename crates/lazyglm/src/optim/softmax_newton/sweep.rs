//! Coordinate descent on the quadratic model.
//!
//! A feature with few classes in the working set moves one weight at a time. A feature with many moves them
//! together: H is the Laplacian of a graph, so it is at most twice its diagonal.
//!
//! The numbers of all rows exceed the caches of a core, and a column reads them in no order that the processor could
//! predict. So the rows of the next non-zeros are prefetched, within a column and at the start of the next one.

#![allow(clippy::needless_range_loop)] // inner loops go over indices: see `lanes`

use super::guard::Curvature;
use super::lanes::{Block, WIDE};
use super::model::QuadraticModel;
use crate::data::rows::Value;
use crate::problem::penalty::one::shrunk;
use crate::simd::{self, Work};

/// Largest number of classes of a feature whose weights move one at a time.
const FEW: usize = 3;
/// How many non-zeros ahead of their use rows are prefetched.
const AHEAD: usize = 8;
/// Replaces a second derivative of zero, which occurs if all rows of a column are saturated.
pub(super) const FLAT: f64 = 1e-12;

/// One sweep over the features of the set. Features whose weights stay at zero become inactive.
pub(super) struct Sweep<'s, 'm, V> {
    pub model: &'s mut QuadraticModel<'m, V>,
    pub active: &'s mut Vec<u32>,
}

/// Scratch vectors of one number per class: the slopes of a feature and its move.
struct Room {
    slopes: Vec<Block<f32>>,
    by: Vec<Block<f32>>,
}

impl<V: Value> Work for Sweep<'_, '_, V> {
    type Answer = f64;
    const WIDE: bool = true;
    #[inline(always)]
    fn run(self) -> f64 {
        let Sweep { model, active } = self;
        let classes = std::mem::take(&mut model.classes);
        let vector = vec![[0.0f32; WIDE]; model.newton.blocks];
        let mut room = Room { slopes: vector.clone(), by: vector };
        let (mut gain, mut kept) = (0.0, 0);
        for k in 0..active.len() {
            let at = active[k] as usize;
            if let Some(&next) = active.get(k + 1) {
                model.prefetch_column(next as usize);
            }
            let classes = &classes[at];
            let mut stays = false;
            if classes.len() <= FEW {
                for &class in classes {
                    stays |= model.move_one(at, class as usize, &mut gain);
                }
            } else {
                stays = model.move_together(at, classes, &mut room, &mut gain);
            }
            active[kept] = at as u32;
            kept += usize::from(stays);
        }
        active.truncate(kept);
        model.classes = classes;
        gain
    }
}

impl<V: Value> QuadraticModel<'_, V> {
    /// Prefetches the numbers of the first rows of a feature.
    #[inline(always)]
    fn prefetch_column(&self, at: usize) {
        for (i, _) in self.columns.column(self.set[at] as usize).iter().take(AHEAD) {
            self.prefetch_row(*i as usize);
        }
    }

    /// Prefetches the numbers of a row.
    #[inline(always)]
    fn prefetch_row(&self, i: usize) {
        let (blocks, Curvature { h, p }) = (self.newton.blocks, &self.curvature);
        for of in [h, p, &self.t] {
            simd::prefetch(&of[i * blocks..][..blocks]);
        }
    }

    /// Moves one weight to its minimum. Returns whether it should be visited again.
    #[inline(always)]
    fn move_one(&mut self, at: usize, k: usize, gain: &mut f64) -> bool {
        let (blocks, j, unit) = (self.newton.blocks, self.set[at] as usize, self.units[at]);
        let (block, l) = (at * blocks + k / WIDE, k % WIDE);
        let entries = self.columns.column(j);
        let Curvature { h, p } = &self.curvature;
        let mut curved = 0.0;
        for (i, x) in entries {
            let row = *i as usize * blocks + k / WIDE;
            curved +=
                unit * x.to_f64() * f64::from(h[row][l] * self.t[row][l] - p[row][l] * self.m[*i as usize]);
        }
        let (penalty, old) = (self.penalties[at], self.to[block][l]);
        let slope = self.gradient[block][l] + curved + penalty.l2 * old;
        let second = (self.squares[block][l] + penalty.l2).max(FLAT);
        let new = self.better(old, slope, second, penalty.l1, block, l);
        if new != old {
            self.to[block][l] = new;
            let by = (new - old) as f32;
            for (i, x) in entries {
                let (row, moved) = (*i as usize * blocks + k / WIDE, by * (unit * x.to_f64()) as f32);
                self.t[row][l] += moved;
                self.m[*i as usize] += moved * p[row][l];
            }
            *gain += 0.5 * (new - old) * (new - old) * second;
        }
        new != 0.0 || slope.abs() >= 0.7 * penalty.l1
    }

    /// The minimiser of one weight. A weight without curvature goes to zero or stays.
    #[inline(always)]
    fn better(&self, old: f64, slope: f64, second: f64, l1: f64, block: usize, l: usize) -> f64 {
        if self.squares[block][l] <= 0.0 && slope.abs() >= l1 && second <= FLAT {
            return old;
        }
        shrunk(old - slope / second, l1 / second, self.ranges[block / self.newton.blocks])
    }

    /// Moves the weights of some classes of a feature at once. Returns whether they should be visited again.
    #[inline(always)]
    fn move_together(&mut self, at: usize, classes: &[u16], room: &mut Room, gain: &mut f64) -> bool {
        let (blocks, penalty) = (self.newton.blocks, self.penalties[at]);
        let mut first = 0;
        while first < blocks {
            let slopes = &mut room.slopes[first..];
            match slopes.len() {
                1 => self.slopes::<1>(at, first, slopes),
                2 => self.slopes::<2>(at, first, slopes),
                3 => self.slopes::<3>(at, first, slopes),
                _ => self.slopes::<4>(at, first, slopes),
            }
            first += 4;
        }
        let (mut stays, mut moved) = (false, false);
        room.by.fill([0.0; WIDE]);
        for &k in classes {
            let (k, l) = (k as usize / WIDE, k as usize % WIDE);
            let (block, old) = (at * blocks + k, self.to[at * blocks + k][l]);
            let slope = self.gradient[block][l] + f64::from(room.slopes[k][l]) + penalty.l2 * old;
            let second = (2.0 * self.squares[block][l] + penalty.l2).max(FLAT);
            let new = self.better(old, slope, second, penalty.l1, block, l);
            (self.to[block][l], room.by[k][l]) = (new, (new - old) as f32);
            *gain += 0.5 * (new - old) * (new - old) * second;
            stays |= new != 0.0 || slope.abs() >= 0.7 * penalty.l1;
            moved |= new != old;
        }
        let mut first = if moved { 0 } else { blocks };
        while first < blocks {
            let by = &room.by[first..];
            match by.len() {
                1 => self.add_move::<1>(at, first, by),
                2 => self.add_move::<2>(at, first, by),
                3 => self.add_move::<3>(at, first, by),
                _ => self.add_move::<4>(at, first, by),
            }
            first += 4;
        }
        stays
    }

    /// The slopes Σᵢ xᵢⱼ(hᵢₖtᵢₖ − pᵢₖmᵢ) of `B` blocks of classes, of which this is the first.
    #[inline(always)]
    fn slopes<const B: usize>(&self, at: usize, first: usize, out: &mut [Block<f32>]) {
        let (blocks, unit) = (self.newton.blocks, self.units[at]);
        let Curvature { h, p } = &self.curvature;
        let entries = self.columns.column(self.set[at] as usize);
        let mut sums = [[0.0f32; WIDE]; B];
        for (e, (i, x)) in entries.iter().enumerate() {
            if let Some((soon, _)) = entries.get(e + AHEAD) {
                self.prefetch_row(*soon as usize);
            }
            let (i, x) = (*i as usize, (unit * x.to_f64()) as f32);
            let (span, m) = (i * blocks + first..i * blocks + first + B, self.m[i]);
            let (h, p, t) = (&h[span.clone()], &p[span.clone()], &self.t[span]);
            for b in 0..B {
                for l in 0..WIDE {
                    sums[b][l] += x * (h[b][l] * t[b][l] - p[b][l] * m);
                }
            }
        }
        out[..B].copy_from_slice(&sums);
    }

    /// Adds a move of `B` blocks of classes to t and m.
    #[inline(always)]
    fn add_move<const B: usize>(&mut self, at: usize, first: usize, by: &[Block<f32>]) {
        let (blocks, unit) = (self.newton.blocks, self.units[at]);
        let by: [Block<f32>; B] = std::array::from_fn(|b| by[b]);
        for (i, x) in self.columns.column(self.set[at] as usize) {
            let (i, x) = (*i as usize, (unit * x.to_f64()) as f32);
            let span = i * blocks + first..i * blocks + first + B;
            super::lanes::add_multiple(&mut self.t[span.clone()], x, &by);
            self.m[i] += x * super::lanes::dot(&self.curvature.p[span], &by);
        }
    }
}
