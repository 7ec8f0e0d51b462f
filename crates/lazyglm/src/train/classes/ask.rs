//! What targets are taken for: classes, labels, or what one model learns.

use crate::data::dataset::Dataset;
use crate::data::format::FormatSpec;
use crate::data::labels::Labels;
use crate::problem::heads::HeadKind;
use crate::problem::loss::{Admits, Loss};
use crate::util::error::{Error, Result};

/// What was asked of the targets.
///
/// ```
/// use lazyglm::{Dataset, Features, HeadKind, Labels, Rows, train::classes::Asked};
/// let mut rows = Rows::new();
/// (0..3).for_each(|_| rows.push(&[(0, 1.0)]).unwrap());
/// let data = Dataset::made(rows, Labels::Numbers(vec![1.0, 2.0, 3.0]), Features::columns_from(1, 1));
/// assert_eq!(Asked::default().kind(&data, None).unwrap(), None, "a regression");
/// let asked = Asked { multiclass: Some(HeadKind::Ovr), ..Asked::default() };
/// assert_eq!(asked.kind(&data, None).unwrap().unwrap().0, HeadKind::Ovr);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Many classes, and how they go together.
    pub multiclass: Option<HeadKind>,
    /// Labels.
    pub multilabel: bool,
}

impl Asked {
    /// How the heads of these data go together, and a word on it if nobody asked; `None` if there is one model to learn,
    /// for two classes or for numbers.
    pub fn kind(self, data: &Dataset, loss: Option<&dyn Loss>) -> Result<Option<(HeadKind, Option<String>)>> {
        let kind = match (self.multiclass, self.multilabel) {
            (Some(_), true) => {
                return Err(Error::call("--multiclass with --multilabel", "a row has one class, or labels"));
            }
            (_, true) => Some((HeadKind::Labels, None)),
            (Some(kind), _) => Some((kind, None)),
            (None, false) => unasked(data, loss),
        };
        match (kind.as_ref().map(|(kind, _)| kind), loss) {
            (Some(HeadKind::Softmax), Some(loss)) if loss.spec() != "logistic" => Err(Error::call(
                format!("--multiclass softmax with loss '{}'", loss.spec()),
                "leave --loss out, for softmax has its own, or ask for --multiclass ovr",
            )),
            (Some(kind), Some(loss)) if loss.admits() != Admits::Classes => Err(Error::call(
                format!("loss '{}' is for numbers, not for {}", loss.spec(), kind.nouns()),
                "use a loss for classes, such as logistic",
            )),
            _ => Ok(kind),
        }
    }
}

/// What data with many classes are taken for, if nothing is asked.
fn unasked(data: &Dataset, loss: Option<&dyn Loss>) -> Option<(HeadKind, Option<String>)> {
    let for_classes = loss.is_none_or(|loss| loss.admits() == Admits::Classes);
    let comma = |labels: &Labels| match labels {
        Labels::Words { words, .. } => words.iter().any(|word| word.contains(',')),
        Labels::Numbers(_) => false,
    };
    if data.reading.recipe == FormatSpec::Svmlight && comma(&data.labels) && for_classes {
        let text = "targets with commas: each is a set of labels (--multilabel), one model a label";
        return Some((HeadKind::Labels, Some(text.to_string())));
    }
    let many = data.labels.distinct(3).len() > 2;
    match (many && for_classes, loss, &data.labels) {
        (true, Some(_), _) => {
            let text = "more than two classes: one model each, against all others (--multiclass ovr)";
            Some((HeadKind::Ovr, Some(text.to_string())))
        }
        (true, None, Labels::Words { .. }) => {
            let text =
                "more than two classes: their probabilities are learnt together (--multiclass softmax)";
            Some((HeadKind::Softmax, Some(text.to_string())))
        }
        _ => None,
    }
}
