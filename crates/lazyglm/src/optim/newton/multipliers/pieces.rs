//! The rows of a piecewise-linear loss: a centre tᵢ and a box [loᵢ, hiᵢ] of the dual variable per row.
//!
//! ```text
//! ωᵢℓ(s) = max over a in [loᵢ, hiᵢ] of a(tᵢ − s) − ε|a|
//! a(s)   = clip(soft((tᵢ − s)·ωᵢ/μ + aᵏᵢ; εωᵢ/μ))           the dual variable of the loss smoothed with width μ around aᵏ
//! ```

use crate::data::rows::Examples;
use crate::problem::loss::Loss;
use crate::problem::penalty::one::shrunk;

/// Centres and boxes of all rows. The centres are those of scores without offsets, and the boxes include the row
/// weights.
pub(in crate::optim::newton) struct Pieces {
    pub centre: Vec<f64>,
    pub low: Vec<f64>,
    pub high: Vec<f64>,
    pub epsilon: f64,
}

impl Pieces {
    /// The pieces of all rows, or `None` for a loss that is not piecewise linear.
    pub fn of(examples: Examples, loss: &dyn Loss) -> Option<Pieces> {
        let n = examples.len();
        let (mut centre, mut low, mut high) =
            (Vec::with_capacity(n), Vec::with_capacity(n), Vec::with_capacity(n));
        let mut epsilon = 0.0;
        for (i, &target) in examples.targets.iter().enumerate() {
            let (pieces, weight) = (loss.linear_pieces(target)?, examples.weight(i));
            centre.push(pieces.centre - examples.offset(i));
            low.push(weight * pieces.low);
            high.push(weight * pieces.high);
            epsilon = pieces.epsilon;
        }
        Some(Pieces { centre, low, high, epsilon })
    }

    /// The weighted loss of row `i` at a score.
    #[inline]
    pub fn loss(&self, i: usize, score: f64) -> f64 {
        let short = self.centre[i] - score;
        match short {
            _ if short > self.epsilon => self.high[i] * (short - self.epsilon),
            _ if short < -self.epsilon => self.low[i] * (short + self.epsilon),
            _ => 0.0 * short, // NaN if the score is
        }
    }

    /// The term a·t − ε|a| of the dual value.
    #[inline]
    pub fn gain(&self, i: usize, a: f64) -> f64 {
        a * self.centre[i] - self.epsilon * a.abs()
    }

    /// The maximiser of a·g − ε|a| − ½q(a − from)², with g = tᵢ − s.
    #[inline]
    pub fn step(&self, i: usize, from: f64, g: f64, q: f64) -> f64 {
        shrunk(from + g / q, self.epsilon / q, [self.low[i], self.high[i]])
    }

    /// The derivative of the dual value with respect to aᵢ, 0 if aᵢ is at its best, with g = tᵢ − s.
    #[inline]
    pub fn projected(&self, i: usize, a: f64, g: f64) -> f64 {
        let up = if a < 0.0 { g + self.epsilon } else { g - self.epsilon };
        let down = if a > 0.0 { g - self.epsilon } else { g + self.epsilon };
        match () {
            () if up > 0.0 && a < self.high[i] => up,
            () if down < 0.0 && a > self.low[i] => down,
            () => 0.0 * g,
        }
    }

    /// Whether aᵢ would stay where it is even if g changed by `slack`: it is at an end of the box, or at zero
    /// between two kinks.
    #[inline]
    pub fn stays(&self, i: usize, a: f64, g: f64, slack: f64) -> bool {
        (a >= self.high[i] && g - self.epsilon > slack)
            || (a <= self.low[i] && g + self.epsilon < -slack)
            || (a == 0.0 && g.abs() + slack < self.epsilon)
    }

    /// The bias that minimises the loss at these scores without bias, by weighted selection among the kinks.
    ///
    /// In b, the slope of the loss is −Σhi below all kinks. It rises by hi at t − ε − s and by −lo at t + ε − s.
    pub fn best_bias(&self, scores: &[f64]) -> f64 {
        let mut kinks = Vec::with_capacity(2 * scores.len());
        for (i, score) in scores.iter().enumerate() {
            let at = self.centre[i] - score;
            match self.epsilon {
                0.0 => kinks.push((at, self.high[i] - self.low[i])),
                epsilon => kinks.extend([(at - epsilon, self.high[i]), (at + epsilon, -self.low[i])]),
            }
        }
        kinks.retain(|(_, jump)| *jump > 0.0);
        let (mut left, mut part) = (self.high.iter().sum::<f64>(), &mut kinks[..]);
        while part.len() > 1 {
            let middle = part.len() / 2;
            part.select_nth_unstable_by(middle, |a, b| a.0.total_cmp(&b.0));
            let below: f64 = part[..middle].iter().map(|(_, jump)| jump).sum();
            if below >= left {
                part = &mut part[..middle];
            } else {
                left -= below;
                part = &mut part[middle..];
            }
        }
        part.first().map_or(0.0, |(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::rows::Rows;
    use crate::problem::loss;
    use crate::util::random::Random;

    #[test]
    fn pieces_are_the_loss_and_the_best_bias_is_the_best() {
        let (mut random, mut rows) = (Random::new(5), Rows::new());
        (0..9).for_each(|_| rows.push(&[]).unwrap());
        for name in ["hinge", "quantile:tau=0.3", "epsilon-insensitive:epsilon=0.5", "perceptron"] {
            let loss = loss::parse(name).unwrap();
            let sign = |u: f64| if u < 0.5 { -1.0 } else { 1.0 };
            let targets: Vec<f64> = (0..9).map(|_| sign(random.uniform())).collect();
            let weights: Vec<f64> = (0..9).map(|_| 0.1 + random.uniform()).collect();
            let examples = Examples::new(rows.borrow(), &targets, Some(&weights)).unwrap();
            let pieces = Pieces::of(examples, &*loss).unwrap();
            let scores: Vec<f64> = (0..9).map(|_| 4.0 * random.uniform() - 2.0).collect();
            for (i, s) in scores.iter().enumerate() {
                let (here, there) = (pieces.loss(i, *s), weights[i] * loss.value(*s, targets[i]));
                assert!((here - there).abs() < 1e-15, "{name}: {here} {there}");
            }
            let total = |b: f64| scores.iter().enumerate().map(|(i, s)| pieces.loss(i, s + b)).sum::<f64>();
            let best = total(pieces.best_bias(&scores));
            let least = (-4000..4000).map(|k| total(f64::from(k) * 1e-3)).fold(f64::INFINITY, f64::min);
            assert!(best <= least + 1e-12, "{name}: {best} {least}");
        }
    }
}
