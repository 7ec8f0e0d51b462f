//! A summary of the data that training needs in advance, collected in one pass over their cache.

use crate::data::cache::Cache;
use crate::data::feature_ids::FeatureIds;
use crate::data::labels::{Labels, boolean, parts};
use crate::data::loader;
use crate::util::error::{Error, Place, Result};
use crate::util::parameter::Parameter;
use std::collections::BTreeMap;
use std::path::Path;

/// Maximum number of distinct targets. Beyond it, numbers are rounded to f32, then to fewer digits.
const DISTINCT: usize = 1 << 20;
/// Occurrence is tracked for indices up to this bound. A larger bit map would take more memory than it saves.
const INDICES: usize = 1 << 28;

/// Distinct targets and occurring features of a data set.
pub(crate) struct Survey {
    /// Each distinct target once; of sets of labels, each label.
    pub labels: Labels,
    /// Whether a target was a set of labels with commas between them.
    pub commas: bool,
    /// Number of rows per distinct target.
    pub counts: Vec<usize>,
    /// Sum of sample weights per distinct target.
    pub weights: Vec<f64>,
    /// Sum of the sample weights of all rows.
    pub weight: f64,
    /// For each id (index as written, word or bucket), whether it occurs.
    pub occurs: Vec<bool>,
    /// An id whose values would all round to zero in f32, if there is one.
    pub vanishing: Option<u32>,
}

impl Survey {
    /// Goes through all rows; `split` takes targets with commas for sets of labels.
    pub fn of(cache: &Cache, file: &Path, threads: usize, split: bool) -> Result<Survey> {
        let ids = match &cache.feature_ids {
            FeatureIds::Indices => cache.meta.span.map_or(0, |span| span.high.index as usize + 1),
            FeatureIds::Words(words) => words.len(),
            FeatureIds::Buckets(buckets) => 1 << buckets.bits(),
        };
        if ids > INDICES {
            let what = format!("indices go up to {}, too far for {}", ids - 1, Parameter::Memory);
            let hint = format!("renumber the features, or use {}", Parameter::HashBits.set(24));
            return Err(Error::data(Place::file(file), what, hint));
        }
        let (mut occurs, exact_in_f32) = (vec![false; ids], cache.meta.exact_in_f32);
        let mut survives = if exact_in_f32 { Vec::new() } else { vec![false; ids] };
        let (mut numbers, mut words) = (Sums::default(), BTreeMap::<String, (usize, f64)>::new());
        let (mut commas, mut all) = (false, 0.0);
        loader::from_cache(cache, exact_in_f32, threads, &mut |block| {
            let order = cache.order.as_deref();
            let id_of = |id: u32| order.map_or(id, |order| order[id as usize]);
            block.rows.ids().iter().for_each(|&id| occurs[id_of(id) as usize] = true);
            if !exact_in_f32 {
                let rows = block.rows.borrow();
                let mut see = |id: usize, x: f64| survives[id_of(id as u32) as usize] |= x as f32 != 0.0;
                (0..rows.len()).for_each(|i| rows.for_each(i, &mut see));
            }
            let weight = |i: usize| block.weights.get(i).copied().unwrap_or(1.0);
            all += (0..block.rows.len()).map(weight).sum::<f64>();
            match &block.labels {
                Labels::Numbers(targets) => {
                    targets.iter().enumerate().for_each(|(i, &y)| numbers.add(y, 1, weight(i)));
                }
                Labels::Words { codes, words: written, .. } => {
                    commas |= split && block.labels.has_commas();
                    let mut used = vec![false; written.len()];
                    codes.iter().for_each(|&code| used[code as usize] = true);
                    let names = written.iter().zip(used).map(|(word, used)| {
                        let mut names =
                            if used { parts(word, split, || Place::file(file))? } else { Vec::new() };
                        names.sort_unstable();
                        names.dedup();
                        Ok(names)
                    });
                    let names = names.collect::<Result<Vec<_>>>()?;
                    for (i, &code) in codes.iter().enumerate() {
                        for name in &names[code as usize] {
                            let sum = words.entry(name.clone()).or_default();
                            *sum = (sum.0 + 1, sum.1 + weight(i));
                        }
                    }
                    if words.len() > DISTINCT {
                        return Err(too_many_words(file));
                    }
                }
            }
            Ok(())
        })?;
        let lost =
            |(id, (occurs, survives)): (usize, (&bool, &bool))| (*occurs && !survives).then_some(id as u32);
        let vanishing = occurs.iter().zip(&survives).enumerate().find_map(lost);
        let mut survey = Survey {
            vanishing,
            commas,
            labels: Labels::default(),
            counts: Vec::new(),
            weights: Vec::new(),
            weight: all,
            occurs,
        };
        if words.is_empty() {
            survey.labels = Labels::Numbers(numbers.sums.values().map(|sum| sum.0).collect());
            (survey.counts, survey.weights) = numbers.sums.values().map(|sum| (sum.1, sum.2)).unzip();
            return Ok(survey);
        }
        for (y, count, weight) in numbers.sums.into_values() {
            let sum = words.entry(y.to_string()).or_default();
            *sum = (sum.0 + count, sum.1 + weight);
        }
        if words.keys().all(|word| boolean(word).is_some()) {
            let spelt = std::mem::take(&mut words).into_iter();
            for (word, (count, weight)) in spelt {
                let sum = words.entry(boolean(&word).unwrap_or_default().to_string()).or_default();
                *sum = (sum.0 + count, sum.1 + weight);
            }
        }
        for (word, (count, weight)) in words {
            let odd = |what| Error::data(Place::file(file), what, "give targets that are words or numbers");
            survey.labels.push(word.as_bytes()).map_err(odd)?;
            survey.counts.push(count);
            survey.weights.push(weight);
        }
        Ok(survey)
    }
}

fn too_many_words(file: &Path) -> Error {
    let what = format!("there are more than {DISTINCT} distinct targets that are words");
    let hint =
        format!("give numbers to predict, fewer classes or labels, or leave {} out", Parameter::Memory);
    Error::data(Place::file(file), what, hint)
}

/// A bounded number of distinct numbers, each with its count and its total weight.
#[derive(Default)]
struct Sums {
    sums: BTreeMap<u64, (f64, usize, f64)>, // keyed by the bits of the number
    rounding: u32,
}

impl Sums {
    fn add(&mut self, y: f64, count: usize, weight: f64) {
        let y = self.rounded(y);
        let sum = self.sums.entry(y.to_bits()).or_insert((y, 0, 0.0));
        (sum.1, sum.2) = (sum.1 + count, sum.2 + weight);
        if self.sums.len() > DISTINCT {
            self.rounding = if self.rounding == 0 { 29 } else { self.rounding + 4 }; // to f32 first, then to fewer bits
            for (y, count, weight) in std::mem::take(&mut self.sums).into_values() {
                self.add(y, count, weight);
            }
        }
    }

    /// The number without its last `rounding` bits.
    fn rounded(&self, y: f64) -> f64 {
        f64::from_bits(y.to_bits() >> self.rounding << self.rounding) + 0.0
    }
}
