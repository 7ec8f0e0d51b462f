//! Column statistics of a shard, which are known before training.
//!
//! ```text
//! cⱼ = how many rows hold j          sⱼ = Σᵢ ωᵢxᵢⱼ²
//! ```

use crate::data::rows::Examples;

/// Sums over the rows of a shard.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnStats {
    /// Number of rows.
    pub rows: u64,
    /// The total weight Σωᵢ.
    pub weight: f64,
    /// c: the number of rows with a value, per column.
    pub counts: Vec<u32>,
    /// s: the weighted sum of squares, per column.
    pub squares: Vec<f64>,
}

/// Computes the statistics of a shard.
///
/// ```
/// use lazyglm::{Examples, Rows, optim::shard};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 2.0)]).unwrap();
/// rows.push(&[(0, 1.0), (2, 3.0)]).unwrap();
/// let stats = shard::column_stats(Examples::new(rows.borrow(), &[1.0, -1.0], Some(&[1.0, 2.0])).unwrap());
/// assert_eq!((stats.rows, stats.weight), (2, 3.0));
/// assert_eq!((&stats.counts[..], &stats.squares[..]), (&[2, 0, 1][..], &[4.0 + 2.0, 0.0, 18.0][..]));
/// ```
pub fn column_stats(examples: Examples) -> ColumnStats {
    let columns = examples.rows.columns();
    let mut stats = ColumnStats {
        rows: examples.len() as u64,
        weight: (0..examples.len()).map(|i| examples.weight(i)).sum::<f64>() + 0.0, // an empty sum is −0
        counts: vec![0; columns],
        squares: vec![0.0; columns],
    };
    for i in 0..examples.len() {
        let weight = examples.weight(i);
        examples.rows.for_each(i, |j, x| {
            stats.counts[j] += 1;
            stats.squares[j] += weight * x * x;
        });
    }
    stats
}
