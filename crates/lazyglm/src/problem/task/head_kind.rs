//! How the targets of a data set are read: as one number per row, as classes, or as labels.

use crate::data::dataset::Dataset;
use crate::data::format::FormatSpec;
use crate::data::labels::Labels;
use crate::problem::heads::HeadKind;
use crate::problem::loss::{Admits, Loss};
use crate::util::error::{Error, Result};

/// The kind of heads for these data, with a note if nobody asked for it; `None` if one model is to be learnt, for two classes
/// or for numbers.
pub(super) fn head_kind(
    data: &Dataset,
    asked: Option<HeadKind>,
    loss: Option<&dyn Loss>,
) -> Result<Option<(HeadKind, Option<String>)>> {
    let kind = asked.map(|kind| (kind, None)).or_else(|| unasked(data, loss));
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

/// The kind of heads that the targets and the loss suggest.
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
