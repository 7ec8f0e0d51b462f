//! Assignment of rows to folds, determined by the seed, the row number and the class of the row.

use crate::problem::task::Task;
use crate::util::error::{Error, Result, excerpt};
use crate::util::parameter::Parameter;
use crate::util::random::Random;

/// The fold of each row, for cross-validation.
///
/// ```
/// use lazyglm::{synth, train::search::Folds};
/// let task = synth::documents(&synth::Shape { rows: 103, features: 50, ..Default::default() }).task;
/// let folds = Folds::new(&task, 5, 1).unwrap();
/// let sizes = [0, 1, 2, 3, 4].map(|fold| folds.rows(fold).len());
/// assert!(sizes.iter().all(|size| (20..=21).contains(size)) && sizes.iter().sum::<usize>() == 103);
/// let positives = |fold| folds.rows(fold).iter().filter(|&&i| task.numbers()[i as usize] > 0.0).count();
/// assert!((0..5).all(|fold| positives(fold).abs_diff(positives(0)) <= 1), "each has its share of each class");
/// ```
#[derive(Clone, Debug)]
pub struct Folds {
    of: Vec<u16>,
    count: usize,
}

impl Folds {
    /// Assigns the rows to `count` folds at random, stratified by class.
    pub fn new(task: &Task, count: usize, seed: u64) -> Result<Folds> {
        let rows = task.len();
        if count > rows || count > usize::from(u16::MAX) {
            let most = rows.min(usize::from(u16::MAX));
            return Err(Error::parameter(
                Parameter::Folds,
                count,
                format!("at most {most}, for {rows} rows"),
            ));
        }
        if let Some(classes) = task.targets.classes() {
            let positive = task.numbers().iter().filter(|y| **y > 0.0).count();
            for (name, rows) in classes.iter().zip([rows - positive, positive]) {
                if rows < 2 {
                    let what = format!(
                        "class '{}' has one row, which cannot be both trained on and held out",
                        excerpt(name)
                    );
                    let hint =
                        format!("add rows of this class, or use {}", Parameter::Validation.set("FILE"));
                    return Err(Error::data(task.data.file(), what, hint));
                }
            }
        }
        Ok(Folds::stratified(task, count, seed))
    }

    /// Like [`Folds::new`], also if a class has a single row: one fold then holds out all rows of that class.
    pub(crate) fn stratified(task: &Task, count: usize, seed: u64) -> Folds {
        let rows = task.len();
        let mut shuffled: Vec<u32> = (0..rows as u32).collect();
        Random::new(seed ^ 0xF01D_5EED_0000_0001).shuffle(&mut shuffled);
        if task.targets.classes().is_some() {
            shuffled.sort_by_key(|&i| task.numbers()[i as usize] > 0.0); // stable: still shuffled within a class
        }
        if let Some(heads) = task.targets.heads() {
            shuffled.sort_by_key(|&i| heads.sets.of(i as usize).first()); // the class, or the first label
        }
        let mut of = vec![0; rows];
        shuffled.iter().enumerate().for_each(|(k, &i)| of[i as usize] = (k % count) as u16);
        Folds { of, count }
    }

    /// Folds given by the caller: the fold number of each row.
    ///
    /// ```
    /// use lazyglm::train::search::Folds;
    /// let folds = Folds::given(vec![0, 1, 1, 0]).unwrap();
    /// assert_eq!((folds.count(), folds.rows(1)), (2, vec![1, 2]));
    /// assert!(Folds::given(vec![0, 2]).is_err(), "nothing is held out by fold 1");
    /// assert!(Folds::given(vec![0, 0]).is_err(), "nothing is left to learn");
    /// ```
    pub fn given(of: Vec<u16>) -> Result<Folds> {
        let count = of.iter().max().map_or(0, |&last| usize::from(last) + 1);
        let mut dealt = vec![false; count];
        of.iter().for_each(|&fold| dealt[usize::from(fold)] = true);
        if count < 2 || dealt.contains(&false) {
            let what = format!("{count} folds, or one without rows");
            return Err(Error::call(what, "give two folds or more, each with rows"));
        }
        Ok(Folds { of, count })
    }

    /// The number of folds.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The fold of a row.
    pub fn of(&self, row: usize) -> usize {
        usize::from(self.of[row])
    }

    /// The rows of a fold.
    pub fn rows(&self, fold: usize) -> Vec<u32> {
        (0..self.of.len() as u32).filter(|&i| self.of(i as usize) == fold).collect()
    }
}
