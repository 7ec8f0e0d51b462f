//! Some rows as bytes: what a cache is made of, each read and checked on its own.
//!
//! ```text
//! rows     how many non-zeros each has                     whole numbers
//! ids      of each row: the first, then the gaps less one  whole numbers
//! values   all of them                                     reals
//! targets  a kind, then numbers, or numbers of words       reals or whole numbers
//! weights  none, or one a row                              reals
//! lines    runs of rows on neighbouring lines              pairs of numbers
//! ```

use super::numbers::{Reader, Writer};
use crate::format::{Lines, Parsed};
use crate::labels::Labels;
use crate::rows::Rows;
use crate::vocabulary::Vocabulary;
use std::ops::Range;

const NUMBERS: u8 = 0;
const WORDS: u8 = 1;

/// The bytes of some rows of a block. Words of targets get their numbers from `words`.
pub(super) fn encode(block: &Parsed, rows: Range<usize>, words: &mut Vocabulary) -> Vec<u8> {
    let lent = block.rows.borrow();
    let (mut counts, mut gaps, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for i in rows.clone() {
        let (before, mut least) = (gaps.len(), 0);
        lent.for_each(i, |id, x| {
            gaps.push(id as u32 - least);
            values.push(x);
            least = (id as u32).wrapping_add(1); // the last id of all has no successor, and needs none
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
    let weights = if block.weights.is_empty() { &[][..] } else { &block.weights[rows.clone()] };
    to.number(weights.len() as u64);
    to.reals(weights);
    let numbers: Vec<usize> = rows.collect();
    let lines = block.lines.select(&numbers);
    to.number(lines.runs().len() as u64);
    for &(row, line) in lines.runs() {
        to.number(row as u64);
        to.number(line);
    }
    to.bytes
}

/// Appends the rows in these bytes to an empty block; `None` if they break a rule.
pub(super) fn decode(bytes: &[u8], words: &Vocabulary, block: &mut Parsed) -> Option<()> {
    let mut from = Reader { bytes };
    let mut counts: Vec<usize> = Vec::new();
    from.wholes(|count| counts.push(count as usize))?;
    let mut gaps: Vec<u32> = Vec::new();
    from.wholes(|gap| gaps.push(gap))?;
    let mut values = Vec::with_capacity(gaps.len());
    from.reals(gaps.len(), &mut values)?;
    if !values.iter().fold(true, |fine, x| fine & x.is_finite()) {
        return None;
    }
    rows(&counts, &mut gaps, &values, &mut block.rows)?;
    block.file_rows = counts.len();
    match from.byte()? {
        NUMBERS => {
            let count = usize::try_from(from.number()?).ok().filter(|&count| count <= counts.len())?;
            let mut numbers = Vec::new();
            from.reals(count, &mut numbers)?;
            block.labels = numbers.iter().all(|y| y.is_finite()).then_some(Labels::Numbers(numbers))?;
        }
        WORDS => {
            let mut codes = Vec::new();
            from.wholes(|code| codes.push(code))?;
            let known =
                codes.len() <= counts.len() && codes.iter().all(|&code| (code as usize) < words.len());
            block.labels = known.then(|| Labels::of_words(&codes, words))?;
        }
        _ => return None,
    }
    let weighted = usize::try_from(from.number()?).ok()?;
    if weighted != 0 && weighted != counts.len() {
        return None;
    }
    from.reals(weighted, &mut block.weights)?;
    if !block.weights.iter().all(|w| w.is_finite() && *w >= 0.0) {
        return None;
    }
    let mut runs: Vec<(usize, u64)> = Vec::new();
    for _ in 0..from.number()? {
        runs.push((from.number()?.try_into().ok()?, from.number()?));
    }
    let rising = runs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1);
    if !rising || (runs.first().is_none_or(|run| run.0 != 0) && !counts.is_empty()) || !from.bytes.is_empty()
    {
        return None;
    }
    block.lines = Lines::from_runs(runs);
    Some(())
}

/// Ids from gaps, row by row.
fn rows(counts: &[usize], gaps: &mut [u32], values: &[f64], into: &mut Rows) -> Option<()> {
    let mut start = 0usize;
    for &count in counts {
        let end = start.checked_add(count).filter(|&end| end <= gaps.len())?;
        let (ids, mut least) = (&mut gaps[start..end], 0u64);
        for id in ids.iter_mut() {
            least += u64::from(*id);
            *id = least as u32;
            least += 1;
        }
        if least > 1 << 32 {
            return None;
        }
        into.push_known(ids, &values[start..end]);
        start = end;
    }
    (start == gaps.len()).then_some(())
}
