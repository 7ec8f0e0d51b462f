//! Scores rows with a model, for rows whose features have the ids of the data.

use crate::data::feature_ids::bucket;
use crate::data::format::Parsed;
use crate::data::rows::RowsRef;
use crate::data::scaling::log_count;
use crate::model::Model;
use crate::model::summation::{SortedRow, sum};
use crate::util::error::{Error, Place, Result, excerpt};
use crate::util::parameter::Parameter;
use std::borrow::Cow;

/// A model prepared for scoring.
///
/// ```
/// use lazyglm::{Model, Scorer, Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
/// let by_column = task.data.rows.borrow().dot(7, &trained.weights) + trained.bias;
/// let model = Model::new(&task, &Settings::default(), trained);
/// let by_name = Scorer::new(&model).score(task.data.rows.borrow(), 7);
/// assert!((by_name - by_column).abs() < 1e-12);
/// ```
pub struct Scorer<'a> {
    model: &'a Model,
    held: Cow<'a, [f64]>, // per feature: the weight or, with heads, its position in the list of features, counted from 1
    table: Vec<f64>, // the same per index; 0 without a weight, NaN for a feature that did not occur in training
    ids: Ids,        // the meaning of the current rows' ids
    idf: Vec<f64>,   // the idf per index of the table or, without a table, per feature in `seen`
    seen: Vec<u32>,  // with tf-idf by index but without a table: the features that occurred, ascending
    products: Vec<f64>, // of weights and values of a row
    row: SortedRow,  // the values of a row in the order of summation
    unseen: Option<String>, // the first feature that did not occur in training
    unseen_values: u64,
}

enum Ids {
    /// Ids are indices as written.
    Indices,
    /// Ids are indices to be hashed into this many bits.
    Hashed(u32),
    /// Ids are numbers of names. Holds the entry of each name, its place in the model and, with tf-idf, its idf.
    Names { held: Vec<f64>, places: Vec<u32>, idf: Option<Vec<f64>> },
    /// Ids are numbers of names in these buckets, whose values are added before they become tf-idf.
    Buckets(Vec<usize>),
}

/// Maximum length of a lookup table for a sparse model, so that a small file cannot allocate much memory.
/// Without a table, entries are found by search.
const TABLE: u64 = 1 << 22;
/// Maximum number of table entries per entry of the model, for longer tables.
const SPARSE: u64 = 16;

impl<'a> Scorer<'a> {
    /// Prepares a model for scoring.
    ///
    /// ```
    /// use lazyglm::{Model, Scorer, Settings, synth, train};
    /// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// let model = Model::new(&task, &Settings::default(), trained);
    /// let mut scorer = Scorer::new(&model); // once, for any number of rows
    /// let positive = (0..500).filter(|&i| scorer.score(task.data.rows.borrow(), i) > 0.0).count();
    /// assert!((1..500).contains(&positive));
    /// ```
    pub fn new(model: &'a Model) -> Scorer<'a> {
        let length = model.seen.runs.last().map_or(0, |&(_, last)| u64::from(last) + 1);
        let held = (model.features.len() + model.seen.runs.len()) as u64;
        let fits = length <= TABLE || length <= SPARSE * held;
        let places = || (1..=model.features.len()).map(|place| place as f64).collect();
        let held = match &model.heads {
            None => Cow::Borrowed(&model.weights[..]),
            Some(_) => Cow::Owned(places()),
        };
        let mut table = vec![f64::NAN; if fits { length as usize } else { 0 }];
        if !table.is_empty() {
            for &(first, last) in &model.seen.runs {
                table[first as usize..=last as usize].fill(0.0);
            }
            for (&index, &held) in model.features.iter().zip(&*held) {
                table[index as usize] = held;
            }
        }
        let (idf, seen) = by_index(model, table.len());
        Scorer {
            model,
            held,
            table,
            idf,
            seen,
            ids: Ids::Indices,
            products: Vec::new(),
            row: SortedRow::default(),
            unseen: None,
            unseen_values: 0,
        }
    }

    /// The idf of a feature that occurred in training, if the model has tf-idf by index.
    fn idf(&self, index: usize) -> Option<f64> {
        let place = match self.seen.is_empty() {
            true => index,
            false => self.seen.binary_search(&(index as u32)).ok()?,
        };
        self.idf.get(place).copied()
    }

    /// The entry of a feature, or NaN if the feature did not occur in training.
    fn entry(&self, index: usize) -> f64 {
        if let Some(&weight) = self.table.get(index) {
            return weight;
        }
        let index = index as u32;
        match self.model.features.binary_search(&index) {
            Ok(k) => self.held[k],
            Err(_) if self.model.seen.contains(index) => 0.0,
            Err(_) => f64::NAN,
        }
    }

    /// Prepares for scoring a block of rows by resolving the meaning of its ids.
    ///
    /// ```
    /// # use lazyglm::{Model, Scorer, Settings, synth, train};
    /// # let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// # let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// # let model = Model::new(&task, &Settings::default(), trained);
    /// let mut block = lazyglm::data::format::Parsed::default();
    /// let id = block.name("subject^lottery");
    /// block.push_row(&mut vec![(id, 1.0)]).unwrap();
    /// let error = Scorer::new(&model).set_block(&block).unwrap_err();
    /// assert!(error.to_string().contains("features by number"));
    /// ```
    pub fn set_block(&mut self, block: &Parsed) -> Result<()> {
        let bits = self.model.reading.hash_bits;
        self.ids = match (&self.model.words, bits, &block.names) {
            (_, _, None) if block.rows.nonzeros() == 0 => Ids::Indices,
            (None, None, None) => Ids::Indices,
            (None, Some(bits), None) => Ids::Hashed(bits),
            (None, Some(bits), Some(names)) => {
                let buckets: Vec<usize> =
                    names.iter().map(|name| bucket(name.as_bytes(), bits) as usize).collect();
                match self.model.tf_idf {
                    Some(_) => Ids::Buckets(buckets),
                    None => {
                        let places = buckets.iter().map(|&bucket| bucket as u32).collect();
                        let held = buckets.into_iter().map(|bucket| self.entry(bucket)).collect();
                        Ids::Names { held, places, idf: None }
                    }
                }
            }
            (Some(words), _, Some(names)) => {
                let places: Vec<Option<usize>> = names.iter().map(|name| words.place(name)).collect();
                let held = |place: usize| self.held.get(place).copied().unwrap_or(0.0);
                let idf = |place: &Option<usize>| place.and_then(|place| words.idf_at(place)).unwrap_or(0.0);
                Ids::Names {
                    held: places.iter().map(|place| place.map_or(f64::NAN, held)).collect(),
                    idf: words.idf.as_ref().map(|_| places.iter().map(idf).collect()),
                    places: places.iter().map(|place| place.map_or(u32::MAX, |place| place as u32)).collect(),
                }
            }
            (Some(_), _, None) => return Err(mismatch("features by name, and these data by number")),
            (None, None, Some(_)) => return Err(mismatch("features by number, and these data by name")),
        };
        if let (Ids::Names { held, .. }, Some(names), None) = (&self.ids, &block.names, &self.unseen) {
            let first = held.iter().position(|held| held.is_nan());
            self.unseen = first.map(|id| names.name(id as u32).to_string());
        }
        Ok(())
    }

    /// The score w·x + b of row `i`. Features that did not occur in training count as zero.
    ///
    /// The rows are those of the last prepared block, or rows whose ids are indices as written.
    ///
    /// ```
    /// # use lazyglm::{Model, Rows, Scorer, Seen, Settings, synth, train};
    /// # let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// # let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// let (features, seen) = (vec![7], Seen { runs: vec![(0, 99)] });
    /// let model = Model::new(&task, &Settings::default(), trained);
    /// let model = Model { features, weights: vec![2.0], bias: 0.5, seen, ..model };
    /// let mut rows = Rows::new();
    /// rows.push(&[(3, 1.0), (7, 10.0), (100, 1.0)]).unwrap(); // weight zero, weight two, never seen
    /// assert_eq!(Scorer::new(&model).score(rows.borrow(), 0), 20.5);
    /// ```
    pub fn score(&mut self, rows: RowsRef, i: usize) -> f64 {
        if let Ids::Names { held, idf: None, .. } = &self.ids {
            self.products.clear();
            rows.for_each(i, |id, x| match held[id] {
                held if held.is_nan() => self.unseen_values += 1,
                held => self.products.push(held * x),
            });
            return self.model.bias + sum(&self.products);
        }
        let (mut score, mut normed_sum) = (self.model.bias, 0.0);
        let length = self.walk(rows, i, |weight, x, normed| match normed {
            true => normed_sum += weight * x,
            false => score += weight * x,
        });
        score + length.map_or(0.0, |length| normed_sum / length)
    }

    /// Replaces `scores` by the scores of all heads for row `i`.
    ///
    /// ```
    /// # use lazyglm::{HeadKind, Heads, Model, Rows, Scorer, Seen, Settings, synth, train};
    /// # let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// # let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// # let model = Model::new(&task, &Settings::default(), trained);
    /// let (names, biases) = (vec!["a".to_string(), "b".to_string()], vec![0.0, 0.5]);
    /// // Feature 3 has a weight for b, feature 7 for both.
    /// let heads = Heads { kind: HeadKind::Ovr, names, biases, ends: vec![1, 3], ids: vec![1, 0, 1], thresholds: None };
    /// let (features, weights) = (vec![3, 7], vec![5.0, 1.0, 2.0]);
    /// let model = Model { features, weights, heads: Some(heads), seen: Seen { runs: vec![(0, 99)] }, ..model };
    /// let (mut rows, mut scores) = (Rows::new(), Vec::new());
    /// rows.push(&[(3, 1.0), (7, 10.0)]).unwrap();
    /// Scorer::new(&model).scores(rows.borrow(), 0, &mut scores);
    /// assert_eq!(scores, [10.0, 25.5]);
    /// ```
    pub fn scores(&mut self, rows: RowsRef, i: usize, scores: &mut Vec<f64>) {
        let model = self.model;
        scores.clear();
        let Some(heads) = &model.heads else { return scores.push(self.score(rows, i)) };
        scores.resize(heads.names.len(), 0.0);
        let length = self.walk(rows, i, |place, x, _| {
            if place > 0.0 {
                let span = heads.span(place as usize - 1);
                let own = heads.ids[span.clone()].iter().zip(&model.weights[span]);
                own.for_each(|(&head, &weight)| scores[head as usize] += weight * x);
            }
        });
        let length = length.unwrap_or(1.0);
        scores.iter_mut().zip(&heads.biases).for_each(|(score, bias)| *score = *score / length + bias);
    }

    /// Rejects scores and predictions that are NaN or infinite, because an overflow says nothing about the
    /// row.
    ///
    /// ```
    /// use lazyglm::{Place, Scorer};
    /// let place = || Place::file("new.svm").line(3);
    /// assert!(Scorer::check_finite(&[0.5, -2.0], place).is_ok());
    /// let error = Scorer::check_finite(&[0.5, f64::NAN], place).unwrap_err().to_string();
    /// assert!(error.starts_with("new.svm:3: the prediction for this row is NaN"));
    /// ```
    pub fn check_finite(scores: &[f64], place: impl FnOnce() -> Place) -> Result<()> {
        match scores.iter().find(|score| !score.is_finite()) {
            None => Ok(()),
            Some(score) => {
                let what =
                    format!("the prediction for this row is {score}: its values are too large for the model");
                Err(Error::data(place(), what, "scale the values down, as those in training were"))
            }
        }
    }

    /// Calls `see` with the entry and the value of each feature of a row, and whether to divide values by the
    /// row's norm. Returns the norm in that case.
    ///
    /// The order is that of the model, whatever the order of names in a block, so that a row has the same score alone, among
    /// other rows and in every format.
    fn walk(&mut self, rows: RowsRef, i: usize, mut see: impl FnMut(f64, f64, bool)) -> Option<f64> {
        let (mut unseen, mut count, mut square) = (None, 0, 0.0);
        let log = self.model.tf_idf.as_ref().is_some_and(|tf_idf| tf_idf.log);
        let norm = self.model.tf_idf.as_ref().is_none_or(|tf_idf| tf_idf.norm);
        let mut one = |id: usize, held: f64, idf: Option<f64>, x: f64| match idf {
            _ if held.is_nan() => {
                unseen = unseen.or(Some(id));
                count += 1;
            }
            Some(idf) => {
                let x = idf * if log { log_count(x) } else { x };
                see(held, x, true);
                square += x * x;
            }
            None => see(held, x, false),
        };
        let hashed = |id: usize, bits: u32| bucket(id.to_string().as_bytes(), bits) as usize;
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        let mut by_bucket = |bucket_of: &dyn Fn(usize) -> usize| {
            rows.for_each(i, |id, x| row.push(bucket_of(id) as u32, 0.0, x, id));
            row.sort();
            for same in row.keys.chunk_by(|a, b| a >> 32 == b >> 32) {
                let bucket = (same[0] >> 32) as usize;
                let x = same.iter().fold(0.0, |sum, &key| sum + row.of(key).1);
                one(bucket, self.entry(bucket), self.idf(bucket), x);
            }
        };
        match &self.ids {
            Ids::Indices => rows.for_each(i, |id, x| one(id, self.entry(id), self.idf(id), x)),
            Ids::Names { held, places, idf } => {
                rows.for_each(i, |id, x| {
                    if held[id] != 0.0 || idf.is_some() {
                        row.push(places[id], held[id], x, id); // an entry of zero adds nothing
                    }
                });
                row.sort();
                for &key in &row.keys {
                    let (held, x, id) = row.of(key);
                    one(id, held, idf.as_ref().map(|idf| idf[id]), x);
                }
            }
            Ids::Hashed(bits) if self.model.tf_idf.is_some() => by_bucket(&|id| hashed(id, *bits)),
            Ids::Hashed(bits) => rows.for_each(i, |id, x| one(id, self.entry(hashed(id, *bits)), None, x)),
            Ids::Buckets(of_name) => by_bucket(&|id| of_name[id]),
        }
        self.row = row;
        if self.unseen.is_none() {
            self.unseen = unseen.map(|id| id.to_string());
        }
        self.unseen_values += count;
        (square > 0.0).then(|| if norm { square.sqrt() } else { 1.0 })
    }

    /// The first feature that did not occur in training, and the number of values of such features.
    ///
    /// ```
    /// # use lazyglm::{Model, Rows, Scorer, Settings, synth, train};
    /// # let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// # let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// # let model = Model::new(&task, &Settings::default(), trained);
    /// let (mut scorer, mut rows) = (Scorer::new(&model), Rows::new());
    /// rows.push(&[(5, 1.0), (200, 1.0), (300, 1.0)]).unwrap();
    /// scorer.score(rows.borrow(), 0);
    /// assert_eq!(scorer.unseen(), Some(("200", 2)));
    /// ```
    pub fn unseen(&self) -> Option<(&str, u64)> {
        self.unseen.as_deref().map(|name| (name, self.unseen_values)).filter(|(_, values)| *values > 0)
    }

    /// The error of `--strict` for a feature that did not occur in training.
    ///
    /// ```
    /// # use lazyglm::{Model, Place, Rows, Scorer, Settings, synth, train};
    /// # let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// # let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// # let model = Model::new(&task, &Settings::default(), trained);
    /// let (mut scorer, mut rows) = (Scorer::new(&model), Rows::new());
    /// rows.push(&[(200, 1.0)]).unwrap();
    /// assert!(scorer.refusal(Place::file("new.svm").line(1)).is_none(), "nothing scored yet");
    /// scorer.score(rows.borrow(), 0);
    /// let refusal = scorer.refusal(Place::file("new.svm").line(1)).unwrap();
    /// assert!(refusal.to_string().starts_with("new.svm:1: feature 200 never occurred in training"));
    /// ```
    pub fn refusal(&self, place: Place) -> Option<Error> {
        self.unseen().map(|(name, _)| {
            Error::data(
                place,
                format!("feature {} never occurred in training", excerpt(name)),
                format!("leave {} out to count it as zero, or train on data that have it", Parameter::Strict),
            )
        })
    }
}

/// The idf of each index in a table of this length. If there is no table: the idf of each feature that occurred, and
/// these features. Empty without tf-idf by index.
fn by_index(model: &Model, length: usize) -> (Vec<f64>, Vec<u32>) {
    match &model.tf_idf {
        Some(tf_idf) if length > 0 && !tf_idf.idf.is_empty() => {
            let mut table = vec![0.0; length];
            model.seen.iter().zip(&tf_idf.idf).for_each(|(index, &idf)| table[index as usize] = idf);
            (table, Vec::new())
        }
        Some(tf_idf) if !tf_idf.idf.is_empty() => (tf_idf.idf.clone(), model.seen.iter().collect()),
        _ => Default::default(),
    }
}

fn mismatch(what: &str) -> Error {
    let place = Place::file("the data");
    Error::data(place, format!("the model knows its {what}"), "give data in the format it was trained on")
}
