//! Newton steps on the loss smoothed around multipliers, and multiplier steps.
//!
//! ```text
//! φᵢ(s) = max over a in [loᵢ, hiᵢ] of a(tᵢ − s) − ε|a| − (μ/2ωᵢ)(a − aᵏᵢ)²        φ′ = −a(s),  φ″ = ωᵢ/μ on free rows, else 0
//! step        w, b ← a Newton step on Σφᵢ + n·R, damped by θ·Σωx²/μ per weight
//! multipliers aᵏ ← a(s), when smoothing causes most of the duality gap; μ need not go to zero
//! ```

use super::super::descend::Memory;
use super::super::model::{Accuracy, QuadraticModel};
use super::super::point::Point;
use super::super::{Bounds, Newton, NewtonStop, Reached};
use super::bound::Best;
use super::pieces::Pieces;
use crate::data::rows::Value;
use crate::optim::kernel::{ColumnStore, Columns};

/// Multipliers follow when smoothing causes this share of the gap.
const SHARE: f64 = 0.3;
/// Maximum number of Newton steps between multiplier steps.
const INNER: usize = 12;
/// Multiplier steps after at most this many Newton steps lower μ.
const QUICK: usize = 4;
/// Coordinate descent on the model stops when the remaining decrease is this share of the decrease so far.
const LITTLE: f64 = 0.1;
/// Range of the damping θ.
const THETA: [f64; 2] = [1e-10, 1e3];
/// Damping of the first step.
const FIRST_THETA: f64 = 1e-3;
/// A solve for another penalty begins with this multiple of the width of the last one, whose last multipliers were nearly exact.
const WIDER: f64 = 4.0;
/// Sums are computed anew after this many steps, because updates add rounding errors.
const ANEW: usize = 40;
/// Steps without a better objective or dual value, after which the precision is exhausted.
const IDLE: usize = 40;
/// Share of the tolerance for the estimated gap of a problem with unpenalised weights, which has no useful bound.
const MARGIN: f64 = 0.1;

/// State of the method.
pub(super) struct Multipliers<'a, V> {
    newton: &'a Newton<'a, V>,
    pieces: &'a Pieces,
    columns: &'a Columns<V>,
    point: Point,          // its slopes are −a, its gradient −Xᵀa
    multipliers: Vec<f64>, // aᵏ
    squares: Vec<f64>,     // Σ ωx² per column
    mu: f64,
    theta: f64,
}

/// Steps and numbers that may still be used.
pub(super) struct Limits {
    pub steps: usize,
    pub most_steps: usize,
    pub work: usize,
}

impl<'a, V: Value> Multipliers<'a, V> {
    /// Starts where another solve ended: at its weights and its bias, with its dual variables as multipliers. The width of
    /// smoothing is its own, if it had one.
    pub fn new(
        newton: &'a Newton<'a, V>,
        pieces: &'a Pieces,
        columns: &'a Columns<V>,
        from: Reached,
    ) -> Multipliers<'a, V> {
        let (multipliers, Reached { point, memory }) = (from.duals(), from);
        let Point { weights, bias, .. } = point;
        let mut scores = newton.scores(&weights);
        scores.iter_mut().for_each(|score| *score += bias);
        let mu = match memory.width {
            width if width > 0.0 => WIDER * width,
            _ => first_width(&scores, pieces),
        };
        let examples = newton.problem.examples;
        let mut squares = vec![0.0; weights.len()];
        for i in 0..examples.len() {
            let weight = examples.weight(i);
            examples.rows.row(newton.values, i).iter().for_each(|(j, x)| squares[j] += weight * x * x);
        }
        let (rows, width) = (scores.len(), weights.len());
        let point = Point {
            weights,
            bias,
            scores,
            slopes: vec![0.0; rows],
            second_derivatives: vec![0.0; rows],
            gradient: vec![0.0; width],
            penalty: 0.0,
            value: 0.0,
        };
        Multipliers { newton, pieces, columns, point, multipliers, squares, mu, theta: FIRST_THETA }
    }

    /// The place for a solve of another penalty.
    pub fn end(self) -> Reached {
        let rows = self.point.scores.len();
        Reached { point: self.point, memory: Memory { width: self.mu, ..Memory::new(rows) } }
    }

    /// Runs to the tolerance, or to a limit. `look` is called after each step, and returns false to stop.
    pub fn run(
        &mut self,
        best: &mut Best,
        limits: &mut Limits,
        look: &mut dyn FnMut(&Best, usize) -> bool,
    ) -> NewtonStop {
        let tolerance = self.newton.options.tolerance;
        let (mut inner, mut idle, mut anew) = (0, 0, 0);
        loop {
            self.settle_bias();
            self.enter_duals(anew == 0);
            anew = if anew == 0 { ANEW } else { anew - 1 };
            let before = (best.objective, best.dual);
            let mut gap = self.offer(best);
            if !look(best, limits.steps) || self.newton.bounds.interrupted() {
                return NewtonStop::Interrupted;
            }
            if best.relative_gap() <= tolerance && limits.steps >= self.newton.bounds.least_steps {
                return NewtonStop::Gap;
            }
            if self.has_free_weights() {
                gap = self.estimated_gap();
                if gap <= MARGIN * tolerance * best.scale() && self.free_weights_rest() {
                    best.estimate = gap / best.scale();
                    return NewtonStop::PredictedDecrease;
                }
            }
            if limits.steps >= limits.most_steps || limits.work == 0 {
                return NewtonStop::Steps;
            }
            let better = before.0 - best.objective > 1e-14 * best.objective.abs()
                || best.dual - before.1 > 1e-14 * best.dual.abs();
            idle = if better { 0 } else { idle + 1 };
            if gap.is_nan() {
                return NewtonStop::Diverged;
            }
            if idle == IDLE {
                return NewtonStop::Precision;
            }
            if inner >= INNER || (inner > 0 && self.smoothing() >= SHARE * gap) {
                self.follow(inner);
                inner = 0;
                limits.steps += 1; // so that the loop ends
                continue;
            }
            self.step(limits);
            if self.newton.bounds.interrupted() {
                return NewtonStop::Interrupted;
            }
            inner += 1;
            limits.steps += 1;
        }
    }

    /// Sets the multipliers to the dual variables, and changes μ if steps between were few or many.
    fn follow(&mut self, inner: usize) {
        self.multipliers.iter_mut().zip(&self.point.slopes).for_each(|(a, slope)| *a = -slope);
        self.mu *= match inner {
            _ if inner <= QUICK => 0.5,
            _ if inner >= INNER => 2.0,
            _ => 1.0,
        };
        self.mu = self.mu.clamp(1e-100, 1e100);
    }

    /// a(s) of row `i`, and whether the row is free.
    fn dual(&self, i: usize, score: f64) -> (f64, bool) {
        let Pieces { centre, low, high, epsilon } = self.pieces;
        let q = self.mu / self.newton.problem.examples.weight(i);
        let a = self.pieces.step(i, self.multipliers[i], centre[i] - score, q);
        (a, low[i] < a && a < high[i] && (a != 0.0 || *epsilon == 0.0))
    }

    /// Moves the bias to the minimum of the smoothed problem, where dual variables sum to zero.
    fn settle_bias(&mut self) {
        if !self.newton.problem.bias {
            return;
        }
        let (mut shift, mut low, mut high) = (0.0, f64::NEG_INFINITY, f64::INFINITY);
        let mut reach = self.mu;
        for _ in 0..80 {
            let (mut sum, mut size, mut curvature) = (0.0, 0.0, 0.0);
            for (i, score) in self.point.scores.iter().enumerate() {
                let (a, free) = self.dual(i, score + shift);
                sum += a;
                size += a.abs();
                if free {
                    curvature += self.newton.problem.examples.weight(i) / self.mu;
                }
            }
            if sum.is_nan() || sum.abs() <= 1e-13 * size {
                break;
            }
            if sum > 0.0 {
                low = shift
            } else {
                high = shift
            }
            let newton = shift + sum / curvature;
            shift = match low.is_finite() && high.is_finite() {
                _ if newton > low && newton < high => newton,
                true => 0.5 * (low + high),
                false => shift + reach.copysign(sum),
            };
            reach *= 4.0;
            if shift == low || shift == high {
                break;
            }
        }
        self.point.bias += shift;
        self.point.scores.iter_mut().for_each(|score| *score += shift);
    }

    /// Computes the dual variables at the scores, and the gradient: from the rows that changed, or `anew`.
    fn enter_duals(&mut self, anew: bool) {
        let rows = self.newton.problem.examples.rows;
        let (mut changed, mut nonzeros) = (Vec::new(), 0);
        for i in 0..self.point.scores.len() {
            let (a, free) = self.dual(i, self.point.scores[i]);
            let weight = self.newton.problem.examples.weight(i);
            self.point.second_derivatives[i] = if free { weight / self.mu } else { 0.0 };
            let moved = -a - self.point.slopes[i];
            if moved != 0.0 {
                changed.push((i, moved));
                nonzeros += rows.row(self.newton.values, i).ids.len();
                self.point.slopes[i] = -a;
            }
        }
        if anew || nonzeros > rows.nonzeros() / 2 {
            self.columns.products(&self.point.slopes, &mut self.point.gradient);
            return;
        }
        for (i, moved) in changed {
            let row = rows.row(self.newton.values, i);
            row.iter().for_each(|(j, x)| self.point.gradient[j] += moved * x);
        }
    }

    /// Offers the point and its dual variables. Returns their gap.
    fn offer(&self, best: &mut Best) -> f64 {
        let Multipliers { newton, pieces, point, .. } = self;
        let without: Vec<f64> = point.scores.iter().map(|score| score - point.bias).collect();
        let objective = best.offer_weights(newton, pieces, &point.weights, &without);
        let duals: Vec<f64> = point.slopes.iter().map(|slope| -slope).collect();
        let products: Vec<f64> = point.gradient.iter().map(|g| -g).collect();
        objective - best.offer_duals(newton, pieces, &duals, &products, &point.scores)
    }

    /// The part of the gap that is due to smoothing: Σ ωℓ(s) − a(t − s) + ε|a|.
    fn smoothing(&self) -> f64 {
        let one = |(i, score): (usize, &f64)| {
            let a = -self.point.slopes[i];
            self.pieces.loss(i, *score) - self.pieces.gain(i, a) + a * score
        };
        self.point.scores.iter().enumerate().map(one).sum()
    }

    /// Whether some weights have no penalty, so that there is no useful bound.
    fn has_free_weights(&self) -> bool {
        let penalty = self.newton.problem.weighted_penalty;
        penalty.penalty.is_none() || penalty.factors.is_some_and(|factors| factors.contains(&0.0))
    }

    /// The gap, where weights without penalty count as if only the current ones could change.
    fn estimated_gap(&self) -> f64 {
        let (penalty, n) = (&self.newton.problem.weighted_penalty, self.newton.n);
        let one = |(j, (&w, &g)): (usize, (&f64, &f64))| {
            let (own, one) = (penalty.at(j), penalty.one(j));
            match one.reply(g / n) {
                f64::INFINITY if own.is_none() => (g * w).abs(),
                f64::INFINITY => {
                    n * own.l1 * w.abs() + g * w + 2.0 * n * one.excess_gradient(g / n) * w.abs()
                }
                _ => n * own.value(&[w]) + g * w + n * one.conjugate(g / n),
            }
        };
        let of_weights: f64 = self.point.weights.iter().zip(&self.point.gradient).enumerate().map(one).sum();
        self.smoothing() + of_weights
    }

    /// Whether the gradient of all weights without penalty is nearly zero, as it must be at the optimum.
    fn free_weights_rest(&self) -> bool {
        let penalty = &self.newton.problem.weighted_penalty;
        let size: f64 = self.point.slopes.iter().map(|slope| slope * slope).sum();
        let limit = MARGIN * self.newton.options.tolerance;
        let rests = |j: usize| {
            let violation = penalty.violation(j, self.point.weights[j], self.point.gradient[j]);
            violation <= limit * (size * self.squares[j]).sqrt()
        };
        (0..self.point.weights.len()).all(|j| !penalty.at(j).is_none() || rests(j))
    }

    /// One Newton step.
    fn step(&mut self, limits: &mut Limits) {
        let newton = self.newton;
        let most = newton.look(&self.point).most;
        let mut model = QuadraticModel::build(newton, &self.point, self.columns, most, &mut Memory::new(0));
        for (k, &j) in model.set.iter().enumerate() {
            let unit = model.units[k];
            model.squares[k][1] += self.theta * self.squares[j as usize] * unit * unit / self.mu;
        }
        model.stiff = true;
        let accuracy =
            Accuracy { share: LITTLE, surely: true, enough: 0.0, missed: 1.0, far: false, closely: false };
        let touched = model.solve(accuracy, Bounds { work: limits.work, ..newton.bounds });
        limits.work =
            limits.work.saturating_sub(touched + newton.problem.examples.rows.nonzeros() + model.set.len());
        let along = newton.score_changes(&model, self.columns);
        let alpha = self.step_length(&model, &along);
        self.theta = match alpha {
            _ if alpha < 0.3 => 4.0 * self.theta,
            _ if alpha >= 0.99 => 0.25 * self.theta,
            _ => self.theta,
        }
        .clamp(THETA[0], THETA[1]);
        newton.move_weights(&mut self.point, &model, alpha);
        self.point.scores.iter_mut().zip(&along).for_each(|(score, u)| *score += alpha * u);
    }

    /// The full step if the objective still decreases there, else a length at which its derivative is small.
    fn step_length(&self, model: &QuadraticModel, along: &[f64]) -> f64 {
        let derivative = |alpha: f64| {
            let rows: f64 = along
                .iter()
                .enumerate()
                .filter(|(_, u)| **u != 0.0)
                .map(|(i, u)| -self.dual(i, self.point.scores[i] + alpha * u).0 * u)
                .sum();
            rows + model.penalty_derivative(alpha)
        };
        if derivative(1.0) <= 0.0 {
            return 1.0;
        }
        let start = derivative(0.0).abs();
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..30 {
            let middle = 0.5 * (low + high);
            let slope = derivative(middle);
            if slope > 0.0 {
                high = middle
            } else {
                low = middle
            }
            if slope.abs() <= 0.1 * start && low > 0.0 {
                return middle;
            }
        }
        low
    }
}

/// The width of smoothing at first: four times the median distance of scores from their centres.
fn first_width(scores: &[f64], pieces: &Pieces) -> f64 {
    let mut distances: Vec<f64> =
        scores.iter().zip(&pieces.centre).map(|(score, centre)| (centre - score).abs()).collect();
    let middle = distances.len() / 2;
    let median = *distances.select_nth_unstable_by(middle, f64::total_cmp).1;
    let largest = distances.iter().copied().fold(0.0, f64::max);
    [4.0 * median, largest, 1.0].into_iter().find(|mu| *mu > 0.0 && mu.is_finite()).unwrap_or(1.0)
}

impl Reached {
    /// A place of a piecewise-linear loss: weights, a bias and dual variables.
    pub fn on_kinks(weights: Vec<f64>, bias: f64, duals: Vec<f64>) -> Reached {
        let (rows, columns) = (duals.len(), weights.len());
        let point = Point {
            weights,
            bias,
            scores: vec![0.0; rows],
            slopes: duals.iter().map(|a| -a).collect(),
            second_derivatives: vec![0.0; rows],
            gradient: vec![0.0; columns],
            penalty: 0.0,
            value: 0.0,
        };
        Reached { point, memory: Memory::new(rows) }
    }

    /// The dual variables of a piecewise-linear loss.
    pub fn duals(&self) -> Vec<f64> {
        self.point.slopes.iter().map(|slope| -slope).collect()
    }
}
