//! Confidence intervals of metrics by the bootstrap (Efron 1979): rows drawn with replacement, many times.
//!
//! ```text
//! interval = the 2.5 % and the 97.5 % quantile of a metric over samples of n rows out of n
//! ```

use crate::util::random::Random;
use rayon::prelude::*;

/// The ends of a 95 % confidence interval, or `None` if the metric is undefined in some sample.
pub type Interval = Option<[f64; 2]>;

/// The intervals of several metrics. `figures` computes them, given how often each row was drawn.
///
/// The result depends on the seed, not on the number of threads.
///
/// ```
/// use lazyglm::eval::metrics::intervals;
/// let values: Vec<f64> = (0..100).map(f64::from).collect();
/// let mean = |drawn: &[f64]| vec![Some(values.iter().zip(drawn).map(|(x, n)| x * n).sum::<f64>() / 100.0)];
/// let [Some([low, high])] = intervals(100, 400, 1, &mean)[..] else { panic!("one interval") };
/// assert!((40.0..47.0).contains(&low) && (52.0..59.0).contains(&high), "49.5 ± 2·2.9: {low} {high}");
/// ```
pub fn intervals(
    rows: usize,
    samples: usize,
    seed: u64,
    figures: &(impl Fn(&[f64]) -> Vec<Option<f64>> + Sync),
) -> Vec<Interval> {
    let sample = |number: usize| {
        let mut random = Random::new(seed ^ (number as u64 + 1).wrapping_mul(0xD1B5_4A32_D192_ED03));
        let mut drawn = vec![0.0; rows];
        (0..rows).for_each(|_| drawn[random.below(rows as u64) as usize] += 1.0);
        figures(&drawn)
    };
    let all: Vec<Vec<Option<f64>>> = (0..samples).into_par_iter().map(sample).collect();
    let count = all.first().map_or(0, Vec::len);
    (0..count).map(|k| interval(all.iter().map(|figures| figures[k]).collect())).collect()
}

fn interval(values: Vec<Option<f64>>) -> Interval {
    let mut values: Vec<f64> =
        values.into_iter().map(|value| value.filter(|x| x.is_finite())).collect::<Option<_>>()?;
    values.sort_by(f64::total_cmp);
    let quantile = |share: f64| {
        let at = share * (values.len() - 1) as f64;
        let (low, high) = (values[at as usize], values[at.ceil() as usize]);
        low + (high - low) * at.fract()
    };
    (!values.is_empty()).then(|| [quantile(0.025), quantile(0.975)])
}
