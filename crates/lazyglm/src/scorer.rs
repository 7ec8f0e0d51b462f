//! A model at work: scores for rows whose features are named as in the data.

use crate::error::{Error, Place};
use crate::model::Model;
use crate::rows::RowsRef;

/// A model laid out for scoring rows whose ids are indices as written.
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
    table: Vec<f64>,     // the weight of each index, or NaN for a feature never seen
    unseen: Option<u32>, // the first feature met that training never saw
    unseen_values: u64,
}

/// Up to this index every feature has a table entry; beyond it only if the model holds one in `SPARSE`, so that no
/// small file can ask for much memory. Else, a search.
const TABLE: u64 = 1 << 22;
const SPARSE: u64 = 16;

impl<'a> Scorer<'a> {
    /// Lays out a model.
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
        let mut table = vec![f64::NAN; if fits { length as usize } else { 0 }];
        if !table.is_empty() {
            for &(first, last) in &model.seen.runs {
                table[first as usize..=last as usize].fill(0.0);
            }
            for (&index, &weight) in model.features.iter().zip(&model.weights) {
                table[index as usize] = weight;
            }
        }
        Scorer { model, table, unseen: None, unseen_values: 0 }
    }

    /// The weight of a feature; NaN if training never saw it.
    fn weight(&self, index: usize) -> f64 {
        if let Some(&weight) = self.table.get(index) {
            return weight;
        }
        let index = index as u32;
        match self.model.features.binary_search(&index) {
            Ok(k) => self.model.weights[k],
            Err(_) if self.model.seen.contains(index) => 0.0,
            Err(_) => f64::NAN,
        }
    }

    /// w·x + b of row `i`, whose ids are indices as written; features never seen count as zero.
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
        self.score_named(rows, i, |id| id as u32)
    }

    /// The same for rows whose ids stand for other indices.
    ///
    /// ```
    /// # use lazyglm::{Model, Rows, Scorer, Settings, synth, train};
    /// # let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// # let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// # let model = Model::new(&task, &Settings::default(), trained);
    /// let (mut scorer, mut rows) = (Scorer::new(&model), Rows::new());
    /// rows.push(&[(0, 1.0)]).unwrap();
    /// rows.push(&[(42, 1.0)]).unwrap();
    /// let named = scorer.score_named(rows.borrow(), 0, |_column| 42); // column 0 stands for feature 42
    /// assert_eq!(named, scorer.score(rows.borrow(), 1));
    /// ```
    pub fn score_named(&mut self, rows: RowsRef, i: usize, name: impl Fn(usize) -> u32) -> f64 {
        let (mut score, mut unseen, mut count) = (self.model.bias, None, 0);
        rows.for_each(i, |id, x| match self.weight(name(id) as usize) {
            weight if weight.is_nan() => {
                unseen = unseen.or(Some(name(id)));
                count += 1;
            }
            weight => score += weight * x,
        });
        self.unseen = self.unseen.or(unseen);
        self.unseen_values += count;
        score
    }

    /// The first feature met that training never saw, and how many values such features had.
    ///
    /// ```
    /// # use lazyglm::{Model, Rows, Scorer, Settings, synth, train};
    /// # let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
    /// # let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    /// # let model = Model::new(&task, &Settings::default(), trained);
    /// let (mut scorer, mut rows) = (Scorer::new(&model), Rows::new());
    /// rows.push(&[(5, 1.0), (200, 1.0), (300, 1.0)]).unwrap();
    /// scorer.score(rows.borrow(), 0);
    /// assert_eq!(scorer.unseen(), Some((200, 2)));
    /// ```
    pub fn unseen(&self) -> Option<(u32, u64)> {
        self.unseen.map(|index| (index, self.unseen_values))
    }

    /// The refusal of `--strict` for such a feature.
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
        self.unseen().map(|(index, _)| {
            Error::data(
                place,
                format!("feature {index} never occurred in training"),
                "leave --strict out to count it as zero, or train on data that have it",
            )
        })
    }
}
