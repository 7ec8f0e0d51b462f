//! Loads a file of training data into memory.

use super::vanished::Vanished;
use super::{Dataset, LEAST_PAIR, MOST_EXPECTED, scaling, too_large};
use crate::data::cache::Cache;
use crate::data::features::{Declared, Features};
use crate::data::format::{Parsed, ReadOptions};
use crate::data::loader::{self, CacheMode, Gather, LoadInfo};
use crate::data::read_config::{Input, ReadConfig};
use crate::data::sample_weights::{RowOffsets, SampleWeights};
use crate::data::scaling::Scale;
use crate::simd;
use crate::util::error::{Place, Result};
use crate::util::memory::{self, Left};
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::sync::Arc;

/// Options for loading training data.
///
/// ```
/// use lazyglm::{Dataset, Declared, Load};
/// let file = std::env::temp_dir().join("lazyglm-doc-load.svm");
/// std::fs::write(&file, "1 1:0.1\n-1 2:1\n").unwrap();
/// let (data, _) = Dataset::load(&file, &Load { as_f32: true, ..Load::default() }).unwrap();
/// assert_eq!(data.rows.borrow().dot(0, &[1.0, 1.0]), f64::from(0.1f32));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Load {
    /// Options for reading the format.
    pub asked: ReadOptions,
    /// Declared base and number of features.
    pub declared: Declared,
    /// One weight per row of the file.
    pub weights: Option<SampleWeights>,
    /// One offset per row of the file, added to the offsets in the data.
    pub offsets: Option<RowOffsets>,
    /// Whether to round values to f32, for a model that keeps its weights in f32.
    pub as_f32: bool,
    /// When to use a cache.
    pub cache: CacheMode,
    /// How to scale values.
    pub scale: Scale,
}

impl Dataset {
    /// Loads a file of training data.
    ///
    /// Also returns the sample weight of each row. Rows of weight zero are dropped, so neither their features
    /// nor their targets count.
    ///
    /// ```
    /// use lazyglm::{Dataset, Load, SampleWeights};
    /// let file = |name: &str| std::env::temp_dir().join("lazyglm-doc-weighted-".to_string() + name);
    /// std::fs::write(file("data"), "1 1:1\n-1 2:1\n1 9:1\n").unwrap();
    /// std::fs::write(file("weights"), "1\n2\n0\n").unwrap();
    /// let weights = Some(SampleWeights::read(&file("weights")).unwrap());
    /// let (data, kept) = Dataset::load(&file("data"), &Load { weights, ..Load::default() }).unwrap();
    /// assert_eq!((data.rows.len(), data.features.count, kept.unwrap()), (2, 2, vec![1.0, 2.0]));
    /// ```
    pub fn load(path: &Path, load: &Load) -> Result<(Dataset, Option<Vec<f64>>)> {
        Dataset::gather(path, load, |absent, gather| {
            loader::for_each(path, &load.asked, &load.cache, absent, load.as_f32, gather)
        })
    }

    /// Loads training data from an open cache of the file `path`, made with the options in `load`.
    pub(crate) fn of_cache(cache: &Cache, path: &Path, load: &Load) -> Result<(Dataset, Option<Vec<f64>>)> {
        Dataset::gather(path, load, |absent, gather| {
            loader::for_each_of(cache, path, &absent, load.as_f32, gather)
        })
    }

    /// Loads a file in the same way as the training data of a model were read, or a cache of such rows. The features are those
    /// of the file.
    pub(crate) fn load_as(
        path: &Path,
        load: &Load,
        known: &ReadConfig,
    ) -> Result<(Dataset, Option<Vec<f64>>)> {
        if Cache::is_one(path) {
            return Dataset::of_cache(&loader::known_cache(path, &load.asked, known)?, path, load);
        }
        Dataset::gather(path, load, |absent, gather| {
            loader::from_input(Input::open(path, &load.asked, Some(known))?, absent, load.as_f32, gather.see)
        })
    }

    fn gather(
        path: &Path,
        load: &Load,
        load_rows: impl FnOnce(Vec<bool>, Gather) -> Result<LoadInfo>,
    ) -> Result<(Dataset, Option<Vec<f64>>)> {
        let absent = load.weights.as_ref().map(SampleWeights::absent).unwrap_or_default();
        let present = load.offsets.as_ref().map(|offsets| offsets.of_present(&absent));
        let (all, vanished) = (RefCell::new(Parsed::default()), RefCell::new(Vanished::default()));
        // Untouched pages cost nothing, so reserving too much is better than reallocating.
        let likely =
            std::fs::metadata(path).map_or(0, |found| found.len() as usize / LEAST_PAIR).min(MOST_EXPECTED);
        // Under an address space limit, reserve at most a quarter of it, because other code needs addresses
        // too.
        let likely = memory::most_addresses().map_or(likely, |most| likely.min(most / 32));
        all.borrow_mut().rows.expect(likely, &simd::advise_huge_pages);
        let left = Left::now();
        let at_once = Cell::new(false); // whether all rows come in one block
        let announce = |bytes: usize| {
            left.check(bytes).and_then(|()| memory::ask_for(bytes, "the rows"))?;
            at_once.set(true);
            Ok(())
        };
        let see = &mut |block: &mut Parsed| {
            let mut all = all.borrow_mut();
            if at_once.get() && all.rows.is_empty() && !block.rows.is_empty() {
                all.append_besides_rows(block, [0, block.rows.len()]);
                std::mem::swap(&mut all.rows, &mut block.rows);
                return Ok(());
            }
            left.check(all.rows.bytes() + block.rows.bytes())?;
            if !all.rows.make_room(&block.rows, load.as_f32) {
                return Err(memory::out_of_memory("the rows"));
            }
            if load.as_f32 {
                vanished.borrow_mut().note(&block.rows, all.rows.nonzeros());
            }
            all.append(block, load.as_f32).map_err(|row| too_large(Place::file(path).line(all.lines.of(row))))
        };
        let start_over = &mut || {
            all.borrow_mut().clear_all();
            at_once.set(false);
            vanished.borrow_mut().clear();
        };
        let info = load_rows(absent, Gather { see, start_over, announce: Some(&announce) })?;
        let (LoadInfo { reading, feature_ids, order, notes }, mut parsed) = (info, all.into_inner());
        parsed.labels.unify_booleans();
        let kept = load.weights.as_ref().map(|weights| weights.of_rows(&parsed, path)).transpose()?;
        if let (Some(offsets), Some(present)) = (&load.offsets, present) {
            offsets.check_count(parsed.file_rows, path)?;
            let own = |(i, offset)| parsed.offset(i) + offset;
            parsed.offsets = present.into_iter().enumerate().map(own).collect();
        }
        reading.check(&feature_ids)?;
        load.declared.check(&feature_ids)?;
        let (rows, span) = (&mut parsed.rows, parsed.span);
        let mut features = Features::of(rows, feature_ids, order, span, load.declared, path)?;
        vanished.borrow().check(&parsed, &features, path)?;
        let idf_columns = reading.spec.text_columns(true);
        let found = scaling(&parsed.rows, &features, &reading, load.scale, &idf_columns)?;
        features.scaling = Arc::new(found);
        features.scaling.apply(&mut parsed.rows, load.as_f32);
        let mut data = Dataset::labelled(parsed, features, reading, path, 0)?;
        let (roles, many) = (data.reading.spec.roles_note(), data.many_categories());
        data.notes.splice(..0, notes.into_iter().chain(roles).chain(many));
        Ok((data, kept))
    }
}
