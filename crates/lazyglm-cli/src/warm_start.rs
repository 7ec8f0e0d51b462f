//! What a run takes from files besides its data: a model to start from, factors of the penalty.

use crate::args::Train;
use crate::print::note;
use lazyglm::{Error, Model, PenaltyFactors, Problem, Result, Settings, start_of};
use std::sync::Arc;

/// The settings, with what stands in files laid out on the columns of the data.
pub fn warm_start(args: &Train, problem: &dyn Problem, settings: &Settings) -> Result<Settings> {
    let mut settings = settings.clone();
    let (features, classes) = (problem.features(), problem.targets().classes());
    if let Some(file) = &args.start {
        let model = one_head(Model::load(file)?)?;
        if model.classes.as_ref() != classes {
            let what = format!("--start {}: it tells other classes apart than these data", file.display());
            return Err(Error::call(what, "give a model of the same classes"));
        }
        let (mut start, lost) = start_of(&model, features);
        if lost > 0 {
            note(
                args.quiet,
                &format!("{lost} weights of {} are of features that these data do not have", file.display()),
            );
        }
        if args.nonnegative {
            start.weights.iter_mut().for_each(|weight| *weight = weight.max(0.0));
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
    Ok(settings)
}

/// Refuses a model of many classes or labels where one set of weights is needed.
pub fn one_head(model: Model) -> Result<Model> {
    match &model.heads {
        None => Ok(model),
        Some(heads) => Err(Error::call(
            format!("the model has {} classes or labels, and this is for models of one", heads.names.len()),
            "give a model of two classes or of numbers",
        )),
    }
}
