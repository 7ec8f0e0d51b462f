//! A data set in memory: rows, targets, feature names, and the source line of each row.
//!
//! ```
//! use lazyglm::{Dataset, Declared};
//! let file = std::env::temp_dir().join("lazyglm-doc-data.svm");
//! std::fs::write(&file, "# two mails\nspam 1:1\n\nham 2:1\n").unwrap();
//! let data = Dataset::read(&file, Declared::default()).unwrap();
//! assert_eq!((data.rows.len(), data.labels.name(1)), (2, "ham".to_string()));
//! assert_eq!(data.place(1).line, Some(4), "errors name the line in the file");
//! ```

mod columns;
mod counts;
mod load;
mod vanished;

pub(crate) use columns::scale_of_numbers;

pub use load::Load;
pub(crate) use vanished::vanishes;

use crate::data::features::{Declared, Features};
use crate::data::format::{Lines, Parsed, ReadOptions};
use crate::data::labels::Labels;
use crate::data::read_config::{Input, ReadConfig};
use crate::data::rows::Rows;
use crate::data::scaling::{Columns, Scale, Scaling};
use crate::util::error::{Error, Place, Result};
use crate::util::parameter::Parameter;
use rayon::prelude::*;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A data set as read, independent of the loss and of sample weights.
///
/// ```
/// use lazyglm::{Dataset, Features, Labels, Rows};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 1.0)]).unwrap();
/// rows.push(&[(1, 1.0)]).unwrap();
/// let data = Dataset::made(rows, Labels::Numbers(vec![3.0, 4.0]), Features::columns_from(1, 2));
/// assert_eq!((data.labels.len(), data.features.index(1)), (2, 2));
/// ```
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The sparse rows, whose ids are columns.
    pub rows: Rows,
    /// The targets as written.
    pub labels: Labels,
    /// Which feature each column stands for.
    pub features: Features,
    /// Sample weights from the data file itself, or `None` if the format has none.
    pub weights: Option<Vec<f64>>,
    /// One number per row that is added to its score, or `None` if all are zero.
    pub offsets: Option<Vec<f64>>,
    /// How the rows were read.
    pub reading: ReadConfig,
    /// Notes for the user, for example about ignored query ids or dropped features.
    pub notes: Vec<String>,
    file: PathBuf,
    lines: Lines,
}

impl Dataset {
    /// Reads a file of training data.
    ///
    /// ```
    /// use lazyglm::{Dataset, Declared};
    /// let file = std::env::temp_dir().join("lazyglm-doc-read.svm");
    /// std::fs::write(&file, "1 1:0.5 7:2\n-1 2:1\n").unwrap();
    /// let data = Dataset::read(&file, Declared::default()).unwrap();
    /// assert_eq!((data.rows.len(), data.features.count, data.features.base), (2, 7, 1));
    /// ```
    pub fn read(path: &Path, declared: Declared) -> Result<Dataset> {
        Dataset::load(path, &Load { declared, ..Load::default() }).map(|(data, _)| data)
    }

    /// Reads a validation file with the features of `known`. Values of features that do not occur in `known`
    /// are dropped, and counted in the notes.
    ///
    /// ```
    /// use lazyglm::{Dataset, Declared};
    /// let file = |name: &str| std::env::temp_dir().join("lazyglm-doc-like-".to_string() + name);
    /// std::fs::write(file("train"), "1 1:1\n-1 3:1\n").unwrap();
    /// std::fs::write(file("check"), "1 1:1 2:1 9:1\n").unwrap();
    /// let train = Dataset::read(&file("train"), Declared::default()).unwrap();
    /// let check = Dataset::read_like(&file("check"), &train).unwrap();
    /// assert_eq!((check.rows.ids(), check.rows.columns()), (&[0][..], 3));
    /// assert!(check.notes[0].contains("2 values of features that do not occur in training"));
    /// ```
    pub fn read_like(path: &Path, known: &Dataset) -> Result<Dataset> {
        Dataset::read_by(path, &known.features, &known.occurring(), &known.reading)
    }

    /// Reads a file in the same way as training data of which only the names of all features are left.
    ///
    /// ```
    /// use lazyglm::{Dataset, ReadConfig};
    /// let file = std::env::temp_dir().join("lazyglm-doc-names.csv");
    /// std::fs::write(&file, "length,width\n2,3\n").unwrap();
    /// let names = ["height", "width"].map(String::from);
    /// let data = Dataset::read_by_names(&file, &ReadConfig::table(&names[1..], &[]), &names).unwrap();
    /// assert_eq!((data.rows.ids(), data.rows.columns()), (&[1][..], 2));
    /// ```
    pub fn read_by_names(path: &Path, reading: &ReadConfig, names: &[String]) -> Result<Dataset> {
        Dataset::read_by(path, &Features::named(names), &vec![true; names.len()], reading)
    }

    /// Reads a validation file, given the features and the reading options of training data that are not in
    /// memory.
    pub(crate) fn read_by(
        path: &Path,
        features: &Features,
        occurs: &[bool],
        reading: &ReadConfig,
    ) -> Result<Dataset> {
        let input = Input::open(path, &ReadOptions::default(), Some(reading))?;
        let (mut all, mut dropped) = (Parsed::default(), 0);
        input.for_each(Vec::new(), &mut |block| {
            block.rows = features.apply(block, occurs, &mut dropped)?;
            all.append(block, false).map_err(|_| Error::call("rows that are no rows", "report this"))
        })?;
        all.rows.declare_columns(features.columns());
        Dataset::labelled(all, features.clone(), reading.clone(), path, dropped)
    }

    /// For each column, whether any row has a value in it.
    ///
    /// ```
    /// use lazyglm::{Dataset, Features, Labels, Rows};
    /// let mut rows = Rows::new();
    /// rows.push(&[(0, 1.0), (2, 1.0)]).unwrap();
    /// let data = Dataset::made(rows, Labels::Numbers(vec![1.0]), Features::columns_from(1, 3));
    /// assert_eq!(data.occurring(), [true, false, true]);
    /// ```
    pub fn occurring(&self) -> Vec<bool> {
        let columns = self.features.columns();
        let of_some = |ids: &[u32]| {
            let mut occurs = vec![false; columns];
            ids.iter().for_each(|&column| occurs[column as usize] = true);
            occurs
        };
        let either = |mut all: Vec<bool>, some: Vec<bool>| {
            all.iter_mut().zip(some).for_each(|(all, some)| *all |= some);
            all
        };
        let at_once = (self.rows.nonzeros() / rayon::current_num_threads()).max(8 * columns).max(1);
        self.rows.ids().par_chunks(at_once).map(of_some).reduce(|| vec![false; columns], either)
    }

    /// The rows of some blocks, whose ids are columns already.
    pub(crate) fn of_blocks(
        parsed: Parsed,
        features: Features,
        reading: ReadConfig,
        path: &Path,
    ) -> Result<Dataset> {
        Dataset::labelled(parsed, features, reading, path, 0)
    }

    fn labelled(
        parsed: Parsed,
        features: Features,
        reading: ReadConfig,
        path: &Path,
        dropped: usize,
    ) -> Result<Dataset> {
        let Parsed { rows, labels, unlabelled, with_query, dirty, lines, span, weights, offsets, .. } =
            parsed;
        let file = path.to_path_buf();
        let mut notes = Vec::new();
        notes.extend(query_note(path, with_query));
        notes.extend(dirty.iter().map(|cells| cells.note(path)));
        if dropped > 0 {
            notes.push(format!(
                "{}: {dropped} values of features that do not occur in training count as zero",
                Place::file(path)
            ));
        }
        if rows.is_empty() {
            return Err(Error::data(Place::file(path), "there are no rows in it", "give a file with data"));
        }
        if rows.nonzeros() == 0 && span.is_none() && dropped == 0 {
            let what = format!("no row has a feature: this does not look like {}", reading.spec.name());
            let hint = format!("write a row as: {}", reading.spec.shape());
            return Err(Error::data(Place::file(path), what, hint));
        }
        if let (Some(row), true) = (unlabelled, labels.len() != rows.len()) {
            return Err(no_target(Place::file(path).line(lines.of(row))));
        }
        if rows.len() > u32::MAX as usize {
            return Err(Error::data(Place::file(path), "there are more than 2³² rows", "split the file"));
        }
        let [weights, offsets] = [weights, offsets].map(|list| Some(list).filter(|list| !list.is_empty()));
        Ok(Dataset { rows, labels, features, weights, offsets, reading, notes, file, lines })
    }

    /// Rejects data in which a row has no target.
    pub(crate) fn check_targets(&self) -> Result<()> {
        self.labels.first_absent().map_or(Ok(()), |row| Err(no_target(self.place(row))))
    }

    /// Builds a data set from rows in memory.
    ///
    /// ```
    /// use lazyglm::{Dataset, Features, Labels, Rows, Task};
    /// let mut rows = Rows::new();
    /// [1.0, 2.0, 3.0].iter().for_each(|&x| rows.push(&[(0, x)]).unwrap());
    /// let data = Dataset::made(rows, Labels::Numbers(vec![2.0, 4.0, 6.0]), Features::columns_from(1, 1));
    /// assert_eq!(Task::builder(data).build().unwrap().loss.spec(), "squared");
    /// ```
    pub fn made(rows: Rows, labels: Labels, features: Features) -> Dataset {
        Dataset {
            rows,
            labels,
            features,
            weights: None,
            offsets: None,
            reading: ReadConfig::default(),
            notes: Vec::new(),
            file: "made data".into(),
            lines: Lines::default(),
        }
    }

    /// The file and line that row `i` was read from.
    ///
    /// ```
    /// use lazyglm::{Dataset, Declared};
    /// let file = std::env::temp_dir().join("lazyglm-doc-place.svm");
    /// std::fs::write(&file, "1 1:1\n\n# a word\n-1 2:1\n").unwrap();
    /// let data = Dataset::read(&file, Declared::default()).unwrap();
    /// assert_eq!((data.place(0).line, data.place(1).line), (Some(1), Some(4)));
    /// ```
    pub fn place(&self, i: usize) -> Place {
        Place::file(&self.file).line(self.lines.of(i))
    }

    /// The file as a whole, for error messages.
    ///
    /// ```
    /// let task = lazyglm::synth::documents(&lazyglm::synth::Shape { rows: 10, ..Default::default() }).task;
    /// assert_eq!(task.data.file().to_string(), "made data");
    /// ```
    pub fn file(&self) -> Place {
        Place::file(&self.file)
    }

    /// Rounds values to f32, for models that keep their weights in f32.
    pub(crate) fn round_to_f32(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        self.rows = rows.rounded_to_f32().map_err(|row| too_large(self.place(row)))?;
        Ok(())
    }

    /// Whether some features are terms of columns of text in a table.
    pub(crate) fn has_terms(&self) -> bool {
        let spec = &self.reading.spec;
        let terms = self.features.terms_of(spec, &spec.text_columns(false));
        terms.is_some_and(|terms| terms.contains(&true))
    }

    /// The same rows with their counts replaced by tf-idf. In a table, the terms of columns of text are weighted by idf,
    /// and all else stays. The rows must not be scaled.
    pub(crate) fn with_tf_idf(&self, as_f32: bool) -> Result<Dataset> {
        let mut scaled = self.clone();
        let (scale, columns) = Scale::tf_idf(&self.reading);
        let found = scaling(&self.rows, &self.features, &self.reading, scale, &columns)?;
        scaled.features.scaling = Arc::new(found);
        scaled.features.scaling.apply(&mut scaled.rows, as_f32);
        Ok(scaled)
    }

    /// These rows, which are not scaled yet, scaled as rows of these features are.
    pub(crate) fn scaled_by(mut self, features: &Features, as_f32: bool) -> Dataset {
        self.features.scaling = features.scaling.clone();
        self.features.scaling.apply(&mut self.rows, as_f32);
        self
    }

    /// A data set of the selected rows, in the given order.
    ///
    /// ```
    /// use lazyglm::{Dataset, Declared};
    /// let file = std::env::temp_dir().join("lazyglm-doc-select.svm");
    /// std::fs::write(&file, "1 1:1\n2 1:1\n3 1:1\n").unwrap();
    /// let data = Dataset::read(&file, Declared::default()).unwrap().select(&[2, 0]);
    /// assert_eq!((data.rows.len(), data.labels.name(0), data.place(0).line), (2, "3".to_string(), Some(3)));
    /// ```
    pub fn select(&self, rows: &[usize]) -> Dataset {
        let some = |all: &[f64]| rows.iter().map(|&i| all[i]).collect();
        Dataset {
            rows: self.rows.select(rows),
            labels: self.labels.select(rows),
            features: self.features.clone(),
            weights: self.weights.as_deref().map(some),
            offsets: self.offsets.as_deref().map(some),
            reading: self.reading.clone(),
            notes: Vec::new(),
            file: self.file.clone(),
            lines: self.lines.select(rows),
        }
    }
}

fn no_target(place: Place) -> Error {
    let labels = Parameter::Multilabel;
    let hint =
        format!("give each row its target; where targets are sets of labels ({labels}) a row may have none");
    Error::data(place, "the row has no target", hint)
}

/// A note that query ids were ignored, if the file has any.
///
/// ```
/// use lazyglm::data::dataset::query_note;
/// assert_eq!(query_note("rank.svm".as_ref(), 3).unwrap(), "rank.svm: qid on 3 rows was ignored");
/// assert_eq!(query_note("rank.svm".as_ref(), 0), None);
/// ```
pub fn query_note(path: &Path, rows: usize) -> Option<String> {
    (rows > 0).then(|| format!("{}: qid on {rows} rows was ignored", Place::file(path)))
}

/// Length in bytes of the shortest common pair, for example ` 17:1`.
const LEAST_PAIR: usize = 5;
/// Maximum number of non-zeros for which memory is reserved in advance.
const MOST_EXPECTED: usize = 1 << 30;

/// The scaling that these rows need, with idf for the terms of these columns.
fn scaling(
    rows: &Rows,
    features: &Features,
    reading: &ReadConfig,
    scale: Scale,
    idf_columns: &[String],
) -> Result<Scaling> {
    let terms = features.terms_of(&reading.spec, idf_columns);
    Scaling::find(reading, scale, terms, |scaling| {
        let mut rows = Cow::Borrowed(rows);
        if *scaling != Scaling::default() {
            scaling.apply(rows.to_mut(), false);
        }
        let mut columns = Columns::new(rows.columns());
        columns.see(Rows::borrow(&rows));
        Ok(columns)
    })
}

fn too_large(place: Place) -> Error {
    let hint = format!("scale the feature down, or train with {}", Parameter::Precision.set("f64"));
    Error::data(place, "a value is too large for f32 (3.4e38)", hint)
}

/// Calls `see` with each block of rows, for scoring data of any size.
///
/// Ids are indices as written, or numbers of the block's own names. With `known`, the file is read in the
/// same way as the training data of a model.
///
/// ```
/// let file = std::env::temp_dir().join("lazyglm-doc-blocks.svm");
/// std::fs::write(&file, "1 5:1\n".repeat(400_000)).unwrap();
/// let (mut blocks, mut rows) = (0, 0);
/// let see = |block: &lazyglm::data::format::Parsed| Ok((blocks, rows) = (blocks + 1, rows + block.rows.len()));
/// lazyglm::data::dataset::for_each_block(&file, &Default::default(), None, see).unwrap();
/// assert!(blocks > 1 && rows == 400_000);
/// ```
pub fn for_each_block(
    path: &Path,
    asked: &ReadOptions,
    known: Option<&ReadConfig>,
    mut see: impl FnMut(&Parsed) -> Result<()>,
) -> Result<()> {
    Input::open(path, asked, known)?.for_each(Vec::new(), &mut |block| see(block))
}
