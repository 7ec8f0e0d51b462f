//! A data set in memory: rows, targets, the names of its features, and where each row was read.
//!
//! ```
//! use lazyglm::{Dataset, Declared};
//! let file = std::env::temp_dir().join("lazyglm-doc-data.svm");
//! std::fs::write(&file, "# two mails\nspam 1:1\n\nham 2:1\n").unwrap();
//! let data = Dataset::read(&file, Declared::default()).unwrap();
//! assert_eq!((data.rows.len(), data.labels.name(1)), (2, "ham".to_string()));
//! assert_eq!(data.place(1).line, Some(4), "errors name the line in the file");
//! ```

use crate::error::{Error, Place, Result};
use crate::features::{Declared, Features};
use crate::format::{self, Asked, Lines, Opening, Parsed, Recipe};
use crate::labels::Labels;
use crate::number::parse_number;
use crate::reader;
use crate::rows::Rows;
use crate::source::{self, Source};
use std::path::{Path, PathBuf};

/// One weight a row, as read from a file.
///
/// ```
/// use lazyglm::SampleWeights;
/// let file = std::env::temp_dir().join("lazyglm-doc-weights.txt");
/// std::fs::write(&file, "1\n0.5\n\n0\n").unwrap();
/// assert_eq!(SampleWeights::read(&file).unwrap().values, [1.0, 0.5, 0.0]);
/// ```
#[derive(Clone, Debug)]
pub struct SampleWeights {
    /// Finite, from 0 up.
    pub values: Vec<f64>,
    file: PathBuf,
}

impl SampleWeights {
    /// Reads one weight a line; blank lines are passed over.
    ///
    /// ```
    /// use lazyglm::SampleWeights;
    /// let file = std::env::temp_dir().join("lazyglm-doc-bad-weights.txt");
    /// std::fs::write(&file, "1\n-2\n").unwrap();
    /// let error = SampleWeights::read(&file).unwrap_err();
    /// assert!(error.to_string().contains(":2:1: '-2' is no weight"));
    /// ```
    pub fn read(path: &Path) -> Result<SampleWeights> {
        let text = source::read_to_string(path)?;
        let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
        let one = |(k, line): (usize, &str)| match parse_number(line.as_bytes()) {
            Some(weight) if weight.is_finite() && weight >= 0.0 => Ok(weight),
            _ => {
                let place = Place::file(path).line(k as u64 + 1).column(1);
                Err(Error::data(place, format!("'{line}' is no weight"), "give one number from 0 up a line"))
            }
        };
        Ok(SampleWeights { values: lines.map(one).collect::<Result<_>>()?, file: path.to_path_buf() })
    }
}

/// A data set as read, before anything is known of loss or weights.
///
/// ```
/// use lazyglm::{Dataset, Features, Labels, Rows};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 1.0)]).unwrap();
/// rows.push(&[(1, 1.0)]).unwrap();
/// let data = Dataset::made(rows, Labels::Numbers(vec![3.0, 4.0]), Features::columns_from(1, 2));
/// assert_eq!((data.labels.len(), data.features.name(1)), (2, 2));
/// ```
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The rows; ids are columns.
    pub rows: Rows,
    /// The targets as written.
    pub labels: Labels,
    /// What the columns stand for.
    pub features: Features,
    /// What a reader may want to know: ignored query ids, dropped features.
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
        Dataset::assigned(parse_all(path, Vec::new())?, declared, path)
    }

    /// Reads a file of training data with a weight for each row. Rows of weight zero are as if absent: neither their
    /// features nor their targets count. Returns the weights of the rows that are left.
    ///
    /// ```
    /// use lazyglm::{Dataset, Declared, SampleWeights};
    /// let file = |name: &str| std::env::temp_dir().join("lazyglm-doc-weighted-".to_string() + name);
    /// std::fs::write(file("data"), "1 1:1\n-1 2:1\n1 9:1\n").unwrap();
    /// std::fs::write(file("weights"), "1\n2\n0\n").unwrap();
    /// let weights = SampleWeights::read(&file("weights")).unwrap();
    /// let (data, kept) = Dataset::read_weighted(&file("data"), Declared::default(), &weights).unwrap();
    /// assert_eq!((data.rows.len(), data.features.count, kept), (2, 2, vec![1.0, 2.0]));
    /// ```
    pub fn read_weighted(
        path: &Path,
        declared: Declared,
        weights: &SampleWeights,
    ) -> Result<(Dataset, Vec<f64>)> {
        let parsed = parse_all(path, weights.values.iter().map(|w| *w == 0.0).collect())?;
        let (given, rows) = (weights.values.len(), parsed.file_rows);
        if given != rows {
            let what =
                format!("there are {given} sample weights for the {rows} rows of {}", Place::file(path));
            return Err(Error::data(
                Place::file(&weights.file),
                what,
                "give one weight a row, in the order of the rows",
            ));
        }
        if parsed.rows.is_empty() && rows > 0 {
            let hint = "give some rows a weight above 0";
            return Err(Error::data(Place::file(&weights.file), "all sample weights are 0", hint));
        }
        let kept = weights.values.iter().copied().filter(|w| *w > 0.0).collect();
        Ok((Dataset::assigned(parsed, declared, path)?, kept))
    }

    fn assigned(mut parsed: Parsed, declared: Declared, path: &Path) -> Result<Dataset> {
        let features = Features::assign(&mut parsed.rows, parsed.span, declared, path)?;
        Dataset::labelled(parsed, features, path, 0)
    }

    /// Reads a file whose features are named as in `known`: a validation file. Values of features that do not
    /// occur there are dropped, and counted in the notes.
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
        let mut parsed = parse_all(path, Vec::new())?;
        let (rows, dropped) = known.features.apply(&parsed.rows, &known.occurring())?;
        parsed.rows = rows;
        Dataset::labelled(parsed, known.features.clone(), path, dropped)
    }

    /// For each column, whether any row has it.
    ///
    /// ```
    /// use lazyglm::{Dataset, Features, Labels, Rows};
    /// let mut rows = Rows::new();
    /// rows.push(&[(0, 1.0), (2, 1.0)]).unwrap();
    /// let data = Dataset::made(rows, Labels::Numbers(vec![1.0]), Features::columns_from(1, 3));
    /// assert_eq!(data.occurring(), [true, false, true]);
    /// ```
    pub fn occurring(&self) -> Vec<bool> {
        let mut occurs = vec![false; self.features.columns()];
        self.rows.ids().iter().for_each(|&column| occurs[column as usize] = true);
        occurs
    }

    fn labelled(parsed: Parsed, features: Features, path: &Path, dropped: usize) -> Result<Dataset> {
        let Parsed { rows, labels, unlabelled, with_query, lines, span, .. } = parsed;
        let file = path.to_path_buf();
        let mut notes = Vec::new();
        notes.extend(query_note(path, with_query));
        if dropped > 0 {
            notes.push(format!(
                "{}: {dropped} values of features that do not occur in training count as zero",
                Place::file(path)
            ));
        }
        if rows.is_empty() {
            return Err(Error::data(Place::file(path), "there are no rows in it", "give a file with data"));
        }
        if rows.nonzeros() == 0 && span.is_none() {
            let what = "no row has a feature: this does not look like svmlight text";
            return Err(Error::data(
                Place::file(path),
                what,
                "write a row as: target index:value index:value",
            ));
        }
        if let Some(row) = unlabelled {
            let place = Place::file(path).line(lines.of(row));
            return Err(Error::data(place, "the row has no target", "each line must start with its target"));
        }
        if rows.len() > u32::MAX as usize {
            return Err(Error::data(Place::file(path), "there are more than 2³² rows", "split the file"));
        }
        Ok(Dataset { rows, labels, features, notes, file, lines })
    }

    /// Data that were made, not read.
    ///
    /// ```
    /// use lazyglm::{Dataset, Features, Labels, Rows, Task};
    /// let mut rows = Rows::new();
    /// [1.0, 2.0, 3.0].iter().for_each(|&x| rows.push(&[(0, x)]).unwrap());
    /// let data = Dataset::made(rows, Labels::Numbers(vec![2.0, 4.0, 6.0]), Features::columns_from(1, 1));
    /// assert_eq!(Task::new(data, None, None, None).unwrap().loss.spec(), "squared");
    /// ```
    pub fn made(rows: Rows, labels: Labels, features: Features) -> Dataset {
        Dataset {
            rows,
            labels,
            features,
            notes: Vec::new(),
            file: "made data".into(),
            lines: Lines::default(),
        }
    }

    /// Where row `i` was read.
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

    /// The file as a whole.
    ///
    /// ```
    /// let task = lazyglm::synth::documents(&lazyglm::synth::Shape { rows: 10, ..Default::default() }).task;
    /// assert_eq!(task.data.file().to_string(), "made data");
    /// ```
    pub fn file(&self) -> Place {
        Place::file(&self.file)
    }

    /// These rows alone, in this order.
    ///
    /// ```
    /// use lazyglm::{Dataset, Declared};
    /// let file = std::env::temp_dir().join("lazyglm-doc-select.svm");
    /// std::fs::write(&file, "1 1:1\n2 1:1\n3 1:1\n").unwrap();
    /// let data = Dataset::read(&file, Declared::default()).unwrap().select(&[2, 0]);
    /// assert_eq!((data.rows.len(), data.labels.name(0), data.place(0).line), (2, "3".to_string(), Some(3)));
    /// ```
    pub fn select(&self, rows: &[usize]) -> Dataset {
        Dataset {
            rows: self.rows.select(rows),
            labels: self.labels.select(rows),
            features: self.features.clone(),
            notes: Vec::new(),
            file: self.file.clone(),
            lines: self.lines.select(rows),
        }
    }
}

/// A word on query ids, if there were any: they are read over.
///
/// ```
/// use lazyglm::data::query_note;
/// assert_eq!(query_note("rank.svm".as_ref(), 3).unwrap(), "rank.svm: qid on 3 rows was ignored");
/// assert_eq!(query_note("rank.svm".as_ref(), 0), None);
/// ```
pub fn query_note(path: &Path, rows: usize) -> Option<String> {
    (rows > 0).then(|| format!("{}: qid on {rows} rows was ignored", Place::file(path)))
}

fn parse_all(path: &Path, absent: Vec<bool>) -> Result<Parsed> {
    let mut all = Parsed::default();
    let (source, recipe, header) = open(path)?;
    reader::for_each(source, header, &recipe, path, absent, &mut |block| {
        all.append(block, None, false).map_err(|row| infinite(path, &all, row))
    })?;
    Ok(all)
}

fn infinite(path: &Path, parsed: &Parsed, row: usize) -> Error {
    let place = Place::file(path).line(parsed.lines.of(row));
    Error::data(place, "the values of one feature sum to infinity", "scale the values down")
}

fn open(path: &Path) -> Result<(Source, Recipe, u64)> {
    let mut source = Source::open(path)?;
    let asked = Asked::default();
    let recipe = format::open(&Opening { first: source.first()?, file: path, asked: &asked, known: None })?;
    Ok((source, recipe, 0))
}

/// Calls `see` with block after block of rows, ids as written: for scoring data of any size.
///
/// ```
/// let file = std::env::temp_dir().join("lazyglm-doc-blocks.svm");
/// std::fs::write(&file, "1 5:1\n".repeat(400_000)).unwrap();
/// let (mut blocks, mut rows) = (0, 0);
/// let see = |block: &lazyglm::format::Parsed| Ok((blocks, rows) = (blocks + 1, rows + block.rows.len()));
/// lazyglm::data::for_each_block(&file, see).unwrap();
/// assert!(blocks > 1 && rows == 400_000);
/// ```
pub fn for_each_block(path: &Path, mut see: impl FnMut(&Parsed) -> Result<()>) -> Result<()> {
    let (source, recipe, header) = open(path)?;
    reader::for_each(source, header, &recipe, path, Vec::new(), &mut |block| see(block))
}
