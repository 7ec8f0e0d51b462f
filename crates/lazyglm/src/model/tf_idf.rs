//! How a model converts the counts of a row to the tf-idf values that it was trained on.

use crate::data::features::Features;
use crate::model::Seen;

/// The conversion of a model that was trained with [`Scale::TfIdf`](crate::Scale::TfIdf).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TfIdf {
    /// Whether a count x becomes 1 + ln x. Text has an option of its own for that.
    pub log: bool,
    /// The idf of each feature in [`Model::seen`](crate::Model), in ascending order. Empty if features have names:
    /// [`Words`](crate::Words) has their idf.
    pub idf: Vec<f64>,
    /// Whether rows are divided by their length.
    pub norm: bool,
}

impl TfIdf {
    /// The conversion that these features were scaled by, if any.
    pub(super) fn of(features: &Features, seen: &Seen, has_words: bool) -> Option<TfIdf> {
        let scaling = &features.scaling;
        let idf = scaling.kept_idf().filter(|_| scaling.log || !has_words)?;
        let of_index = |index| features.column(index).map_or(1.0, |column| idf[column as usize]);
        let idf = if has_words { Vec::new() } else { seen.iter().map(of_index).collect() };
        Some(TfIdf { log: scaling.log, idf, norm: scaling.norm })
    }
}
