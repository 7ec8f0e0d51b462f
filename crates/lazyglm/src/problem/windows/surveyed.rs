//! A file and its survey, before it is known where its rows will be: in memory if they fit, else on disk.

use super::sizes::{
    Room, bytes_of_row, bytes_of_value, copies, fits_four_bytes, longest_record, room, rows_as_nonzeros,
    threads,
};
use super::{Windows, WindowsOptions, load_all, scaling};
use crate::data::cache::Cache;
use crate::data::dataset::{Dataset, Load, vanishes};
use crate::data::features::Features;
use crate::data::loader::{self, FileCache, Limits};
use crate::data::survey::Survey;
use crate::problem::heads::HeadKind;
use crate::problem::settings::{Precision, Settings};
use crate::problem::task::head_kind;
use crate::util::error::{Error, Place, Result};
use crate::util::parameter::Parameter;
use rayon::ThreadPool;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A data file that was surveyed within a memory limit.
///
/// ```
/// use lazyglm::{Load, Settings, WindowsOptions, problem::windows::Surveyed};
/// let file = std::env::temp_dir().join("lazyglm-doc-surveyed.svm");
/// std::fs::write(&file, "a 1:1\nb 2:1\nc 3:1\n").unwrap();
/// let options = WindowsOptions { memory: 1 << 26, ..Default::default() };
/// let surveyed = Surveyed::open(&file, &options, &Settings::default()).unwrap();
/// assert!(surveyed.fits());
/// assert_eq!(surveyed.load(&Load::default()).unwrap().0.rows.len(), 3);
/// assert_eq!(surveyed.windows(&options).unwrap().targets.heads().unwrap().names, ["a", "b", "c"]);
/// ```
pub struct Surveyed {
    pub(super) kept: FileCache,
    pub(super) survey: Survey,
    pub(super) features: Features,
    pub(super) heads: Option<(HeadKind, Option<String>)>, // with a note
    pub(super) file: PathBuf,
    pub(super) room: Room,
    pub(super) as_f32: bool,
    pub(super) four_bytes: bool,
    pub(super) of_row: usize, // bytes
    pub(super) copies: usize,
    pub(super) pool: ThreadPool,
}

impl Surveyed {
    /// Opens a file, makes its cache if there is none, and surveys the rows in one pass.
    pub fn open(path: &Path, options: &WindowsOptions, settings: &Settings) -> Result<Surveyed> {
        let threads = threads(options.memory);
        let limits = Limits { threads, longest: longest_record(options.memory, threads) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|e| {
            Error::call(
                format!("cannot start {threads} threads: {e}"),
                format!("lower {}", Parameter::Threads),
            )
        })?;
        let look = |cache: &Cache| {
            Survey::of(cache, path, threads, options.targets().splits(&cache.meta.reading.spec))
        };
        let (kept, survey) = loader::open_or_make(path, &options.asked, &options.cache, limits, look)?;
        let meta = &kept.cache.meta;
        let (asked, spec) = (options.targets(), &meta.reading.spec);
        let heads = head_kind(&survey.labels, survey.commas, spec, &asked)?;
        let in_sets = heads.as_ref().map(|_| survey.counts.iter().sum());
        if let Some(row) = meta.unlabelled.filter(|_| !is_of_labels(&heads)) {
            let what = format!("row {} has no target", row + 1);
            return Err(Error::data(Place::file(path), what, "give each row its target"));
        }
        let (feature_ids, order, span) =
            (kept.cache.feature_ids.clone(), kept.cache.order.clone(), meta.span);
        meta.reading.check(&feature_ids)?;
        let as_f32 = settings.precision == Precision::F32;
        if let Some(id) = survey.vanishing.filter(|_| as_f32) {
            return Err(vanishes(Place::file(path), &feature_ids.text(id)));
        }
        options.declared.check(&feature_ids)?;
        let mut features =
            Features::surveyed(feature_ids, order, span, options.declared, path, &survey.occurs)?;
        features.scaling =
            Arc::new(scaling(&kept.cache, &features, options.scale, &meta.reading.spec.text_columns(true))?);
        let room = room(
            options.memory,
            &features,
            &kept.cache,
            settings,
            heads.as_ref().map(|(kind, _)| (*kind, survey.labels.len())),
        )?;
        let four_bytes = fits_four_bytes(&features, &kept.cache, settings);
        let (file, copies) = (path.to_path_buf(), copies(settings));
        let of_row = bytes_of_row(&kept.cache, in_sets);
        Ok(Surveyed { kept, survey, features, heads, file, room, as_f32, four_bytes, of_row, copies, pool })
    }

    /// Whether all rows fit into the memory limit, with the copies that the solver needs.
    pub fn fits(&self) -> bool {
        let (bytes, Room { window, held }) = (bytes_of_value(self.four_bytes), &self.room);
        rows_as_nonzeros(self.copies, &self.kept.cache, self.of_row, self.four_bytes)
            <= 2 * (window / bytes) + held / bytes
    }

    /// Loads all rows into memory: from the file, or from the cache of a pipe, which can be read only once.
    pub fn load(&self, load: &Load) -> Result<(Dataset, Option<Vec<f64>>)> {
        load_all(&self.kept.cache, &self.file, load)
    }

    /// The rows on disk, to train on window by window.
    pub fn windows(self, options: &WindowsOptions) -> Result<Windows> {
        Windows::of_survey(self, options)
    }
}

fn is_of_labels(heads: &Option<(HeadKind, Option<String>)>) -> bool {
    heads.as_ref().is_some_and(|(kind, _)| *kind == HeadKind::Labels)
}
