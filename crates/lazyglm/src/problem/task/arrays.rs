//! A task made of arrays, as other languages have them: one data set for several heads, all together or one at a time.

use super::{Sets, Targets, Task};
use crate::data::dataset::Dataset;
use crate::data::features::Features;
use crate::data::labels::Labels;
use crate::data::read_config::ReadConfig;
use crate::data::rows::Rows;
use crate::problem::heads::HeadKind;
use crate::problem::loss::{Admits, Loss};
use crate::util::error::{Error, Place, Result};
use std::sync::Arc;

/// Rows with their targets and weights, whose lengths agree.
pub struct Arrays<'a> {
    /// The rows.
    pub rows: Rows,
    /// How rows like these are read from files.
    pub reading: ReadConfig,
    /// The name of each column, if it has others than those of `reading`.
    pub names: Option<Vec<String>>,
    /// Targets of one head, or the number of the class of each row.
    pub targets: &'a [f64],
    /// If rows have labels: those of row i are `labels.1[labels.0[i]..labels.0[i + 1]]`.
    pub labels: Option<(&'a [i64], &'a [i64])>,
    /// One weight per row; a row of weight 0 counts as absent.
    pub weights: Option<&'a [f64]>,
    /// One offset per row.
    pub offsets: Option<&'a [f64]>,
    /// The loss.
    pub loss: Arc<dyn Loss>,
    /// The number of heads.
    pub heads: usize,
    /// How several heads belong together.
    pub kind: HeadKind,
}

/// A task whose targets can be those of any of its heads.
///
/// ```
/// use lazyglm::{HeadKind, Rows, Targets, loss, problem::task::Arrays};
/// let mut rows = Rows::new();
/// (0..3).for_each(|j| rows.push(&[(j, 1.0)]).unwrap());
/// let loss = loss::parse("logistic").unwrap();
/// let (heads, kind, reading, names) = (3, HeadKind::Ovr, Default::default(), None);
/// let (targets, weights) = (&[0.0, 2.0, 1.0][..], Some(&[2.0, 0.0, 4.0][..]));
/// let mut task = Arrays { rows, reading, names, targets, labels: None, weights, offsets: None, loss, heads, kind }.task().unwrap();
/// assert_eq!((task.mean_weight, task.task.len()), (3.0, 2), "one row counts as absent");
/// task.select_head(Some(1));
/// assert_eq!(task.task.numbers(), [-1.0, 1.0]);
/// task.select_head(None);
/// assert_eq!(task.task.targets.heads().unwrap().sets.of(1), [1]);
/// ```
pub struct ArrayTask {
    /// The task, with the targets of the head that was selected last.
    pub task: Arc<Task>,
    /// The number of heads.
    pub heads: usize,
    /// The mean weight of the rows, by which each weight was divided.
    pub mean_weight: f64,
    kind: HeadKind,
    sets: Option<Sets>, // the classes or labels of each row, for several heads
}

impl Arrays<'_> {
    /// Makes the task. Several heads need [`ArrayTask::select_head`] before the targets are theirs.
    pub fn task(self) -> Result<ArrayTask> {
        let Arrays { rows, reading, names, targets, labels, weights, offsets, loss, heads, kind } = self;
        check_targets(targets, &*loss, if labels.is_some() { 2 } else { heads })?;
        let present = |row: usize| weights.is_none_or(|weights| weights[row] > 0.0);
        let several = heads > 1 || labels.is_some();
        let names = names.unwrap_or_else(|| reading.spec.number_columns());
        let features = match names.len() == rows.columns() {
            true => Features::named(&names),
            false => Features::columns_from(0, rows.columns()),
        };
        let numbers = if several { any_two_classes(targets.len(), &present) } else { targets.to_vec() };
        let mut data = Dataset::made(rows, Labels::Numbers(numbers), features);
        data.reading = reading;
        let mean_weight = match weights {
            None => 1.0,
            Some(weights) => {
                let present: Vec<f64> = weights.iter().copied().filter(|w| *w > 0.0).collect();
                present.iter().sum::<f64>() / present.len() as f64
            }
        };
        let sets = several.then(|| {
            let mut sets = Sets::default();
            for row in (0..targets.len()).filter(|&row| present(row)) {
                match labels {
                    None => sets.push([targets[row] as u32]),
                    Some((ends, ids)) => {
                        sets.push(ids[ends[row] as usize..ends[row + 1] as usize].iter().map(|&id| id as u32))
                    }
                }
            }
            sets
        });
        let builder = Task::builder(data).loss(loss).sample_weights(weights.map(<[f64]>::to_vec));
        let task = builder.offsets(offsets.map(<[f64]>::to_vec)).build()?;
        Ok(ArrayTask { task: Arc::new(task), heads, mean_weight, kind, sets })
    }
}

/// Rejects targets that the loss does not admit. Of several models, targets are numbers of classes.
pub fn check_targets(targets: &[f64], loss: &dyn Loss, models: usize) -> Result<()> {
    let fits = |y: f64| match loss.admits() {
        Admits::Classes => models > 1 || y == 1.0 || y == -1.0,
        Admits::Reals => y.is_finite(),
        Admits::NonNegative => y.is_finite() && y >= 0.0,
        Admits::Positive => y.is_finite() && y > 0.0,
    };
    match targets.iter().position(|&y| !fits(y)) {
        None => Ok(()),
        Some(row) => {
            let what =
                format!("loss '{}' does not admit the target {} of row {row}", loss.spec(), targets[row]);
            Err(Error::data(Place::file("y"), what, "choose another loss, or check the targets"))
        }
    }
}

/// Targets with which a task of several heads is made: two classes in turn among the rows that are present.
fn any_two_classes(rows: usize, present: &dyn Fn(usize) -> bool) -> Vec<f64> {
    let mut sign = -1.0;
    let mut turn = |row| {
        sign = if present(row) { -sign } else { sign };
        sign
    };
    (0..rows).map(&mut turn).collect()
}

impl ArrayTask {
    /// Makes the targets those of one head, +1 for its class or label and −1 for the rest, or those of all heads. A task of one
    /// head stays as it is.
    pub fn select_head(&mut self, head: Option<usize>) {
        let Some(sets) = &self.sets else { return };
        let names = || (0..self.heads).map(|head| head.to_string()).collect();
        Arc::make_mut(&mut self.task).targets = match head {
            Some(head) => {
                let signs = (0..sets.len()).map(|row| if sets.has(row, head) { 1.0 } else { -1.0 }).collect();
                Targets::Binary { classes: ["-1".into(), "1".into()], signs }
            }
            None => Targets::of_sets(self.kind, names(), sets.clone()),
        };
    }
}
