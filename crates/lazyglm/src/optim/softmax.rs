//! Stochastic gradient steps for softmax regression: all classes at once.
//!
//! ```text
//! for t = 0, 1, …               row (x, y) of weight ω, for every class c
//!     s_c = w_c·x + b_c         p_c = e^s_c/Σ e^s          ℓ = −ln p_y
//!     g_c = ω·(p_c − [y = c])   w_c ← w_c − ηₜ·g_c·x       b_c ← b_c − ηₜ·g_c
//!     w_c ← penalty step
//! ```
//!
//! Classes are lanes, as in [`super::lanes`], of one kernel or several; the scores of all classes come first. Several kernels
//! learn on several threads, which exchange the scores of each row. Every thread computes all probabilities, in the same order,
//! so the bits do not depend on the number of threads.

mod exchange;
mod part;

use super::lanes::next_ids;
use super::row_loop::AHEAD;
use super::sgd::{Diverged, SAMPLED, Sample};
use crate::data::rows::{RowsRef, ValuesRef};
use crate::problem::penalty::{ElasticNet, Method};
use crate::problem::schedule::Schedule;
use crate::problem::settings::Precision;
use crate::simd;
use crate::util::state::{Fields, State};
use exchange::{Exchange, Seat};
use part::{Part, part};

/// Least number of changes of weights in a call for which several threads pay.
const WORTH: usize = 1 << 16;
/// Number of calls on one thread after the threads had to wait for each other, at first and at most.
const ALONE: [u32; 2] = [8, 256];

/// A softmax model in training: the heads of all classes.
///
/// ```
/// use lazyglm::{ElasticNet, Method, Rows, schedule, Precision, optim::softmax::Softmax};
/// let mut rows = Rows::new();
/// (0..3).for_each(|class| rows.push(&[(class, 1.0)]).unwrap());
/// let setting = schedule::Setting { eta0: 0.5, l2: 0.0, rows: Some(3), epochs: 1 };
/// let rate = schedule::Spec::parse("constant").unwrap().resolve(&setting).unwrap();
/// let mut model = Softmax::new(3, 3, ElasticNet { l1: 1e-3, l2: 0.0 }, Method::Fobos, true, Precision::F32);
/// for _ in 0..20 {
///     model.learn(&*rate, (rows.borrow(), None), &[0, 1, 2], &[0, 1, 2]).unwrap();
/// }
/// let own: Vec<bool> = model.weights(1).map(|w| w > 0.0).collect();
/// assert_eq!(own, [false, true, false]);
/// ```
pub struct Softmax {
    parts: Vec<Box<dyn Part>>,
    width: usize, // lanes per part; the last part may have fewer
    bias: Vec<f64>,
    learns_bias: bool,
    t: u64,
    scores: Vec<f64>,
    sampled: u64,
    busy: Busy,
}

/// How long to learn on one thread, because the machine is busy.
#[derive(Default)]
struct Busy {
    calls: u32, // on one thread, from now on
    last: u32,
}

impl Softmax {
    /// Starts with all weights and biases zero.
    pub fn new(
        columns: usize,
        classes: usize,
        penalty: ElasticNet,
        method: Method,
        learns_bias: bool,
        width: Precision,
    ) -> Softmax {
        let lanes: Vec<usize> = (0..classes)
            .step_by(width.most_lanes())
            .map(|first| (classes - first).min(width.most_lanes()))
            .collect();
        Softmax {
            parts: lanes.iter().map(|&lanes| part(columns, &vec![penalty; lanes], method, width)).collect(),
            width: width.most_lanes(),
            bias: vec![0.0; classes],
            learns_bias,
            t: 0,
            scores: vec![0.0; classes],
            sampled: SAMPLED,
            busy: Busy::default(),
        }
    }

    /// Bytes for a number of columns and classes.
    pub fn bytes(columns: usize, classes: usize, width: Precision) -> usize {
        let (whole, rest) = (classes / width.most_lanes(), classes % width.most_lanes());
        columns
            * (whole * width.lane_bytes(width.most_lanes())
                + if rest > 0 { width.lane_bytes(rest) } else { 0 })
    }

    /// Sets the sampling interval of the running loss, in rows.
    pub fn sampling_one_in(self, rows: u64) -> Softmax {
        Softmax { sampled: rows.max(1), ..self }
    }

    /// Trains on these rows, with the given classes, in this order. Any split of an order into calls gives the same bits.
    pub fn learn(
        &mut self,
        rate: &dyn Schedule,
        (rows, weights): (RowsRef, Option<&[f64]>),
        classes: &[u32],
        order: &[u32],
    ) -> Result<Sample, Diverged> {
        let pass =
            Pass { rate, rows, weights, classes, sampled: self.sampled, learns_bias: self.learns_bias };
        let (done, sample) = match self.threads(rows, order.len()) {
            0..=1 => (0, Sample::default()),
            threads => self.learn_together(&pass, order, threads)?,
        };
        let from = Start { t: self.t, sample };
        let group = Group { parts: &mut self.parts, bias: &mut self.bias, first: 0, width: self.width };
        let (more, sample) = group.learn(&pass, from, &order[done..], None)?;
        self.t += more as u64;
        Ok(sample)
    }

    /// The number of threads to learn on. A thread of a pool learns alone: the others have work of their own.
    fn threads(&mut self, rows: RowsRef, count: usize) -> usize {
        let threads = rayon::current_num_threads().min(self.parts.len());
        let changes = rows.nonzeros() / rows.len().max(1) * count * self.bias.len();
        if threads < 2 || changes < WORTH || rayon::current_thread_index().is_some() {
            return 1;
        }
        match self.busy.calls {
            0 => threads,
            _ => {
                self.busy.calls -= 1;
                1
            }
        }
    }

    /// Trains on several threads, each with some of the classes. Returns the number of rows after which they stopped.
    fn learn_together(
        &mut self,
        pass: &Pass,
        order: &[u32],
        threads: usize,
    ) -> Result<(usize, Sample), Diverged> {
        let (width, all) = (self.width, self.parts.len());
        let from = Start { t: self.t, sample: Sample::default() };
        let (mut groups, mut first) = (Vec::new(), 0);
        let (mut parts, mut bias) = (&mut self.parts[..], &mut self.bias[..]);
        for k in 0..threads {
            let (own, other_parts) = parts.split_at_mut((k + 1) * all / threads - k * all / threads);
            let (own_bias, other_bias) = bias.split_at_mut((own.len() * width).min(bias.len()));
            (parts, bias) = (other_parts, other_bias);
            groups.push(Group { first, width, parts: own, bias: own_bias });
            first += groups[k].bias.len();
        }
        let exchange = Exchange::new(groups.iter().map(|group| group.bias.len()));
        let seated = groups.into_iter().enumerate().map(|(k, group)| (group, exchange.seat(k)));
        let found = std::thread::scope(|scope| {
            let mut work = seated.map(|(group, seat)| move || group.learn(pass, from, order, Some(seat)));
            let here = work.next();
            let others: Vec<_> = work.map(|work| scope.spawn(work)).collect();
            let found = here.map_or(Ok((0, Sample::default())), |work| work());
            for other in others {
                if let Err(panic) = other.join() {
                    std::panic::resume_unwind(panic);
                }
            }
            found // that of the others is the same
        })?;
        self.t += found.0 as u64;
        let waited = found.0 < order.len();
        self.busy.last = if waited { (4 * self.busy.last).clamp(ALONE[0], ALONE[1]) } else { 0 };
        self.busy.calls = self.busy.last;
        Ok(found)
    }

    /// Calls back with the scores of these rows, without training.
    pub fn score(&mut self, rows: RowsRef, order: &[u32], see: &mut dyn FnMut(usize, &[f64])) {
        for (k, &i) in order.iter().enumerate() {
            self.score_row(rows, i as usize, soon(rows, order, k));
            see(i as usize, &self.scores);
        }
    }

    fn score_row(&mut self, rows: RowsRef, i: usize, soon: &[u32]) {
        score_row(&mut self.parts, &self.bias, self.width, (rows, i, soon), &mut self.scores);
    }

    /// The settled weights of a class.
    pub fn weights(&self, class: usize) -> Box<dyn Iterator<Item = f64> + '_> {
        self.parts[class / self.width].weights(class % self.width)
    }

    /// The bias of each class.
    pub fn biases(&self) -> &[f64] {
        &self.bias
    }

    /// The state, for a checkpoint after any rows.
    pub fn fields(&mut self, fields: &mut Fields) {
        self.parts.iter_mut().for_each(|part| part.fields(fields));
        fields.fixed(&mut self.bias);
        self.t.fields(fields);
    }

    /// The number of steps so far.
    pub fn t(&self) -> u64 {
        self.t
    }
}

/// What all groups of classes learn from.
struct Pass<'a> {
    rate: &'a dyn Schedule,
    rows: RowsRef<'a>,
    weights: Option<&'a [f64]>,
    classes: &'a [u32],
    sampled: u64,
    learns_bias: bool,
}

/// The first step of some rows, and the sampled losses before them: in whatever calls rows come, their sum has the same order.
#[derive(Clone, Copy)]
struct Start {
    t: u64,
    sample: Sample,
}

/// Some of the classes, or all.
struct Group<'a> {
    parts: &'a mut [Box<dyn Part>],
    bias: &'a mut [f64],
    first: usize, // class
    width: usize,
}

impl Group<'_> {
    /// Trains on these rows. At a seat, the scores of the other classes come from other threads, and all stop before the same row.
    /// Returns the number of rows, and the sampled losses.
    fn learn(
        self,
        pass: &Pass,
        from: Start,
        order: &[u32],
        mut seat: Option<Seat>,
    ) -> Result<(usize, Sample), Diverged> {
        let Pass { rate, rows, weights, classes, .. } = *pass;
        let (mut sample, own) = (from.sample, self.first..self.first + self.bias.len());
        let all = seat.as_ref().map_or(own.end, Seat::classes);
        let (mut scores, mut amounts) = (vec![0.0; all], vec![0.0; own.len()]);
        let mut size = 0; // non-zeros of the row
        for (k, &i) in order.iter().enumerate() {
            let (t, soon) = (from.t + k as u64, soon(rows, order, k));
            if let Some(&later) = order.get(k + AHEAD) {
                simd::prefetch_one(classes, later as usize);
                weights.iter().for_each(|weights| simd::prefetch_one(weights, later as usize));
            }
            let (i, weight) = (i as usize, weights.map_or(1.0, |w| w[i as usize]));
            score_row(self.parts, self.bias, self.width, (rows, i, soon), &mut scores[own.clone()]);
            if let Some(seat) = &mut seat
                && !seat.swap(&mut scores, std::mem::replace(&mut size, soon.len()))
            {
                return Ok((k, sample));
            }
            if let Some(&score) = scores.iter().find(|score| !score.is_finite()) {
                return Err(Diverged { row: i, t, score, slope: f64::NAN });
            }
            let (class, score) = (classes[i] as usize, scores[classes[i] as usize]);
            let (most, sum) = simd::fastest(Probabilities(&mut scores));
            if t.is_multiple_of(pass.sampled) {
                sample = sample.and(Sample { sum: weight * (most + sum.ln() - score), weight });
            }
            let eta = rate.eta(t);
            scores[class] -= 1.0;
            for (amount, slope) in amounts.iter_mut().zip(&scores[own.clone()]) {
                *amount = eta * (weight * slope);
            }
            if pass.learns_bias {
                self.bias.iter_mut().zip(&amounts).for_each(|(b, amount)| *b -= amount);
            }
            for (part, amounts) in self.parts.iter_mut().zip(amounts.chunks(self.width)) {
                part.step(rows, i, amounts, eta);
            }
        }
        Ok((order.len(), sample))
    }
}

/// The scores of row `i`; meanwhile, the weights of the features `soon` are fetched.
fn score_row(
    parts: &mut [Box<dyn Part>],
    bias: &[f64],
    width: usize,
    (rows, i, soon): (RowsRef, usize, &[u32]),
    scores: &mut [f64],
) {
    for (part, scores) in parts.iter_mut().zip(scores.chunks_mut(width)) {
        part.score(rows, i, soon, scores);
    }
    scores.iter_mut().zip(bias).for_each(|(score, bias)| *score += bias);
}

/// Converts scores to probabilities. Returns the largest score, which is subtracted first so that nothing overflows, and the sum
/// Σ e^(s − largest).
struct Probabilities<'a>(&'a mut [f64]);

impl simd::Work for Probabilities<'_> {
    type Answer = (f64, f64);
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) -> (f64, f64) {
        let (scores, mut most, mut sum) = (self.0, f64::NEG_INFINITY, 0.0);
        // Plain loops, because iterator code would not be compiled for the selected instruction set.
        for &score in &*scores {
            most = if score > most { score } else { most };
        }
        for score in &mut *scores {
            *score = simd::exp_of_nonpositive(*score - most);
        }
        for part in &*scores {
            sum += part;
        }
        for part in scores {
            *part /= sum;
        }
        (most, sum)
    }
}

/// Prefetches rows ahead; returns the feature ids of the next row.
fn soon<'a>(rows: RowsRef<'a>, order: &[u32], k: usize) -> &'a [u32] {
    match rows.values() {
        ValuesRef::F32(values) => next_ids(rows, values, order, k),
        ValuesRef::F64(values) => next_ids(rows, values, order, k),
    }
}
