//! Numbers of a model file: little-endian, and narrower types where a large model loses nothing by them.

use crate::model::Model;
use safetensors::tensor::{Dtype, SafeTensors};

/// Least number of weights of heads for narrower types.
const LARGE: usize = 1 << 20;

/// Whether the model has heads and so many weights that narrower types are worth a newer format.
pub(super) fn is_large(model: &Model) -> bool {
    model.heads.is_some() && model.weights.len() >= LARGE
}

/// The tensor `weights`: F32 for a large model if no weight changes by it, else F64.
pub(super) fn narrow_weights(model: &Model) -> (Dtype, Vec<u8>) {
    let exact = |w: &f64| f64::from(*w as f32) == *w;
    match is_large(model) && model.weights.iter().all(exact) {
        true => (Dtype::F32, model.weights.iter().flat_map(|w| (*w as f32).to_le_bytes()).collect()),
        false => (Dtype::F64, model.weights.iter().flat_map(|w| w.to_le_bytes()).collect()),
    }
}

/// The tensor `head_ids`: U16 for a large model of at most 65,536 heads, else U32.
pub(super) fn narrow_ids(model: &Model) -> (Dtype, Vec<u8>) {
    let ids = model.heads.as_ref().map_or(&[][..], |heads| &heads.ids);
    match is_large(model) && ids.iter().all(|id| u16::try_from(*id).is_ok()) {
        true => (Dtype::U16, ids.iter().flat_map(|id| (*id as u16).to_le_bytes()).collect()),
        false => (Dtype::U32, ids.iter().flat_map(|id| id.to_le_bytes()).collect()),
    }
}

/// The weights, of either type.
pub(super) fn read_weights(tensors: &SafeTensors) -> Option<Vec<f64>> {
    let tensor = tensors.tensor("weights").ok().filter(|tensor| tensor.shape().len() == 1)?;
    match tensor.dtype() {
        Dtype::F64 => Some(f64s(tensor.data())),
        Dtype::F32 => Some(
            tensor
                .data()
                .chunks_exact(4)
                .map(|b| f32::from_le_bytes(b.try_into().unwrap_or_default()).into())
                .collect(),
        ),
        _ => None,
    }
}

/// The head of each weight, of either type.
pub(super) fn read_ids(tensors: &SafeTensors) -> Option<Vec<u32>> {
    let tensor = tensors.tensor("head_ids").ok().filter(|tensor| tensor.shape().len() == 1)?;
    match tensor.dtype() {
        Dtype::U32 => Some(u32s(tensor.data())),
        Dtype::U16 => Some(
            tensor
                .data()
                .chunks_exact(2)
                .map(|b| u16::from_le_bytes(b.try_into().unwrap_or_default()).into())
                .collect(),
        ),
        _ => None,
    }
}

pub(super) fn f64s(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(8).map(|eight| f64::from_le_bytes(eight.try_into().unwrap_or_default())).collect()
}

pub(super) fn u64s(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|eight| u64::from_le_bytes(eight.try_into().unwrap_or_default())).collect()
}

pub(super) fn u32s(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap_or_default())).collect()
}
