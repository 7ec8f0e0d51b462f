//! Files that a training run reads besides its data: the model of a warm start, penalty factors, and bounds.

use crate::args::Train;
use crate::print::note;
use lazyglm::{Error, Model, PenaltyFactors, Problem, Result, Settings, WeightBounds, start_of};
use std::sync::Arc;

/// Returns the settings with the warm start, the penalty factors and the bounds, read from their files and mapped to
/// columns.
pub fn warm_start(args: &Train, problem: &dyn Problem, settings: &Settings) -> Result<Settings> {
    let mut settings = settings.clone();
    let (features, classes) = (problem.features(), problem.targets().classes());
    if let Some(file) = &args.start {
        let model = Model::load(file)?;
        let (kind, heads) = (model.heads.as_ref().map(|heads| heads.kind), problem.targets().heads());
        if model.classes.as_ref() != classes || kind != heads.map(|heads| heads.kind) {
            let what = format!("--start {}: it tells other classes apart than these data", file.display());
            return Err(Error::call(what, "give a model of the same classes"));
        }
        let names = heads.map_or(&[][..], |heads| heads.names);
        let (start, lost) = start_of(&model, features, names);
        if lost > 0 {
            note(
                args.quiet,
                &format!("{lost} weights of {} are of features that these data do not have", file.display()),
            );
        }
        settings.start = Some(Arc::new(start));
    }
    if let Some(file) = &args.penalty_factor {
        let (factors, strangers) = PenaltyFactors::read(file)?.on(features);
        if strangers > 0 {
            let text = format!(
                "{strangers} factors in {} are for features that these data do not have",
                file.display()
            );
            note(args.quiet, &text);
        }
        settings.factors = Some(Arc::new(factors));
    }
    let [lower, upper, exclude] = [&args.lower, &args.upper, &args.exclude].map(Option::as_deref);
    if let Some(bounds) = WeightBounds::parse(lower, upper, exclude)? {
        let (bounds, strangers) = bounds.on(features)?;
        if strangers > 0 {
            let text = format!(
                "{strangers} names in the files of --lower, --upper and --exclude are of features that these data do not have"
            );
            note(args.quiet, &text);
        }
        settings.bounds = Some(Arc::new(bounds));
    }
    Ok(settings)
}

/// Rejects a model of many classes or labels, for verbs that need a single set of weights.
pub fn one_head(model: Model) -> Result<Model> {
    match &model.heads {
        None => Ok(model),
        Some(heads) => Err(Error::call(
            format!("the model has {} classes or labels, and this is for models of one", heads.names.len()),
            "give a model of two classes or of numbers",
        )),
    }
}
