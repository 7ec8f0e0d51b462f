//! Synthetic data: documents with a Zipf vocabulary and sparse true weights.
//!
//! Used by the demo, the benchmarks, the examples and the tests. The data are the same on every machine.
//!
//! ```
//! use lazyglm::{ElasticNet, Settings, synth, train};
//! let shape = synth::Shape { rows: 5_000, features: 1_000, words: 20.0, planted: 10, seed: 1 };
//! let made = synth::documents(&shape);
//! let settings = Settings { penalty: ElasticNet::new(0.01, 0.0).unwrap(), ..Settings::default() };
//! let weights = train(&made.task, None, &settings, &mut |_| {}).unwrap().weights;
//! let agree = made.truth.iter().filter(|(column, weight)| weights[*column] * weight > 0.0).count();
//! assert!(agree >= 9, "of ten planted signs");
//! ```

use crate::data::dataset::Dataset;
use crate::data::features::Features;
use crate::data::labels::Labels;
use crate::data::rows::Rows;
use crate::problem::loss;
use crate::problem::task::{Targets, Task};
use crate::util::random::Random;

/// Size of the synthetic data.
///
/// ```
/// use lazyglm::synth::{Shape, documents};
/// let made = documents(&Shape { rows: 1_000, features: 10_000, words: 30.0, ..Shape::default() });
/// let mean = made.task.data.rows.nonzeros() as f64 / 1_000.0;
/// assert!((mean - 30.0).abs() < 2.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// n: the number of rows.
    pub rows: usize,
    /// d: the number of features.
    pub features: usize,
    /// Mean number of distinct words per document.
    pub words: f64,
    /// Number of features with a true weight.
    pub planted: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { rows: 100_000, features: 100_000, words: 50.0, planted: 200, seed: 1 }
    }
}

/// The size of the paper's data: bags of words of Medline abstracts (Lipton & Elkan 2015, §6).
///
/// ```
/// use lazyglm::synth::{PAPER, Shape, documents};
/// let thousandth = Shape { rows: PAPER.rows / 1000, ..PAPER };
/// let rows = documents(&thousandth).task.data.rows;
/// assert_eq!((rows.len(), rows.columns()), (1_000, 260_941));
/// ```
pub const PAPER: Shape = Shape { rows: 1_000_000, features: 260_941, words: 88.54, planted: 2_000, seed: 1 };

/// Synthetic data and their true weights.
///
/// ```
/// use lazyglm::synth::{Shape, documents};
/// let made = documents(&Shape { rows: 500, features: 1_000, planted: 20, ..Shape::default() });
/// let mut truth = vec![0.0; 1_000];
/// made.truth.iter().for_each(|&(column, weight)| truth[column] = weight);
/// let odds = |i: usize| made.task.data.rows.borrow().dot(i, &truth);
/// let right = (0..500).filter(|&i| odds(i) * made.task.numbers()[i] > 0.0).count();
/// assert!(right > 400, "the truth knows better than a coin");
/// ```
pub struct Documents {
    /// A task with rows of ones, targets ±1 and logistic loss.
    pub task: Task,
    /// The true weights as (column, weight), with increasing columns.
    pub truth: Vec<(usize, f64)>,
}

/// Generates documents.
///
/// The word of rank r has probability ∝ 1/r (Zipf). Ranks are assigned to columns at random, because in real
/// data a word's number does not depend on its frequency. The class is drawn with log-odds equal to the sum
/// of the true weights.
///
/// ```
/// use lazyglm::synth::{Shape, documents};
/// let made = documents(&Shape { rows: 100, features: 1_000, ..Shape::default() });
/// assert_eq!((made.task.len(), made.truth.len()), (100, 200));
/// ```
pub fn documents(shape: &Shape) -> Documents {
    let mut random = Random::new(shape.seed);
    let mut column_of_rank: Vec<u32> = (0..shape.features as u32).collect();
    random.shuffle(&mut column_of_rank);
    let weights = plant(shape, &column_of_rank, &mut random);
    let mut writer =
        DocumentSampler { shape, column_of_rank, last_used: vec![0; shape.features], words: Vec::new() };

    let mut rows = Rows::new();
    let mut targets = Vec::with_capacity(shape.rows);
    let mut pairs: Vec<(u32, f64)> = Vec::new();
    for row in 1..=shape.rows as u32 {
        let words = writer.write(row, &mut random);
        let odds: f64 = words.iter().map(|&word| weights[word as usize]).sum();
        targets.push(if random.uniform() < 1.0 / (1.0 + (-odds).exp()) { 1.0 } else { -1.0 });
        pairs.clear();
        pairs.extend(words.iter().map(|&word| (word, 1.0)));
        rows.push(&pairs).expect("sorted, distinct, finite");
    }
    rows.declare_columns(shape.features);
    let truth = weights.into_iter().enumerate().filter(|(_, w)| *w != 0.0).collect();
    Documents { task: task(rows, targets), truth }
}

/// True weights of ±1 to ±2 on words of medium rank, spread evenly over the logarithm of the rank.
fn plant(shape: &Shape, column_of_rank: &[u32], random: &mut Random) -> Vec<f64> {
    let mut weights = vec![0.0; shape.features];
    let (first, last) =
        (shape.features.min(10) as f64, (shape.features as f64 / 10.0).max(shape.planted as f64));
    for _ in 0..shape.planted.min(shape.features / 4) {
        let weight = (1.0 + random.uniform()).copysign(random.uniform() - 0.5);
        let mut rank = (first * (last / first).powf(random.uniform())) as usize % shape.features;
        while weights[column_of_rank[rank] as usize] != 0.0 {
            rank = (rank + 1) % shape.features; // already used: take the next free one
        }
        weights[column_of_rank[rank] as usize] = weight;
    }
    weights
}

/// Draws the distinct words of documents.
struct DocumentSampler<'a> {
    shape: &'a Shape,
    column_of_rank: Vec<u32>,
    last_used: Vec<u32>, // per rank: the last row that contains the word
    words: Vec<u32>,
}

impl DocumentSampler<'_> {
    /// The sorted words of document `row` (counted from 1). Lengths are uniform from 0.4 to 1.6 times the
    /// mean.
    fn write(&mut self, row: u32, random: &mut Random) -> &[u32] {
        let length = self.shape.words * (0.4 + 1.2 * random.uniform()) + random.uniform();
        let length = (length as usize).clamp(1, (self.shape.features / 2).max(1));
        let reach = (self.shape.features as f64 + 1.0).ln();
        self.words.clear();
        while self.words.len() < length {
            let rank = ((random.uniform() * reach).exp() as usize - 1).min(self.shape.features - 1);
            if self.last_used[rank] != row {
                self.last_used[rank] = row;
                self.words.push(self.column_of_rank[rank]);
            }
        }
        self.words.sort_unstable();
        &self.words
    }
}

fn task(rows: Rows, targets: Vec<f64>) -> Task {
    let features = Features::columns_from(0, rows.columns());
    Task {
        data: Dataset::made(rows, Labels::Numbers(targets.clone()), features),
        loss: loss::parse("logistic").expect("a loss of the table"),
        targets: Targets::Binary { classes: ["-1".into(), "1".into()], signs: targets },
        weights: None,
        notes: Vec::new(),
    }
}
