//! `lazyglm certify MODEL DATA`: a certified bound on the distance of a model from the optimum.

use crate::args::Certify;
use crate::print::{self, count, note};
use crate::warm_start::one_head;
use lazyglm::data::feature_ids::one_line;
use lazyglm::data::sample_weights::RowOffsets;
use lazyglm::{
    ClassWeight, ElasticNet, Error, Model, PenaltyFactors, Proved, Result, SampleWeights, Scale,
    with_weights_of,
};
use serde_json::json;
use std::io::{self, Write};

/// Runs the verb.
pub fn run(args: &Certify) -> Result<()> {
    let model = one_head(Model::load(&args.model)?)?;
    let model = match &args.weights {
        Some(file) => with_weights_of(&model, file)?,
        None => model,
    };
    if args.weights.is_some() && !model.training.bias && model.bias != 0.0 {
        let what = "the weights have a bias, and the model was trained with --no-bias";
        return Err(Error::call(what, "take the line (bias) out, or give a model of the same problem"));
    }
    let penalty =
        ElasticNet::new(args.l1.unwrap_or(model.training.l1), args.l2.unwrap_or(model.training.l2))?;
    let certify = lazyglm::Certify {
        format: args.format.clone(),
        penalty,
        factors: args.penalty_factor.as_deref().map(PenaltyFactors::read).transpose()?,
        nonnegative: args.nonnegative,
        scale: Scale::parse(&args.scale)?,
        sample_weights: args.sample_weights.as_deref().map(SampleWeights::read).transpose()?,
        offsets: args.offset.as_deref().map(RowOffsets::read).transpose()?,
        class_weight: args.class_weight.as_deref().map(ClassWeight::parse).transpose()?,
    };
    let unweighted = certify.sample_weights.is_none() && certify.class_weight.is_none();
    if model.training.weighted && unweighted {
        note(args.quiet, "rows had weights in training: if they are not in the data, give them here too");
    }
    if model.training.offsets && certify.offsets.is_none() {
        note(
            args.quiet,
            "rows had offsets in training: if they are not in the data, give them with --offset",
        );
    }
    if args.nonnegative && model.weights.iter().any(|weight| *weight < 0.0) {
        return Err(Error::call(
            "--nonnegative does not hold: some weights are below zero",
            "leave --nonnegative out",
        ));
    }
    let proved = certify.run(&model, &args.data)?;
    let figures = &proved.certificate;
    print::result(|out| match args.json {
        true => writeln!(
            out,
            "{}",
            json!({
                "objective": figures.objective,
                "dual": figures.dual,
                "relative_gap": figures.relative_gap,
                "kkt": figures.kkt,
                "worst": proved.worst,
                "l1": penalty.l1,
                "l2": penalty.l2,
                "rows": proved.rows,
            })
        ),
        false => human(out, &proved, penalty),
    })
}

fn human(out: &mut dyn Write, proved: &Proved, penalty: ElasticNet) -> io::Result<()> {
    let figures = &proved.certificate;
    let (l1, l2, rows) = (penalty.l1, penalty.l2, count(proved.rows as u64));
    writeln!(out, "objective  {:.10} on {rows} rows, l1 {l1:?}, l2 {l2:?}", figures.objective)?;
    match (figures.dual, figures.relative_gap) {
        (Some(dual), Some(gap)) => {
            writeln!(out, "dual       {dual:.10}: a lower bound on the objective")?;
            writeln!(out, "gap        {gap:.3e} of the objective at most")?;
        }
        _ => writeln!(out, "dual       none: without a penalty there is no such bound")?,
    }
    match &proved.worst {
        Some(worst) => writeln!(out, "violation  {:.3e}, at {}", figures.kkt, one_line(worst)),
        None => writeln!(out, "violation  0"),
    }
}
