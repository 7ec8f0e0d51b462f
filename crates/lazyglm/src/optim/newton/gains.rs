//! What sweeps gain, and what is left to gain by that.

/// Gains that fall more slowly than this are taken to fall so: rounding keeps them from falling at all.
const SLOWEST: f64 = 0.99;

/// What sweeps have gained, by ½·bend·move² of each step: Q falls by that at least.
#[derive(Default)]
pub(super) struct Gains {
    /// Of all sweeps, and of jumps.
    pub all: f64,
    last: f64,
    ratios: [f64; 2],
}

impl Gains {
    /// How much of a sweep's gain the next one makes; of the last two ratios the larger.
    pub fn ratio(&self) -> f64 {
        self.ratios[0].max(self.ratios[1])
    }

    /// After a sweep that gained this: what is left, if gains go on to fall as they did, as a share of all so far.
    pub fn left_after(&mut self, gain: f64) -> f64 {
        self.all += gain;
        if self.last > 0.0 {
            self.ratios = [self.ratios[1], (gain / self.last).min(SLOWEST)];
        }
        self.last = gain;
        match self.ratio() {
            _ if gain <= 0.0 => 0.0,
            ratio if self.ratios[0] > 0.0 => gain * ratio / ((1.0 - ratio) * self.all),
            _ => f64::INFINITY,
        }
    }

    /// Something else gained this: the next sweep's gain does not follow from the last.
    pub fn jumped(&mut self, gain: f64) {
        (self.all, self.last) = (self.all + gain, 0.0);
    }
}
