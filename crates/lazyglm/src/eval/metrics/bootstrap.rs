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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_lies_between_the_nearest_two_values() {
        let values = |count: usize| (0..count).rev().map(|k| Some(k as f64)).collect::<Vec<_>>();
        let [low, high] = interval(values(11)).unwrap();
        assert!((low - 0.25).abs() < 1e-12 && (high - 9.75).abs() < 1e-12, "{low} {high}");
        assert_eq!(interval(vec![Some(1.0), None]), None, "a figure that one sample does not have");
        assert_eq!(interval(vec![Some(1.0), Some(f64::NAN)]), None);
        assert_eq!(interval(Vec::new()), None);
    }

    #[test]
    fn a_sample_has_as_many_rows_as_there_are_and_some_of_them_twice() {
        let figures = |drawn: &[f64]| {
            assert_eq!(drawn.iter().sum::<f64>(), 50.0);
            assert!(drawn.iter().any(|times| *times >= 2.0) && drawn.contains(&0.0));
            vec![Some(drawn[..25].iter().sum::<f64>()), None]
        };
        let found = intervals(50, 200, 7, &figures);
        assert_eq!((found.len(), found[1]), (2, None));
        let [low, high] = found[0].unwrap();
        // 25 rows of 50 are drawn 25 ± 3.5 times.
        assert!((15.0..22.0).contains(&low) && (28.0..35.0).contains(&high), "{low} {high}");
    }
}
