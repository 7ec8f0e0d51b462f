//! A file and its survey, before it is known where its rows will be: in memory if they fit, else on disk.

use super::sizes::{
    Room, bytes_of_row, bytes_of_value, copies, fits_four_bytes, longest_record, room, rows_as_nonzeros,
    threads,
};
use super::{Windows, WindowsOptions, load_all, scaling};
use crate::data::bytes::is_stream;
use crate::data::cache::Cache;
use crate::data::dataset::{Dataset, Load, vanishes};
use crate::data::features::Features;
use crate::data::loader::{self, FileCache, Limits};
use crate::data::read_config::ReadConfig;
use crate::data::survey::Survey;
use crate::problem::heads::HeadKind;
use crate::problem::settings::{Precision, Settings};
use crate::problem::task::{Targets, head_kind};
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
        Surveyed::open_as(path, options, settings, None)
    }

    /// Like [`Surveyed::open`], where rows are read as the training data of a model were, if it is `known` how.
    pub(crate) fn open_as(
        path: &Path,
        options: &WindowsOptions,
        settings: &Settings,
        known: Option<&ReadConfig>,
    ) -> Result<Surveyed> {
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
        let (kept, survey) = match known {
            None => loader::open_or_make(path, &options.asked, &options.cache, limits, look)?,
            Some(known) => {
                let cache = loader::open_or_make_as(path, &options.asked, known, limits)?;
                let survey = look(&cache)?;
                (FileCache { cache, notes: Vec::new() }, survey)
            }
        };
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
        Windows::of_survey(self, options, None)
    }

    /// The rows on disk, with targets like these. More than two classes are an error, with the memory that they need.
    pub(crate) fn windows_like(self, options: &WindowsOptions, targets: &Targets) -> Result<Windows> {
        match targets.heads().is_some() {
            true => Err(self.many_classes(options.memory)),
            false => Windows::of_survey(self, options, Some(targets)),
        }
    }

    /// Loads all rows into memory, read as the training data of a model were.
    pub(crate) fn load_as(&self, load: &Load, known: &ReadConfig) -> Result<(Dataset, Option<Vec<f64>>)> {
        match is_stream(&self.file) {
            true => Dataset::of_cache(&self.kept.cache, &self.file, load),
            false => Dataset::load_as(&self.file, load, known),
        }
    }

    fn many_classes(&self, memory: usize) -> Error {
        let bytes = bytes_of_value(self.four_bytes);
        let rows = rows_as_nonzeros(self.copies, &self.kept.cache, self.of_row, self.four_bytes) * bytes;
        let others = memory.saturating_sub(2 * self.room.window + self.room.held);
        let least = (others + rows).div_ceil(1 << 20);
        let given = Parameter::Memory.set(format!("{}M", memory >> 20));
        let what = format!(
            "there are more than two classes, whose certificate needs all rows in memory: at least {least} MB, and the limit is {given}"
        );
        let hint = format!(
            "give {} or more, or leave {} out",
            Parameter::Memory.set(format!("{least}M")),
            Parameter::Memory
        );
        Error::data(Place::file(&self.file), what, hint)
    }
}

fn is_of_labels(heads: &Option<(HeadKind, Option<String>)>) -> bool {
    heads.as_ref().is_some_and(|(kind, _)| *kind == HeadKind::Labels)
}
