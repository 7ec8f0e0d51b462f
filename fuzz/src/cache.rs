//! Caches: any bytes are rows or an error, with valid checksums, too.
//!
//! The first byte of an input says what the rest is: a file as it is; a file whose checksums are put right; or the
//! parts of a file, which is put together with offsets and checksums that fit.

use super::limits::limited;
use super::{Choices, in_file};
use lazyglm::data::cache::read_through;
use lazyglm::{Dataset, Load};
use twox_hash::XxHash3_64;

const MAGIC: &[u8; 16] = b"lazyglm cache 4\n";
/// Length of the end of the file: four offsets, a checksum, the magic bytes.
const FOOT: usize = 5 * 8 + 16;
/// Length of an entry of the index.
const ENTRY: usize = 40;
/// Memory for a cache of no length, and for a data set in memory: blocks that threads read into.
const CONSTANT: [usize; 2] = [1 << 17, 16 << 20];

/// Any bytes as a cache, given as the data file.
pub fn cache(bytes: &[u8]) {
    let mut choices = Choices::of(bytes);
    let file = match choices.byte() % 3 {
        0 => choices.rest.to_vec(),
        1 => sealed(choices.rest.to_vec()),
        _ => assembled(&mut choices),
    };
    in_file(&file, |path| {
        let open = std::fs::File::open(path).expect("the file just written");
        let Ok(rows) = limited(file.len(), CONSTANT[0], || read_through(open, path)) else { return };
        let load = Load::default();
        if let Ok((data, _)) = limited(file.len(), CONSTANT[1], || Dataset::load(path, &load)) {
            assert_eq!(data.rows.len(), rows);
        }
    });
}

/// A file with the same contents, whose checksums are right wherever its offsets make sense.
pub fn sealed(mut file: Vec<u8>) -> Vec<u8> {
    let Some(foot) = file.len().checked_sub(FOOT).filter(|&foot| foot >= MAGIC.len()) else { return file };
    let number = |file: &[u8], at: usize| {
        file.get(at..at + 8).and_then(|eight| eight.try_into().ok()).map_or(0, u64::from_le_bytes) as usize
    };
    let [names, _, index, meta] = [0, 1, 2, 3].map(|k| number(&file, foot + 8 * k));
    if names > index || index > meta || meta > foot {
        return file;
    }
    for entry in (index..meta).step_by(ENTRY).filter(|entry| entry + ENTRY <= meta) {
        let (start, length) = (number(&file, entry), number(&file, entry + 8));
        let Some(fragment) = start.checked_add(length).and_then(|end| file.get(start..end)) else { continue };
        let check = XxHash3_64::oneshot(fragment).to_le_bytes();
        file[entry + ENTRY - 8..entry + ENTRY].copy_from_slice(&check);
    }
    let check = XxHash3_64::oneshot(&file[names..foot]).to_le_bytes();
    file[foot + 32..foot + 40].copy_from_slice(&check);
    file
}

/// A file made of up to three fragments, names, an order and metadata. The metadata get the right numbers of rows and
/// non-zeros, if they are an object.
fn assembled(choices: &mut Choices) -> Vec<u8> {
    let fragments: Vec<[usize; 3]> =
        (0..choices.byte() % 4).map(|_| [choices.number(), choices.number(), choices.number()]).collect();
    let (names, order) = (choices.number(), choices.number());
    let (mut file, mut index) = (MAGIC.to_vec(), Vec::new());
    for [rows, nonzeros, length] in &fragments {
        let fragment = choices.take(*length);
        let check = XxHash3_64::oneshot(fragment);
        let entry = [file.len() as u64, fragment.len() as u64, *rows as u64, *nonzeros as u64, check];
        index.extend(entry.iter().flat_map(|number| number.to_le_bytes()));
        file.extend(fragment);
    }
    let mut starts = vec![file.len()];
    for part in [choices.take(names), choices.take(order), &index] {
        file.extend(part);
        starts.push(file.len());
    }
    match serde_json::from_slice::<serde_json::Value>(choices.rest) {
        Ok(serde_json::Value::Object(mut meta)) => {
            for (k, name) in ["rows", "nonzeros"].into_iter().enumerate() {
                meta.insert(name.into(), fragments.iter().map(|part| part[k]).sum::<usize>().into());
            }
            file.extend(serde_json::to_vec(&meta).expect("JSON"));
        }
        _ => file.extend(choices.rest),
    }
    let check = XxHash3_64::oneshot(&file[starts[0]..]);
    file.extend(starts.iter().map(|&start| start as u64).chain([check]).flat_map(u64::to_le_bytes));
    file.extend(MAGIC);
    file
}

/// The input that [`assembled`] turns into this file.
pub fn taken_apart(file: &[u8]) -> Vec<u8> {
    let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().expect("eight bytes")) as usize;
    let foot = file.len() - FOOT;
    let [names, order, index, meta] = [0, 1, 2, 3].map(|k| number(foot + 8 * k));
    let mut input = vec![2, ((meta - index) / ENTRY) as u8];
    let mut two = |number: usize| input.extend((number as u16).to_le_bytes());
    for entry in (index..meta).step_by(ENTRY) {
        [16, 24, 8].into_iter().for_each(|at| two(number(entry + at)));
    }
    two(order - names);
    two(index - order);
    input.extend(&file[MAGIC.len()..index]);
    input.extend(&file[meta..foot]);
    input
}
