//! The tensors of a model whose features have names, and what is refused.

use crate::data::vocabulary::Vocabulary;
use crate::model::{Seen, TfIdf, Words};
use crate::util::error::{Error, Kind, Place};

/// The tensors `names`, `name_ends` and `others`.
pub(super) fn word_bytes(words: &Words) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let names: String = words.names.iter().collect();
    let ends = words.names.iter().scan(0, |end, name| {
        *end += name.len() as u64;
        Some(*end)
    });
    let others = words.others.iter().flat_map(|mark| mark.to_le_bytes()).collect();
    (names.into_bytes(), ends.flat_map(u64::to_le_bytes).collect(), others)
}

/// Decodes the words of features and returns `None` if their tensors are invalid.
pub(super) fn read_words(names: &[u8], ends: Vec<u64>, others: Vec<u64>) -> Option<Words> {
    let text = std::str::from_utf8(names).ok()?;
    let (mut words, mut start) = (Vocabulary::default(), 0);
    for &end in &ends {
        words.id(text.get(start..usize::try_from(end).ok()?)?);
        start = end as usize;
    }
    let fits = start == text.len() && words.len() == ends.len(); // no duplicate words
    (fits && others.windows(2).all(|two| two[0] < two[1])).then_some(Words {
        names: words,
        others,
        idf: None,
    })
}

/// Whether each feature has one finite idf: in the words, if there are any, else here.
pub(super) fn tf_idf_fits(tf_idf: &TfIdf, words: Option<&Words>, seen: &Seen) -> bool {
    let fits = match words {
        Some(words) => words.idf.is_some() && tf_idf.idf.is_empty(),
        None => tf_idf.idf.len() as u64 == seen.len(),
    };
    fits && tf_idf.idf.iter().all(|x| x.is_finite())
}

/// The error for a model that the format of the tensors refuses.
pub(super) fn cannot_write(e: &dyn std::error::Error) -> Error {
    let place = Place::default();
    Kind::Model {
        place,
        what: format!("the model cannot be put into a file: {e}"),
        hint: "report this".into(),
    }
    .into()
}
