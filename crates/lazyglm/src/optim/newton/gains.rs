//! Decreases of Q by sweeps, and an extrapolation of the remaining decrease.

/// Largest assumed ratio of successive decreases. Rounding may keep decreases from falling further.
const SLOWEST: f64 = 0.99;

/// Decreases of Q by sweeps: at least ½·(second derivative)·move² per step.
#[derive(Default)]
pub(crate) struct Gains {
    /// Total decrease by sweeps and by jumps.
    pub all: f64,
    last: f64,
    ratios: [f64; 2],
}

impl Gains {
    /// The ratio of successive decreases: the larger of the last two.
    pub fn ratio(&self) -> f64 {
        self.ratios[0].max(self.ratios[1])
    }

    /// Records the decrease of a sweep. Returns the extrapolated remaining decrease.
    pub fn left_after(&mut self, gain: f64) -> f64 {
        self.all += gain;
        if self.last > 0.0 {
            self.ratios = [self.ratios[1], (gain / self.last).min(SLOWEST)];
        }
        self.last = gain;
        match self.ratio() {
            _ if gain <= 0.0 => 0.0,
            ratio if self.ratios[0] > 0.0 => gain * ratio / (1.0 - ratio),
            _ => f64::INFINITY,
        }
    }

    /// Records another decrease, after which the next sweep's decrease does not follow from the last.
    pub fn add_jump(&mut self, gain: f64) {
        (self.all, self.last) = (self.all + gain, 0.0);
    }
}
