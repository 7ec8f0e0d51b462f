//! Tables by feature or row: bounds, penalty factors, weights, sample weights, offsets.

use super::limits::limited;
use super::{Choices, compressed, in_file};
use lazyglm::data::sample_weights::RowOffsets;
use lazyglm::{Features, Model, PenaltyFactors, SampleWeights, WeightBounds, with_weights_of};
use std::sync::LazyLock;

/// Memory for a file of no length, and for the columns of a data set.
const CONSTANT: usize = 1 << 18;
/// Columns of the data set.
const COLUMNS: usize = 1000;

/// A model by index and one by word, whose weights are replaced.
static MODELS: LazyLock<[Model; 2]> = LazyLock::new(|| {
    let model = |file: &[u8]| Model::from_bytes(file).expect("a model that lazyglm wrote");
    [model(include_bytes!("../models/indices.model")), model(include_bytes!("../models/words.model"))]
});

/// The first bytes of files that are compressed by gzip or zstd. Their memory is counted per byte of the text inside.
const COMPRESSED: [&[u8]; 2] = [&[0x1f, 0x8b], &[0x28, 0xb5, 0x2f, 0xfd]];

/// Any bytes as a table.
pub fn tables(bytes: &[u8]) {
    let mut choices = Choices::of(bytes);
    let kind = choices.byte() % 6;
    let is_compressed = COMPRESSED.iter().any(|magic| choices.rest.starts_with(magic));
    let models = &*MODELS;
    let features = Features::columns_from(1, COLUMNS);
    in_file(choices.rest, |path| {
        let name = path.to_str().expect("the name of a temporary file");
        let (length, constant) = match is_compressed {
            true => (compressed::length(path), compressed::CONSTANT),
            false => (Some(bytes.len()), CONSTANT),
        };
        let Some(length) = length else { return };
        limited(length, constant, || match kind {
            0 => {
                let sides = [(Some(name), None), (None, Some(name))];
                for (lower, upper) in sides {
                    let Ok(Some(bounds)) = WeightBounds::parse(lower, upper, None) else { continue };
                    let (bounds, _) = bounds.on(&features).expect("no name is excluded");
                    assert!(bounds.iter().all(|[low, high]| *low <= 0.0 && *high >= 0.0));
                }
            }
            1 => {
                if let Ok(Some(bounds)) = WeightBounds::parse(None, None, Some(&format!("@{name}"))) {
                    let _ = bounds.on(&features);
                }
            }
            2 => {
                if let Ok(factors) = PenaltyFactors::read(path) {
                    assert!(
                        factors.on(&features).0.iter().all(|factor| factor.is_finite() && *factor >= 0.0)
                    );
                }
            }
            3 => {
                for model in models {
                    let Ok(model) = with_weights_of(model, path) else { continue };
                    let bytes = model.to_bytes().expect("finite weights can be written");
                    drop(Model::from_bytes(&bytes));
                }
            }
            4 => {
                if let Ok(weights) = SampleWeights::read(path) {
                    assert!(weights.values.iter().all(|weight| weight.is_finite() && *weight >= 0.0));
                }
            }
            _ => {
                if let Ok(offsets) = RowOffsets::read(path) {
                    assert!(offsets.values.iter().all(|offset| offset.is_finite()));
                }
            }
        });
    });
}
