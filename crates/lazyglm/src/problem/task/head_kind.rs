//! Choice between one model, classes and labels, for the targets of a data set.

use crate::data::format::FormatSpec;
use crate::data::labels::Labels;
use crate::problem::heads::HeadKind;
use crate::problem::loss::{Admits, Loss};
use crate::util::error::{Error, Result};
use crate::util::parameter::Parameter;

/// What the caller said of the targets.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub heads: Option<HeadKind>,
    /// Whether numbers are classes.
    pub classify: bool,
    pub loss: Option<&'a dyn Loss>,
}

impl Asked<'_> {
    fn is_for_classes(&self) -> bool {
        self.loss.is_none_or(|loss| loss.admits() == Admits::Classes)
    }

    /// Whether a target with commas is a set of labels.
    pub fn splits(&self, spec: &FormatSpec) -> bool {
        match self.heads {
            Some(kind) => kind == HeadKind::Labels,
            None => spec.has_label_sets() && self.is_for_classes() && !self.classify,
        }
    }
}

/// The kind of heads for these targets, with a note if the caller did not choose it; `None` for one model, of two classes or
/// of numbers. `commas` tells whether a target has one.
pub(crate) fn head_kind(
    labels: &Labels,
    commas: bool,
    spec: &FormatSpec,
    asked: &Asked,
) -> Result<Option<(HeadKind, Option<String>)>> {
    let loss = asked.loss;
    let kind = asked.heads.map(|kind| (kind, None)).or_else(|| unasked(labels, commas, spec, asked));
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
fn unasked(
    labels: &Labels,
    commas: bool,
    spec: &FormatSpec,
    asked: &Asked,
) -> Option<(HeadKind, Option<String>)> {
    let names = asked.classify || spec.has_text_targets();
    if commas && asked.splits(spec) {
        let flag = Parameter::Multilabel;
        let text =
            format!("targets have commas: each is read as a set of labels, one model per label ({flag})");
        return Some((HeadKind::Labels, Some(text)));
    }
    let many = labels.distinct(3).len() > 2;
    match (many && asked.is_for_classes(), asked.loss, labels) {
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
