//! Reads the training data and the held-out rows as the flags specify.

use super::split::split;
use crate::args::{ShowProgress, Train};
use crate::plan::{self, HeldOut, Plan};
use crate::print::{count, note, warning};
use crate::progress::Waiting;
use lazyglm::data::feature_ids::FeatureIds;
use lazyglm::data::format::ReadOptions;
use lazyglm::data::sample_weights::RowOffsets;
use lazyglm::problem::windows::Surveyed;
use lazyglm::{
    CacheMode, Dataset, Declared, Error, Load, Model, Precision, Problem, Progress, Result, SampleWeights,
    Scale, Settings, Task, Windows, WindowsOptions,
    train::{scaled_if_better, scaled_on_disk_if_better},
};

/// The rows to train on.
pub enum TrainingRows {
    /// All rows in memory.
    Memory(Box<Task>),
    /// Rows on disk, read window by window.
    Disk(Box<Windows>),
}

/// Rows in memory or on disk, and held-out rows.
pub struct TrainingData {
    /// The training rows.
    pub rows: TrainingRows,
    /// The held-out rows.
    pub held_out: Option<Task>,
}

impl TrainingData {
    /// Reads the training data, and the held-out rows if any are asked for.
    pub fn read(args: &Train, plan: &Plan) -> Result<TrainingData> {
        let _waiting = Waiting::new(args.progress() == ShowProgress::None, "reading", &args.data);
        let declared = Declared { base: args.index_base, count: args.features.map(|n| n as usize) };
        let asked = ReadOptions { renumber: args.renumber, ..plan::asked(&args.reading)? };
        let cache = CacheMode::parse(&args.cache);
        let scale = match args.scale.as_str() {
            "auto" => Scale::None, // until the rows are known
            name => Scale::parse(name)?,
        };
        if let (true, Some(HeldOut::File(path))) = (args.offset.is_some(), &plan.validation) {
            let what =
                format!("--offset is for the training rows: the offsets of {} are missing", path.display());
            let hint =
                "put offsets into both files (--offset-column), or give --validation a fraction of the rows";
            return Err(Error::call(what, hint));
        }
        // Read first, so that what is wrong with them is said before all rows are read for their survey.
        let weights = args.sample_weights.as_deref().map(SampleWeights::read).transpose()?;
        let offsets = args.offset.as_deref().map(RowOffsets::read).transpose()?;
        let counts =
            [weights.as_ref().map(|all| all.values.len()), offsets.as_ref().map(|all| all.values.len())];
        let rows = counts.into_iter().flatten().max().unwrap_or(0);
        if args.memory.is_some_and(|memory| rows > memory / LEAST_PER_ROW) {
            not_on_disk(args)?;
        }
        let mut surveyed = None;
        if let Some(memory) = args.memory {
            let (loss, class_weight) = (plan.loss.clone(), plan.class_weight.clone());
            let (heads, classify) = (plan.heads, args.task == Some(crate::args::Task::Classify));
            let (asked, cache) = (asked.clone(), cache.clone());
            let options =
                WindowsOptions { asked, declared, cache, loss, heads, classify, class_weight, scale, memory };
            let file = Surveyed::open(&args.data, &options, &plan.settings)?;
            if !file.fits() {
                return TrainingData::on_disk(args, plan, file.windows(&options)?);
            }
            surveyed = Some(file);
        }
        let as_f32 = plan.settings.precision == Precision::F32;
        let load = Load { asked, declared, weights, offsets, as_f32, cache, scale };
        let (data, weights) = match &surveyed {
            Some(file) => file.load(&load)?, // a pipe cannot be read twice, but its cache can
            None => Dataset::load(&args.data, &load)?,
        };
        let builder = Task::builder(data).loss(plan.loss.clone()).heads(plan.heads).sample_weights(weights);
        let builder = builder.class_weight(plan.class_weight.clone());
        let task = match args.task {
            Some(crate::args::Task::Classify) => builder.classify().build()?,
            _ => builder.build()?,
        };
        task.notes.iter().for_each(|text| note(args.quiet, text));
        let fit_precision = |task: Task| if as_f32 { task.rounded_to_f32() } else { Ok(task) };
        let task = fit_precision(task)?;
        let (task, held_out) = match &plan.validation {
            None => (task, None),
            Some(HeldOut::Share(share)) => {
                let (kept, held_out) = split(&task, *share, args.seed())?;
                (kept, Some(held_out.unweighted()))
            }
            Some(HeldOut::File(path)) => {
                let held_out = task.like(Dataset::read_like(path, &task.data)?)?;
                held_out.notes.iter().for_each(|text| note(args.quiet, text));
                if task.has_offsets() && !held_out.has_offsets() {
                    let text = "training rows have offsets, and held-out rows have none: their scores are without the offset";
                    warning(text);
                }
                (task, Some(fit_precision(held_out)?))
            }
        };
        Ok(TrainingData { rows: TrainingRows::Memory(Box::new(task)), held_out })
    }

    /// The data with counts replaced by their tf-idf, or with the numbers of a table in units of their standard deviation, if
    /// these predict held-out rows better.
    pub fn scaled_if_better(
        mut self,
        settings: &Settings,
        quiet: bool,
        watch: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<TrainingData> {
        match &mut self.rows {
            TrainingRows::Memory(task) => {
                let told = task.notes.len();
                let held_out = self.held_out.as_ref();
                let found = scaled_if_better(task, held_out, settings, watch)?;
                let Some((scaled, held_out)) = found else { return Ok(self) };
                (**task, self.held_out) = (scaled, held_out);
                task.notes[told..].iter().for_each(|text| note(quiet, text));
            }
            TrainingRows::Disk(windows) => {
                let told = windows.notes.len();
                scaled_on_disk_if_better(windows, &mut self.held_out, settings, watch)?;
                windows.notes[told..].iter().for_each(|text| note(quiet, text));
            }
        }
        Ok(self)
    }

    /// The training rows, wherever they are.
    pub fn problem(&self) -> &dyn Problem {
        match &self.rows {
            TrainingRows::Memory(task) => &**task,
            TrainingRows::Disk(windows) => &**windows,
        }
    }

    fn on_disk(args: &Train, plan: &Plan, windows: Windows) -> Result<TrainingData> {
        not_on_disk(args)?;
        windows.notes.iter().for_each(|text| note(args.quiet, text));
        let count = windows.count();
        let text = format!(
            "the rows do not fit into --memory: they are gone through in {count} windows, so the model may differ from one of \
             rows in memory"
        );
        note(args.quiet, &text);
        let held_out = match &plan.validation {
            None => None,
            Some(HeldOut::File(path)) => Some(windows.held_out(path)?),
            Some(HeldOut::Share(_)) => {
                let hint = "give --validation a file of held-out rows, or raise --memory";
                return Err(Error::call("--validation with a share of more rows than --memory holds", hint));
            }
        };
        held_out.iter().flat_map(|task| &task.notes).for_each(|text| note(args.quiet, text));
        Ok(TrainingData { rows: TrainingRows::Disk(Box::new(windows)), held_out })
    }

    /// A note for hashed features: how many buckets with a weight are shared by several names.
    pub fn collisions(&self, model: &Model) -> Option<String> {
        let FeatureIds::Buckets(buckets) = &*self.problem().features().feature_ids else { return None };
        let weights = model.features.len();
        let shared = model.features.iter().filter(|&&bucket| buckets.is_shared(bucket)).count();
        let rate = 100.0 * shared as f64 / weights.max(1) as f64;
        Some(format!(
            "{} of the {} buckets with a weight stand for more than one feature ({rate:.2} %)",
            count(shared as u64),
            count(weights as u64)
        ))
    }
}

/// Bytes that a row takes in memory at least: a target and where its non-zeros end.
const LEAST_PER_ROW: usize = 16;

/// Rejects weights and offsets in files of their own, for rows that do not fit into memory.
fn not_on_disk(args: &Train) -> Result<()> {
    if args.sample_weights.is_some() {
        let hint = "put them into the data, as Vowpal Wabbit text has them, or raise --memory";
        return Err(Error::call("--sample-weights with more rows than --memory holds", hint));
    }
    if args.offset.is_some() {
        let hint = "put the offsets into the data (--offset-column, or the base of Vowpal Wabbit text), or raise --memory";
        return Err(Error::call("--offset with more rows than --memory holds", hint));
    }
    Ok(())
}
