//! `lazyglm certify MODEL DATA`: a certified bound on the distance of a model from the optimum.

use crate::args::Certify;
use crate::print::{self, count, note};
use crate::progress::Waiting;
use crate::verbs::common::use_threads;
use crate::warm_start::one_head;
use lazyglm::data::feature_ids::one_line;
use lazyglm::data::sample_weights::RowOffsets;
use lazyglm::objective::Certificate;
use lazyglm::{
    ClassWeight, ElasticNet, Error, Model, PenaltyFactors, Proved, Result, SampleWeights, Scale,
    WeightBounds, with_weights_of,
};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Runs the verb.
pub fn run(args: &Certify) -> Result<()> {
    use_threads(args.threads)?;
    let model = Model::load(&args.model)?;
    let model = match &args.weights {
        Some(file) => with_weights_of(&one_head(model)?, file)?,
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
        bounds: WeightBounds::parse(args.lower.as_deref(), args.upper.as_deref(), args.exclude.as_deref())?,
        scale: Scale::parse(&args.scale)?,
        sample_weights: args.sample_weights.as_deref().map(SampleWeights::read).transpose()?,
        offsets: args.offset.as_deref().map(RowOffsets::read).transpose()?,
        class_weight: args.class_weight.as_deref().map(ClassWeight::parse).transpose()?,
        memory: args.memory,
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
    let waiting = Waiting::new(args.quiet, "certifying the model on", &args.data);
    let proved = certify.run(&model, &args.data)?;
    drop(waiting);
    if let Some(passes) = proved.passes {
        note(args.quiet, &on_disk(passes, model.loss.has_kinks()));
    }
    let nouns = model.heads.as_ref().map_or("", |heads| heads.kind.nouns());
    print::result(|out| match args.json {
        true => writeln!(out, "{}", json(&proved, penalty)),
        false => human(out, &proved, penalty, nouns),
    })
}

/// A note about rows that were read from disk.
fn on_disk(passes: u64, kinks: bool) -> String {
    let passes = if passes == 1 { "one pass".to_string() } else { format!("{passes} passes") };
    let how = format!("the rows do not fit into --memory: they were read from disk in {passes}");
    match kinks {
        true => format!(
            "{how}, and the lower bound of a loss with kinks is loose there; raise --memory for a tighter one"
        ),
        false => how,
    }
}

fn json(proved: &Proved, penalty: ElasticNet) -> Value {
    let figures = &proved.certificate;
    let mut all = json!({
        "objective": figures.objective,
        "dual": figures.dual,
        "relative_gap": figures.relative_gap,
        "kkt": figures.kkt,
        "worst": proved.worst,
        "l1": penalty.l1,
        "l2": penalty.l2,
        "rows": proved.rows,
    });
    if let Some(passes) = proved.passes {
        all["passes"] = passes.into();
    }
    let one = |(name, head): &(String, Certificate)| {
        json!({
            "name": name,
            "objective": head.objective,
            "dual": head.dual,
            "relative_gap": head.relative_gap,
            "kkt": head.kkt,
        })
    };
    if !proved.heads.is_empty() {
        all["heads"] = proved.heads.iter().map(one).collect();
    }
    all
}

/// Number of heads that are printed.
const SHOWN: usize = 10;

fn human(out: &mut dyn Write, proved: &Proved, penalty: ElasticNet, nouns: &str) -> io::Result<()> {
    let figures = &proved.certificate;
    let (l1, l2, rows) = (penalty.l1, penalty.l2, count(proved.rows as u64));
    let objective = print::decimals(figures.objective, 10);
    writeln!(out, "objective  {objective} on {rows} rows, l1 {l1:?}, l2 {l2:?}")?;
    match (figures.dual, figures.relative_gap) {
        (Some(dual), Some(gap)) => {
            writeln!(out, "dual       {}: a lower bound on the objective", print::decimals(dual, 10))?;
            writeln!(out, "gap        {gap:.3e} of the objective at most")?;
        }
        _ => writeln!(out, "dual       none: without a penalty there is no such bound")?,
    }
    match &proved.worst {
        Some(worst) => writeln!(out, "violation  {:.3e}, at '{}'", figures.kkt, one_line(worst))?,
        None => writeln!(out, "violation  0")?,
    }
    heads(out, &proved.heads, nouns)
}

/// Prints the heads with the largest gaps, or with the largest violations if they have no gaps of their own.
fn heads(out: &mut dyn Write, heads: &[(String, Certificate)], nouns: &str) -> io::Result<()> {
    let mut sorted: Vec<_> = heads.iter().collect();
    let distance = |head: &Certificate| head.relative_gap.unwrap_or(head.kkt);
    sorted.sort_by(|a, b| distance(&b.1).total_cmp(&distance(&a.1)));
    if sorted.len() > SHOWN {
        writeln!(out, "{nouns:9}  the {SHOWN} farthest from the optimum, of {}", count(sorted.len() as u64))?;
    }
    for (name, head) in sorted.into_iter().take(SHOWN) {
        let (name, objective) = (one_line(name), print::decimals(head.objective, 10));
        match head.relative_gap {
            Some(gap) => writeln!(out, "  {name}: objective {objective}, gap {gap:.3e}")?,
            None => writeln!(out, "  {name}: objective {objective}, violation {:.3e}", head.kkt)?,
        }
    }
    Ok(())
}
