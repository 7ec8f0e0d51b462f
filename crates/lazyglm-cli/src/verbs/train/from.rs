//! What `train` learns from: data read as the flags say, rows held out, one model or many.

use super::split::split;
use crate::args::Train;
use crate::plan::{self, HeldOut, Plan};
use crate::print::{count, note};
use crate::verbs::train_classes::Many;
use lazyglm::data::feature_ids::FeatureIds;
use lazyglm::data::format::ReadOptions;
use lazyglm::{
    CacheMode, Dataset, Declared, Error, Features, Load, Loss, Model, Precision, Progress, Result,
    SampleWeights, Scale, Settings, Stream, StreamOptions, Task, Trained,
};

/// What is learnt from: rows in memory, or a window of them at a time; and held-out rows.
pub enum From {
    /// All rows.
    Memory(Box<Task>, Option<Box<Task>>),
    /// A window.
    Stream(Box<Stream>, Option<Box<Task>>),
}

/// One model to learn, or one for each class or label.
pub(super) enum Prepared {
    One(From),
    Many(Box<Many>),
}

impl From {
    /// Reads the data where there is one model to learn.
    pub fn prepare(args: &Train, plan: &Plan) -> Result<From> {
        match Prepared::read(args, plan)? {
            Prepared::One(from) => Ok(from),
            Prepared::Many(_) => Err(Error::call(
                "there are more than two classes, or labels",
                "only `train` learns many at once: keep the rows of two classes, or give all but one the same name",
            )),
        }
    }
}

impl Prepared {
    /// Reads the data.
    pub fn read(args: &Train, plan: &Plan) -> Result<Prepared> {
        let declared = Declared { base: args.index_base, count: args.features.map(|n| n as usize) };
        let asked = ReadOptions { renumber: args.renumber, ..plan::asked(&args.reading)? };
        let cache = CacheMode::parse(&args.cache);
        let scale = Scale::parse(&args.scale)?;
        let many = args.multilabel || args.multiclass.is_some();
        let mut surveyed = None;
        if let Some(memory) = args.memory.filter(|_| !many) {
            let (loss, class_weight) = (plan.loss.clone(), plan.class_weight.clone());
            let (asked, cache) = (asked.clone(), cache.clone());
            let options = StreamOptions { asked, declared, cache, loss, class_weight, scale, memory };
            let stream = Stream::open(&args.data, &options, &plan.settings)?;
            if !stream.fits() {
                return From::stream(args, plan, stream).map(Prepared::One);
            }
            surveyed = Some(stream);
        }
        let weights = args.sample_weights.as_deref().map(SampleWeights::read).transpose()?;
        let narrow = plan.settings.precision == Precision::F32;
        let load = Load { asked, declared, weights, narrow, cache, scale };
        let (data, weights) = match &surveyed {
            Some(stream) => stream.load(&load)?, // a pipe cannot be read again; what was kept of it can
            None => Dataset::load(&args.data, &load)?,
        };
        if let Some((kind, word)) = plan.classes.kind(&data, plan.loss.as_deref())? {
            word.iter().for_each(|text| note(args.quiet, text));
            return Many::prepare(args, plan, data, kind, weights).map(|many| Prepared::Many(Box::new(many)));
        }
        let task = Task::new(data, plan.loss.clone(), weights, plan.class_weight.clone())?;
        task.notes.iter().for_each(|text| note(args.quiet, text));
        let fit_precision = |task: Task| if narrow { task.narrowed() } else { Ok(task) };
        let task = fit_precision(task)?;
        let (task, held_out) = match &plan.validation {
            None => (task, None),
            Some(HeldOut::Share(share)) => {
                let (kept, held_out) = split(&task, *share, args.seed)?;
                (kept, Some(held_out.unweighted()))
            }
            Some(HeldOut::File(path)) => {
                let held_out = task.like(Dataset::read_like(path, &task.data)?)?;
                held_out.notes.iter().for_each(|text| note(args.quiet, text));
                (task, Some(fit_precision(held_out)?))
            }
        };
        Ok(Prepared::One(From::Memory(Box::new(task), held_out.map(Box::new))))
    }
}

impl From {
    fn stream(args: &Train, plan: &Plan, stream: Stream) -> Result<From> {
        if args.sample_weights.is_some() {
            let hint = "put them into the data, as Vowpal Wabbit text has them, or raise --memory";
            return Err(Error::call("--sample-weights with more rows than --memory holds", hint));
        }
        stream.notes.iter().for_each(|text| note(args.quiet, text));
        if !stream.fits() {
            let windows = stream.windows();
            let text =
                format!("the rows do not fit into --memory: they are gone through in {windows} windows");
            note(args.quiet, &text);
        }
        let held_out = match &plan.validation {
            None => None,
            Some(HeldOut::File(path)) => Some(stream.held_out(path)?),
            Some(HeldOut::Share(_)) => {
                let hint = "give --validation a file of held-out rows, or raise --memory";
                return Err(Error::call("--validation with a share of more rows than --memory holds", hint));
            }
        };
        held_out.iter().flat_map(|task| &task.notes).for_each(|text| note(args.quiet, text));
        Ok(From::Stream(Box::new(stream), held_out.map(Box::new)))
    }

    pub fn train(&self, settings: &Settings, watch: &mut dyn FnMut(&Progress)) -> Result<Trained> {
        match self {
            From::Memory(task, held_out) => lazyglm::train(task, held_out.as_deref(), settings, watch),
            From::Stream(stream, held_out) => {
                lazyglm::train_stream(stream, held_out.as_deref(), settings, watch)
            }
        }
    }

    pub fn model(&self, settings: &Settings, trained: Trained) -> Model {
        match self {
            From::Memory(task, _) => Model::new(task, settings, trained),
            From::Stream(stream, _) => Model::of_stream(stream, settings, trained),
        }
    }

    pub fn loss(&self) -> &dyn Loss {
        match self {
            From::Memory(task, _) => &*task.loss,
            From::Stream(stream, _) => &*stream.loss,
        }
    }

    pub fn features(&self) -> &Features {
        match self {
            From::Memory(task, _) => &task.data.features,
            From::Stream(stream, _) => &stream.features,
        }
    }

    pub fn classes(&self) -> Option<&[String; 2]> {
        match self {
            From::Memory(task, _) => task.classes.as_ref(),
            From::Stream(stream, _) => stream.classes.as_ref(),
        }
    }

    /// With buckets: how many of those that have a weight stand for more than one name.
    pub fn collisions(&self, model: &Model) -> Option<String> {
        let naming = match self {
            From::Memory(task, _) => &task.data.features.naming,
            From::Stream(stream, _) => &stream.features.naming,
        };
        let FeatureIds::Buckets(buckets) = &**naming else { return None };
        let (weights, shared) = (
            model.features.len(),
            model.features.iter().filter(|&&bucket| buckets.is_shared(bucket)).count(),
        );
        let rate = 100.0 * shared as f64 / weights.max(1) as f64;
        Some(format!(
            "{} of the {} buckets with a weight stand for more than one feature ({rate:.2} %)",
            count(shared as u64),
            count(weights as u64)
        ))
    }
}
