//! Choice between one model, classes and labels, for the targets of a data set.

use crate::data::dataset::Dataset;
use crate::data::labels::Labels;
use crate::problem::heads::HeadKind;
use crate::problem::loss::{Admits, Loss};
use crate::util::error::{Error, Result};
use crate::util::parameter::Parameter;

/// The kind of heads for these data, with a note if the caller did not choose it; `None` for one model, of two classes or of
/// numbers.
pub(super) fn head_kind(
    data: &Dataset,
    asked: Option<HeadKind>,
    classify: bool,
    loss: Option<&dyn Loss>,
) -> Result<Option<(HeadKind, Option<String>)>> {
    let kind = asked.map(|kind| (kind, None)).or_else(|| unasked(data, classify, loss));
    match (kind.as_ref().map(|(kind, _)| kind), loss) {
        (Some(HeadKind::Softmax), Some(loss)) if loss.spec() != "logistic" => Err(Error::call(
            format!(
                "{} has its own loss, and does not use '{}'",
                Parameter::Multiclass.set("softmax"),
                loss.spec()
            ),
            format!("leave {} out, or use {}", Parameter::Loss, Parameter::Multiclass.set("ovr")),
        )),
        (Some(kind), Some(loss)) if loss.admits() != Admits::Classes => Err(Error::call(
            format!("loss '{}' is for numbers, not for {}", loss.spec(), kind.nouns()),
            "use a loss for classes, such as logistic",
        )),
        _ => Ok(kind),
    }
}

/// The kind of heads that the targets and the loss suggest.
fn unasked(data: &Dataset, classify: bool, loss: Option<&dyn Loss>) -> Option<(HeadKind, Option<String>)> {
    let for_classes = loss.is_none_or(|loss| loss.admits() == Admits::Classes);
    let comma = |labels: &Labels| match labels {
        Labels::Words { words, .. } => words.iter().any(|word| word.contains(',')),
        Labels::Numbers(_) => false,
    };
    let names = classify || data.reading.spec.has_text_targets();
    if data.reading.spec.has_label_sets() && comma(&data.labels) && for_classes && !classify {
        let flag = Parameter::Multilabel;
        let text =
            format!("targets have commas: each is read as a set of labels, one model per label ({flag})");
        return Some((HeadKind::Labels, Some(text)));
    }
    let many = data.labels.distinct(3).len() > 2;
    match (many && for_classes, loss, &data.labels) {
        (true, Some(_), _) => {
            let ovr = Parameter::Multiclass.set("ovr");
            let text = format!("more than two classes: one model per class, against all others ({ovr})");
            Some((HeadKind::Ovr, Some(text)))
        }
        (true, None, labels) if names || matches!(labels, Labels::Words { .. }) => {
            let softmax = Parameter::Multiclass.set("softmax");
            let text = format!("more than two classes: one model for all of them ({softmax})");
            Some((HeadKind::Softmax, Some(text)))
        }
        _ => None,
    }
}
