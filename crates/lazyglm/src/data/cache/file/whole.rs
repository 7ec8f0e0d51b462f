//! All rows of a cache at once: each fragment is decoded to its place among all rows.
//!
//! ```text
//! place of fragment k      Σ of the non-zeros before it, which the index has and the fragment must keep to
//! ```
//!
//! Rows block by block would be copied once more, by one thread. Values must be exact in f32, which takes four bytes each.

use super::{Cache, FragmentEntry, broken_fragment, checked};
use crate::data::bytes::Block;
use crate::data::cache::Scratch;
use crate::data::cache::fragment::{self, Place};
use crate::data::format::Parsed;
use crate::data::rows::Rows;
use crate::simd;
use crate::util::error::Result;
use rayon::prelude::*;

impl Cache {
    /// The memory of all rows in bytes, or `None` if the values do not fit into f32.
    pub fn bytes_in_f32(&self) -> Option<usize> {
        self.meta.exact_in_f32.then_some(8 * (self.meta.nonzeros + self.meta.rows + 1))
    }

    /// Decodes all fragments on all cores. Values must fit into f32. The error is that of the first damaged fragment.
    pub fn decode_all(&self) -> Result<Parsed> {
        // Memory from the system is zero: a page that nobody writes to costs nothing.
        let (mut ids, mut values) = (vec![0u32; self.meta.nonzeros], vec![0f32; self.meta.nonzeros]);
        simd::advise_huge_pages(ids.as_ptr().cast(), size_of_val(&ids[..]));
        simd::advise_huge_pages(values.as_ptr().cast(), size_of_val(&values[..]));
        let (mut rest, mut places) = ((&mut ids[..], &mut values[..]), Vec::with_capacity(self.parts.len()));
        for part in &self.parts {
            let (of_ids, of_values) =
                (rest.0.split_off_mut(..part.nonzeros), rest.1.split_off_mut(..part.nonzeros));
            let (Some(ids), Some(values)) = (of_ids, of_values) else {
                return Err(broken_fragment(&self.path));
            };
            places.push(Place { ids, values });
        }
        let decoded: Vec<Result<(Vec<u32>, Parsed)>> = places
            .into_par_iter()
            .enumerate()
            .map_init(Default::default, |(bytes, scratch), (part, place)| {
                self.read(part, bytes)?;
                self.decode_to(part, bytes, place, scratch)
            })
            .collect();
        let (mut all, mut ends) = (Parsed::default(), Vec::with_capacity(self.meta.rows + 1));
        ends.push(0);
        let mut end = 0;
        for one in decoded {
            let (counts, block) = one?;
            all.append_besides_rows(&block, [ends.len() - 1, counts.len()]);
            ends.extend(counts.into_iter().map(|count| {
                end += count as usize;
                end
            }));
        }
        all.rows = Rows::of_known(ends, ids, values);
        Ok(all)
    }

    /// Decodes one fragment: ids and values to their place. Returns the number of non-zeros per row, and all else.
    fn decode_to(
        &self,
        part: usize,
        bytes: &Block,
        place: Place,
        scratch: &mut Scratch,
    ) -> Result<(Vec<u32>, Parsed)> {
        let FragmentEntry { rows, check, .. } = self.parts[part];
        let (bytes, mut block) = (checked(bytes.bytes(), check, &self.path)?, Parsed::default());
        let known = self.known_ids();
        let counts = fragment::decode_to(bytes, &self.words, known, place, &mut block, scratch)
            .filter(|counts| counts.len() == rows && self.admits_besides_rows(&block, rows));
        counts.map(|counts| (counts, block)).ok_or_else(|| broken_fragment(&self.path))
    }
}
