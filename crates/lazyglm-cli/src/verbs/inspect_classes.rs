//! `lazyglm inspect MODEL` for a model with many classes or labels: weights by class.

use crate::args::Inspect;
use crate::print::{self, count};
use lazyglm::data::feature_ids::one_line;
use lazyglm::{Heads, Model, Result};
use serde_json::json;
use std::borrow::Cow;
use std::io::{self, Write};

/// Default number of weights shown per class or label.
const TOP: usize = 5;
/// Default number of classes or labels shown.
const SHOWN: usize = 30;

/// Position of a feature among those with a weight, and the weight.
type Own = Vec<(usize, f64)>;

/// Prints the model.
pub fn run(args: &Inspect, model: &Model, heads: &Heads) -> Result<()> {
    let whole = args.all || (args.top.is_none() && (args.tsv || args.json));
    let by_head = by_head(model, heads, (!whole).then_some(args.top.unwrap_or(TOP)));
    print::result(|out| match (args.json, args.tsv) {
        (true, _) => writeln!(out, "{}", as_json(model, heads, &by_head)?),
        (_, true) => tsv(out, model, heads, &by_head),
        _ => human(out, args, model, heads, &by_head),
    })
}

/// The weights of each head: all in the order of features, or a number of the largest.
fn by_head(model: &Model, heads: &Heads, top: Option<usize>) -> Vec<Own> {
    let mut by_head = vec![Own::new(); heads.names.len()];
    for k in 0..model.features.len() {
        heads.span(k).for_each(|at| by_head[heads.ids[at] as usize].push((k, model.weights[at])));
    }
    if let Some(top) = top {
        for own in &mut by_head {
            own.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
            own.truncate(top);
        }
    }
    by_head
}

fn name(model: &Model, k: usize) -> Cow<'_, str> {
    model.name(k)
}

fn as_json(model: &Model, heads: &Heads, by_head: &[Own]) -> io::Result<serde_json::Value> {
    let head = |(k, own): (usize, &Own)| {
        let weights: Vec<_> =
            own.iter().map(|&(k, w)| json!({"feature": name(model, k), "weight": w})).collect();
        let threshold = heads.thresholds.as_ref().map(|of| of[k]);
        json!({"name": heads.names[k], "bias": heads.biases[k], "threshold": threshold, "weights": weights})
    };
    let each: Vec<_> = by_head.iter().enumerate().map(head).collect();
    Ok(json!({
        "loss": model.loss.spec(),
        "kind": serde_json::to_value(heads.kind)?,
        "index_base": model.counting.index_base,
        "features": model.counting.count,
        "nonzeros": model.weights.len(),
        heads.kind.nouns(): each,
        "training": serde_json::to_value(&model.training)?,
    }))
}

fn tsv(out: &mut dyn Write, model: &Model, heads: &Heads, by_head: &[Own]) -> io::Result<()> {
    for ((class, bias), own) in heads.names.iter().zip(&heads.biases).zip(by_head) {
        let class = one_line(class);
        writeln!(out, "{class}\t(bias)\t{bias:?}")?;
        for &(k, weight) in own {
            writeln!(out, "{class}\t{}\t{weight:?}", one_line(&name(model, k)))?;
        }
    }
    Ok(())
}

fn human(
    out: &mut dyn Write,
    args: &Inspect,
    model: &Model,
    heads: &Heads,
    by_head: &[Own],
) -> io::Result<()> {
    let (training, nouns) = (&model.training, heads.kind.nouns());
    let kind = format!("{:?}", heads.kind).to_lowercase();
    writeln!(out, "loss       {}, {kind}", model.loss.spec())?;
    writeln!(out, "{nouns:<10} {}", count(heads.names.len() as u64))?;
    let (features, some) = (count(model.counting.count as u64), count(model.features.len() as u64));
    let weights = count(model.weights.len() as u64);
    writeln!(out, "features   {features}, {some} with a weight; {weights} weights")?;
    writeln!(
        out,
        "trained    l1 {:?}, l2 {:?}, schedule {}, eta0 {:?}, {} epochs on {} rows",
        training.l1,
        training.l2,
        one_line(&training.schedule),
        training.report.eta0,
        training.report.epochs,
        count(training.report.rows as u64)
    )?;
    writeln!(out, "objective  {:.8}", training.report.objective)?;
    let shown = if args.all || args.top.is_some() { heads.names.len() } else { SHOWN };
    let named = by_head.iter().take(shown).flatten().map(|&(k, _)| one_line(&name(model, k)).chars().count());
    let width = named.max().unwrap_or(0).clamp(12, 60);
    for (k, own) in by_head.iter().enumerate().take(shown) {
        writeln!(out, "\n{}, bias {:+.6}", one_line(&heads.names[k]), heads.biases[k])?;
        for &(feature, weight) in own {
            writeln!(out, "{:>width$}  {weight:>+14.5e}", one_line(&name(model, feature)))?;
        }
    }
    if shown < heads.names.len() {
        writeln!(out, "\n{} more {nouns}: --top N or --tsv shows them all", heads.names.len() - shown)?;
    }
    Ok(())
}
