//! A fragment of the cache: some rows as bytes, read and checked independently of other fragments.
//!
//! ```text
//! rows     number of non-zeros per row                     integers
//! ids      per row: the first, then the gaps minus one     integers
//! values   the values of all rows                          reals
//! targets  a kind, then numbers, or word numbers           reals or integers
//! weights  none, or one per row                            reals
//! offsets  none, or one per row; NaN for a missing one     reals
//! lines    runs of rows on consecutive lines               pairs of integers
//! ```

use super::numbers::{Reader, Writer};
use crate::data::format::{Lines, Parsed};
use crate::data::labels::Labels;
use crate::data::vocabulary::Vocabulary;
use std::ops::Range;

const NUMBERS: u8 = 0;
const WORDS: u8 = 1;
/// Upper bound on line numbers, so that sums of lines and rows cannot overflow 64 bits.
const LINES: u64 = 1 << 62;

/// Encodes a range of rows of a block. Words of targets get their numbers from `words`.
pub(super) fn encode(block: &Parsed, rows: Range<usize>, words: &mut Vocabulary) -> Vec<u8> {
    let lent = block.rows.borrow();
    let (mut counts, mut gaps, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for i in rows.clone() {
        let (before, mut least) = (gaps.len(), 0);
        lent.for_each(i, |id, x| {
            gaps.push(id as u32 - least);
            values.push(x);
            least = (id as u32).wrapping_add(1); // may wrap after the largest id, which has no successor
        });
        counts.push((gaps.len() - before) as u32);
    }
    let mut to = Writer::default();
    to.wholes(&counts);
    to.wholes(&gaps);
    to.reals(&values);
    match &block.labels {
        Labels::Numbers(numbers) => {
            to.bytes.push(NUMBERS);
            let labelled = rows.start.min(numbers.len())..rows.end.min(numbers.len());
            to.number(labelled.len() as u64);
            to.reals(&numbers[labelled]);
        }
        Labels::Words { codes, words: texts, .. } => {
            to.bytes.push(WORDS);
            let labelled = &codes[rows.start.min(codes.len())..rows.end.min(codes.len())];
            let known: Vec<u32> = texts.iter().map(|text| words.id(text)).collect();
            to.wholes(&labelled.iter().map(|&code| known[code as usize]).collect::<Vec<_>>());
        }
    }
    for list in [&block.weights, &block.offsets] {
        let some = if list.is_empty() { &[][..] } else { &list[rows.clone()] };
        to.number(some.len() as u64);
        to.reals(some);
    }
    let numbers: Vec<usize> = rows.collect();
    let lines = block.lines.select(&numbers);
    to.number(lines.runs().len() as u64);
    for &(row, line) in lines.runs() {
        to.number(row as u64);
        to.number(line);
    }
    to.bytes
}

/// Reusable buffers for decoding.
#[derive(Default)]
pub(crate) struct Scratch {
    counts: Vec<u32>,
    gaps: Vec<u32>,
    values: Vec<f64>,
}

/// Decodes rows into an empty block. Returns `None` if the bytes are invalid.
pub(super) fn decode(
    bytes: &[u8],
    words: &Vocabulary,
    block: &mut Parsed,
    scratch: &mut Scratch,
) -> Option<()> {
    let rest = arrays(bytes, scratch)?;
    let Scratch { counts, gaps: ids, values } = scratch;
    block.rows.push_all_known(counts, ids, values);
    besides_rows(rest, words, counts.len(), block)
}

/// Where the ids and values of a fragment belong.
pub(super) struct Place<'a> {
    pub ids: &'a mut [u32],
    pub values: &'a mut [f32],
}

/// Decodes ids and values to their place, and all else into an empty block. Returns the number of non-zeros per row, or `None` if
/// the bytes are invalid, have another number of non-zeros, an id that is not known, or a value that is not exact in f32.
pub(super) fn decode_to(
    bytes: &[u8],
    words: &Vocabulary,
    known: Range<usize>,
    place: Place,
    block: &mut Parsed,
    scratch: &mut Scratch,
) -> Option<Vec<u32>> {
    let mut from = Reader { bytes };
    let counts = &mut scratch.counts;
    counts.clear();
    from.wholes(counts)?;
    from.wholes_to(place.ids)?;
    let [first, end] = to_ids(counts, place.ids)?;
    if first < known.start as u64 || end > known.end as u64 {
        return None;
    }
    let single = |x: f64| (x as f32, x.is_finite() & (f64::from(x as f32) == x));
    from.reals_to(place.values, single)?;
    besides_rows(from, words, counts.len(), block)?;
    Some(counts.clone())
}

/// Decodes counts, ids and values. Returns the bytes after them.
fn arrays<'a>(bytes: &'a [u8], scratch: &mut Scratch) -> Option<Reader<'a>> {
    let mut from = Reader { bytes };
    let Scratch { counts, gaps, values } = scratch;
    counts.clear();
    gaps.clear();
    values.clear();
    from.wholes(counts)?;
    from.wholes(gaps)?;
    from.reals(gaps.len(), values)?;
    if !values.iter().fold(true, |fine, x| fine & x.is_finite()) {
        return None;
    }
    to_ids(counts, gaps)?;
    Some(from)
}

/// Decodes what a block of so many rows has besides its rows.
fn besides_rows(mut from: Reader, words: &Vocabulary, rows: usize, block: &mut Parsed) -> Option<()> {
    block.file_rows = rows;
    match from.byte()? {
        NUMBERS => {
            let count = usize::try_from(from.number()?).ok().filter(|&count| count <= rows)?;
            let mut numbers = Vec::new();
            from.reals(count, &mut numbers)?;
            block.labels = numbers.iter().all(|y| y.is_finite()).then_some(Labels::Numbers(numbers))?;
        }
        WORDS => {
            let mut codes = Vec::new();
            from.wholes(&mut codes)?;
            let known = codes.len() <= rows && codes.iter().all(|&code| (code as usize) < words.len());
            block.labels = known.then(|| Labels::of_words(&codes, words))?;
        }
        _ => return None,
    }
    for list in [&mut block.weights, &mut block.offsets] {
        let count = usize::try_from(from.number()?).ok().filter(|&count| count == 0 || count == rows)?;
        from.reals(count, list)?;
    }
    let weights = block.weights.iter().all(|w| w.is_finite() && *w >= 0.0);
    if !weights || block.offsets.iter().any(|offset| offset.is_infinite()) {
        return None;
    }
    let mut runs: Vec<(usize, u64)> = Vec::new();
    for _ in 0..from.number()? {
        runs.push((from.number()?.try_into().ok()?, from.number()?));
    }
    let rising = runs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1);
    let small = runs.last().is_none_or(|run| run.0 < rows && run.1 < LINES);
    if !rising || !small || (runs.first().is_none_or(|run| run.0 != 0) && rows > 0) || !from.bytes.is_empty()
    {
        return None;
    }
    block.lines = Lines::from_runs(runs);
    Some(())
}

/// Turns gaps into ids, row by row. Returns the least id and the end of the range of all ids.
fn to_ids(counts: &[u32], gaps: &mut [u32]) -> Option<[u64; 2]> {
    let (mut rest, mut first, mut last_end) = (&mut *gaps, u64::MAX, 0);
    for &count in counts {
        let (ids, mut end) = (rest.split_off_mut(..count as usize)?, 0u64);
        first = ids.first().map_or(first, |&id| first.min(u64::from(id)));
        for id in ids {
            end += u64::from(*id) + 1; // one addition between two ids
            *id = (end - 1) as u32;
        }
        last_end = end.max(last_end);
    }
    (rest.is_empty() && last_end <= 1 << 32).then_some([first, last_end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A random row: distance from the previous line, target, weight and (id, value) pairs.
    type Drawn = (u64, f64, f64, Vec<(u32, f64)>);

    fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
        let id = prop_oneof![0u32..300, any::<u32>(), Just(u32::MAX), Just(u32::MAX - 1)];
        let value = prop_oneof![Just(1.0), (1i32..5).prop_map(f64::from), -1e9..1e9, Just(0.1), Just(1e300)];
        let row = (1u64..3, -2i32..3, 0u32..4, prop::collection::vec((id, value), 0..6));
        let row = row.prop_map(|(line, y, weight, mut pairs)| {
            pairs.sort_by_key(|pair| pair.0);
            pairs.dedup_by_key(|pair| pair.0);
            pairs.retain(|pair| pair.1 != 0.0);
            (line, f64::from(y) / 2.0, f64::from(weight) / 2.0, pairs)
        });
        prop::collection::vec(row, 1..40)
    }

    fn block(rows: &[Drawn], as_words: bool, weighted: bool, labelled: usize) -> Parsed {
        let mut block = Parsed::default();
        for (i, (lines, y, weight, pairs)) in rows.iter().enumerate() {
            (0..*lines).for_each(|_| _ = block.lines.begin());
            if i < labelled {
                let word = if as_words { format!("class {y}") } else { y.to_string() };
                block.labels.push(word.as_bytes()).unwrap();
            }
            block.push_row(&mut pairs.clone()).unwrap();
            if weighted {
                block.weigh(*weight);
                block.shift(y - weight);
            }
        }
        block
    }

    proptest! {
        #[test]
        fn any_rows_of_a_block_come_back(
            rows in drawn(),
            (as_words, weighted) in any::<(bool, bool)>(),
            (start, length, labelled) in (0usize..40, 1usize..40, 0usize..80),
        ) {
            let labelled = labelled.min(rows.len());
            let all = block(&rows, as_words, weighted, labelled);
            let start = start % rows.len();
            let end = (start + length).min(rows.len());
            let mut words: Vocabulary = ["a word of another block"].into_iter().collect();
            let bytes = encode(&all, start..end, &mut words);
            let mut back = Parsed::default();
            prop_assert!(decode(&bytes, &words, &mut back, &mut Scratch::default()).is_some());
            prop_assert_eq!(back.rows.len(), end - start);
            let pairs = |block: &Parsed, i: usize| {
                let mut pairs = Vec::new();
                block.rows.borrow().for_each(i, |id, x| pairs.push((id, x.to_bits())));
                pairs
            };
            for i in start..end {
                prop_assert_eq!(pairs(&all, i), pairs(&back, i - start));
                prop_assert_eq!(all.lines.of(i), back.lines.of(i - start));
                let weight = |block: &Parsed, i: usize| block.weights.get(i).copied().unwrap_or(1.0);
                prop_assert_eq!(weight(&all, i), weight(&back, i - start));
                prop_assert_eq!(all.offset(i), back.offset(i - start));
            }
            let kept = labelled.clamp(start, end) - start;
            prop_assert_eq!(back.labels.len(), kept);
            for i in 0..kept {
                prop_assert_eq!(all.labels.name(start + i), back.labels.name(i));
            }
        }

        #[test]
        fn a_fragment_with_bytes_changed_or_missing_never_panics(
            rows in drawn(),
            (as_words, weighted) in any::<(bool, bool)>(),
            changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4),
            cut in any::<usize>(),
        ) {
            let mut words = Vocabulary::default();
            let all = block(&rows, as_words, weighted, rows.len());
            let mut bytes = encode(&all, 0..rows.len(), &mut words);
            prop_assert!(decode(&bytes[..cut % bytes.len()], &words, &mut Parsed::default(), &mut Scratch::default()).is_none());
            let length = bytes.len();
            changes.iter().for_each(|(at, byte)| bytes[at % length] = *byte);
            let mut back = Parsed::default();
            if decode(&bytes, &words, &mut back, &mut Scratch::default()).is_some() {
                let room = (8, 8 * bytes.len()); // at most a few numbers per byte
                prop_assert!(back.rows.len() + back.rows.nonzeros() <= room.0 + room.1);
            }
        }

        #[test]
        fn bytes_that_nobody_wrote_are_no_fragment(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let words: Vocabulary = ["a", "b"].into_iter().collect();
            prop_assert!(decode(&bytes, &words, &mut Parsed::default(), &mut Scratch::default()).is_none());
        }
    }

    #[test]
    fn rows_decoded_to_their_place_are_those_of_a_block_and_others_are_refused() {
        let rows = |x: f64| {
            [(1, 1.0, 1.0, vec![(3, x), (7, 2.0)]), (1, 0.0, 1.0, vec![]), (1, 1.0, 1.0, vec![(5, 1.0)])]
        };
        let words = Vocabulary::default();
        let to = |bytes: &[u8], known: Range<usize>, nonzeros: usize| {
            let (mut ids, mut values, mut block) =
                (vec![0; nonzeros], vec![0.0; nonzeros], Parsed::default());
            let place = Place { ids: &mut ids, values: &mut values };
            let counts = decode_to(bytes, &words, known, place, &mut block, &mut Scratch::default())?;
            Some((counts, ids, values, block.labels.len()))
        };
        let encoded = |x: f64| encode(&block(&rows(x), false, false, 3), 0..3, &mut Vocabulary::default());
        let bytes = encoded(0.5);
        assert_eq!(to(&bytes, 3..8, 3), Some((vec![2, 0, 1], vec![3, 7, 5], vec![0.5, 2.0, 1.0], 3)));
        assert_eq!([to(&bytes, 3..8, 2), to(&bytes, 3..8, 4)], [None, None], "another number of non-zeros");
        assert_eq!([to(&bytes, 4..8, 3), to(&bytes, 3..7, 3)], [None, None], "an unknown id");
        assert_eq!(to(&encoded(0.1), 3..8, 3), None, "a value that f32 does not have");
        assert_eq!(to(&bytes[..bytes.len() - 1], 3..8, 3), None, "cut short");
    }

    #[test]
    fn a_count_that_no_bytes_stand_behind_asks_for_no_memory() {
        // The counts of rows, ids and values can be any number of eight bytes.
        for numbers in [u64::MAX, 1 << 62, 1 << 40, 1 << 32] {
            for width in [0, 1, 2, 4, 8, 255] {
                let mut bytes = numbers.to_le_bytes().to_vec();
                bytes.push(width);
                bytes.extend([0; 64]);
                assert!(
                    decode(&bytes, &Vocabulary::default(), &mut Parsed::default(), &mut Scratch::default())
                        .is_none()
                );
            }
        }
    }
}
