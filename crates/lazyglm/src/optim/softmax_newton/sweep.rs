//! Coordinate descent on the quadratic model.
//!
//! A feature with few classes in the working set moves one weight at a time. A feature with many moves them
//! together: H is the Laplacian of a graph, so it is at most twice its diagonal.

#![allow(clippy::needless_range_loop)] // inner loops go over indices: see `lanes`

use super::guard::Curvature;
use super::lanes::{Block, WIDE};
use super::model::QuadraticModel;
use crate::data::rows::Value;
use crate::optim::newton::shrunk;
use crate::simd::Work;

/// Largest number of classes of a feature whose weights move one at a time.
const FEW: usize = 3;
/// Replaces a second derivative of zero, which occurs if all rows of a column are saturated.
pub(super) const FLAT: f64 = 1e-12;

/// One sweep over the features of the set. Features whose weights stay at zero become inactive.
pub(super) struct Sweep<'s, 'm, V> {
    pub model: &'s mut QuadraticModel<'m, V>,
    pub active: &'s mut Vec<u32>,
}

impl<V: Value> Work for Sweep<'_, '_, V> {
    type Answer = f64;
    const WIDE: bool = true;
    #[inline(always)]
    fn run(self) -> f64 {
        let (model, mut gain) = (self.model, 0.0);
        let classes = std::mem::take(&mut model.classes);
        let mut slopes = vec![[0.0f32; WIDE]; model.newton.blocks];
        self.active.retain(|&at| {
            let (at, classes) = (at as usize, &classes[at as usize]);
            match classes.len() <= FEW {
                true => {
                    let visit = |&k: &u16| model.move_one(at, k as usize, &mut gain);
                    classes.iter().map(visit).filter(|stays| *stays).count() > 0 // visits all
                }
                false => model.move_together(at, classes, &mut slopes, &mut gain),
            }
        });
        model.classes = classes;
        gain
    }
}

impl<V: Value> QuadraticModel<'_, V> {
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
    fn move_together(
        &mut self,
        at: usize,
        classes: &[u16],
        slopes: &mut [Block<f32>],
        gain: &mut f64,
    ) -> bool {
        let (blocks, j, unit, penalty) =
            (self.newton.blocks, self.set[at] as usize, self.units[at], self.penalties[at]);
        let entries = self.columns.column(j);
        let Curvature { h, p } = &self.curvature;
        slopes.fill([0.0; WIDE]);
        for (i, x) in entries {
            let (first, m, x) = (*i as usize * blocks, self.m[*i as usize], (unit * x.to_f64()) as f32);
            let [h, p, t] = [h, p, &self.t].map(|of| &of[first..][..blocks]);
            for b in 0..blocks {
                for l in 0..WIDE {
                    slopes[b][l] += x * (h[b][l] * t[b][l] - p[b][l] * m);
                }
            }
        }
        let (mut stays, mut moved) = (false, false);
        let mut by = vec![[0.0f32; WIDE]; blocks];
        for &k in classes {
            let (k, l) = (k as usize / WIDE, k as usize % WIDE);
            let (block, old) = (at * blocks + k, self.to[at * blocks + k][l]);
            let slope = self.gradient[block][l] + f64::from(slopes[k][l]) + penalty.l2 * old;
            let second = (2.0 * self.squares[block][l] + penalty.l2).max(FLAT);
            let new = self.better(old, slope, second, penalty.l1, block, l);
            (self.to[block][l], by[k][l]) = (new, (new - old) as f32);
            *gain += 0.5 * (new - old) * (new - old) * second;
            stays |= new != 0.0 || slope.abs() >= 0.7 * penalty.l1;
            moved |= new != old;
        }
        if moved {
            for (i, x) in entries {
                let (first, x) = (*i as usize * blocks, (unit * x.to_f64()) as f32);
                super::lanes::add_multiple(&mut self.t[first..][..blocks], x, &by);
                self.m[*i as usize] += x * super::lanes::dot(&p[first..][..blocks], &by);
            }
        }
        stays
    }
}
