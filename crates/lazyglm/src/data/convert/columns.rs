//! Determines the columns of a table in a separate pass over the data.

use super::conversion::for_each;
use crate::data::bytes::is_stream;
use crate::data::format::ReadOptions;
use crate::data::vocabulary::Vocabulary;
use crate::util::error::{Error, Place, Result};
use std::collections::BTreeSet;
use std::path::Path;

/// Maximum number of features in a table, because each row has one cell per feature.
const WIDEST: usize = 10_000;

/// The names of all features that occur, in order of first appearance, or their indices in ascending order.
pub(super) fn columns(from: &Path, asked: &ReadOptions) -> Result<Vec<String>> {
    if is_stream(from) {
        let what = format!("a table needs its columns first, and {} cannot be read twice", Place::file(from));
        return Err(Error::call(what, "give the data as a file, or write another format"));
    }
    let (mut names, mut indices) = (Vocabulary::default(), BTreeSet::new());
    for_each(from, asked, &mut |block| {
        let ids: BTreeSet<u32> = block.rows.ids().iter().copied().collect();
        match &block.names {
            Some(words) => ids.iter().for_each(|&id| _ = names.id(words.name(id))),
            None => indices.extend(ids),
        }
        if names.len() + indices.len() > WIDEST {
            let what = "there are more than 10,000 features, too many for a table";
            return Err(Error::data(Place::file(from), what, "write svmlight, vw or jsonl"));
        }
        Ok(())
    })?;
    let indices = indices.iter().map(u32::to_string);
    Ok(names.iter().map(str::to_string).chain(indices).collect())
}
