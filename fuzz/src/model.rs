//! Models: any bytes are a model or an error, with a valid checksum, too; and a model scores any rows.
//!
//! The first byte of an input says what the rest is: a file as it is; a file whose checksum is put right; or tensors and
//! a header, which are put together.

use super::Choices;
use super::limits::limited;
use super::text::parse;
use lazyglm::data::format::{Opening, open};
use lazyglm::{Model, ReadOptions, Rows, Scorer};
use safetensors::tensor::{Dtype, TensorView};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use twox_hash::XxHash3_64;

/// Memory for a model of no length, and for reading some rows with it.
const CONSTANT: usize = 1 << 20;

/// The tensors of a model file; the checksum is added to any.
const NAMES: [&str; 14] = [
    "weights",
    "bias",
    "features",
    "seen",
    "name_ends",
    "names",
    "others",
    "idf",
    "other_idf",
    "seen_idf",
    "head_ends",
    "head_ids",
    "head_biases",
    "head_thresholds",
];
const TYPES: [Dtype; 6] = [Dtype::F64, Dtype::U64, Dtype::F32, Dtype::U32, Dtype::U16, Dtype::U8];
const WIDTHS: [usize; 6] = [8, 8, 4, 4, 2, 1];

/// Rows of every format, for models that say how to read them.
const SAMPLES: [&[u8]; 5] = [
    b"1 1:1 3:0.5 70000:-2e-3\n-1 2:7\n",
    b"1 2.0 'tag|a x:0.5 y |b:2 z:1e3\n",
    b"{\"y\": 1, \"a\": 0.5, \"b\": \"x\"}\n{\"y\": 2, \"a\": null}\n",
    b"y,a,b\n1,0.5,x\n2,,z\n",
    b"ham\tSee you at 5, don't be late\nspam\tWIN now\n",
];

/// Any bytes as a model.
pub fn model(bytes: &[u8]) {
    let mut choices = Choices::of(bytes);
    let file = match choices.byte() % 3 {
        0 => choices.rest.to_vec(),
        1 => sealed(choices.rest.to_vec()),
        _ => assembled(&mut choices),
    };
    let Ok(model) = limited(file.len(), CONSTANT, || Model::from_bytes(&file)) else { return };
    let again = model.to_bytes().expect("a model that was read can be written");
    let again = Model::from_bytes(&again).expect("and read again");
    assert_eq!((&again.features, &again.weights), (&model.features, &model.weights));
    let last = model.seen.runs.last().map_or(0, |run| run.1);
    if (1 << 16..1 << 23).contains(&last) {
        return; // the scorer makes a table of up to 32 MB: allowed, but slow
    }
    limited(file.len(), CONSTANT, || score(&model));
}

/// Scores rows by index, and rows as the model says its data are read.
fn score(model: &Model) {
    let mut scorer = Scorer::new(model);
    let (mut rows, mut scores) = (Rows::new(), Vec::new());
    rows.push(&[(0, 1.0), (3, -2.0), (70_000, 1e300), (u32::MAX, 1.0)]).expect("a row");
    scorer.scores(rows.borrow(), 0, &mut scores);
    let asked = ReadOptions::default();
    for first in SAMPLES {
        let opening =
            Opening { first, file: Path::new("fuzz"), asked: &asked, known: Some(&model.reading.spec) };
        let Ok(spec) = open(&opening) else { continue };
        let block = parse(&spec, first, 128);
        if scorer.set_block(&block).is_ok() {
            for row in 0..block.rows.len() {
                scorer.scores(block.rows.borrow(), row, &mut scores);
            }
        }
    }
}

/// A file with the same contents and the right checksum.
pub fn sealed(mut file: Vec<u8>) -> Vec<u8> {
    if let Some(end) = file.len().checked_sub(8) {
        let check = XxHash3_64::oneshot(&file[..end]).to_le_bytes();
        file[end..].copy_from_slice(&check);
    }
    file
}

/// A safetensors file of tensors with these names, types and lengths, and of a header.
fn assembled(choices: &mut Choices) -> Vec<u8> {
    let mut shapes: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for _ in 0..choices.byte() % 16 {
        let (name, kind, length) = (choices.byte(), choices.byte(), choices.number());
        shapes.insert(NAMES[name % NAMES.len()], (kind % TYPES.len(), length));
    }
    let mut data: Vec<(&str, usize, Vec<u8>)> = Vec::new();
    for (name, (kind, length)) in shapes {
        let bytes = choices.take(length * WIDTHS[kind]);
        let whole = bytes.len() / WIDTHS[kind] * WIDTHS[kind];
        data.push((name, kind, bytes[..whole].to_vec()));
    }
    let mut tensors: Vec<(&str, TensorView)> = data
        .iter()
        .filter_map(|(name, kind, bytes)| {
            Some((*name, TensorView::new(TYPES[*kind], vec![bytes.len() / WIDTHS[*kind]], bytes).ok()?))
        })
        .collect();
    tensors.push(("xxh3_64", TensorView::new(Dtype::U8, vec![8], &[0; 8]).expect("eight bytes")));
    let header = String::from_utf8_lossy(choices.rest).into_owned();
    let file = safetensors::serialize(tensors, Some(HashMap::from([("lazyglm".to_string(), header)])));
    sealed(file.expect("tensors that fit"))
}

/// The input that [`assembled`] turns into this file.
pub fn taken_apart(file: &[u8]) -> Vec<u8> {
    let (_, metadata) = safetensors::SafeTensors::read_metadata(file).expect("a model");
    let all = safetensors::SafeTensors::deserialize(file).expect("a model");
    let mut known: Vec<&str> = NAMES.into_iter().filter(|name| all.tensor(name).is_ok()).collect();
    known.sort_unstable();
    let (mut input, mut data) = (vec![2, known.len() as u8], Vec::<u8>::new());
    for name in known {
        let tensor = all.tensor(name).expect("a tensor");
        let kind = TYPES.iter().position(|kind| *kind == tensor.dtype()).expect("a type of ours");
        let place = NAMES.iter().position(|other| *other == name).expect("a name of ours");
        input.extend([place as u8, kind as u8]);
        input.extend((tensor.shape()[0] as u16).to_le_bytes());
        data.extend(tensor.data());
    }
    input.extend(data);
    input.extend(metadata.metadata().as_ref().expect("a header")["lazyglm"].as_bytes());
    input
}
