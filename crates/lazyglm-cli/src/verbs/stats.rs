//! `lazyglm stats DATA`: statistics of a data file.

use crate::args::Stats as Args;
use crate::plan;
use crate::print::{self, count, note};
use crate::progress::Waiting;
use crate::verbs::common::use_threads;
use lazyglm::Result;
use lazyglm::data::feature_ids::one_line;
use lazyglm::excerpt;
use lazyglm::stats::{ColumnStats, L1Max, Stats, TargetStats, stats};
use std::io::{self, Write};

/// Runs the verb.
pub fn run(args: &Args) -> Result<()> {
    let asked = plan::asked(&args.reading)?;
    use_threads(args.threads)?;
    let waiting = Waiting::new(args.quiet, "reading", &args.data);
    let found = stats(&args.data, &asked)?;
    drop(waiting);
    found.notes.iter().for_each(|text| note(args.quiet, text));
    print::result(|out| match args.json {
        true => writeln!(out, "{}", serde_json::to_value(&found)?),
        false => human(out, &found),
    })
}

fn human(out: &mut dyn Write, found: &Stats) -> io::Result<()> {
    writeln!(out, "format      {}", found.format)?;
    writeln!(out, "rows        {}", count(found.rows))?;
    features(out, found)?;
    columns(out, &found.columns)?;
    writeln!(out, "non-zeros   {}, density {:.3e}", count(found.nonzeros), found.density)?;
    let sizes = &found.row_nonzeros;
    writeln!(
        out,
        "per row     min {}, 25 % {}, 50 % {}, 75 % {}, 90 % {}, 99 % {}, max {} non-zeros",
        sizes.min, sizes.p25, sizes.p50, sizes.p75, sizes.p90, sizes.p99, sizes.max
    )?;
    if let Some(values) = &found.values {
        let whole = if values.whole { "all are whole numbers" } else { "not all are whole numbers" };
        let (ones, negative) = (percent(values.ones), percent(values.negative));
        let (min, max) = (values.min, values.max);
        writeln!(out, "values      {min} to {max}; {ones} are 1, {negative} are negative, {whole}")?;
    }
    targets(out, &found.targets)?;
    if let Some(weights) = &found.weights {
        let (min, max, mean) = (weights.min, weights.max, weights.mean);
        writeln!(out, "weights     {min} to {max}, mean {mean:.6}; {} are 0", count(weights.zero))?;
    }
    match found.duplicates {
        Some(1) => writeln!(out, "copies      1 row is a copy of an earlier row")?,
        Some(copies) => writeln!(out, "copies      {} rows are copies of an earlier row", count(copies))?,
        None => writeln!(out, "copies      not counted: some rows have no target")?,
    }
    match &found.l1_max {
        L1Max { value: Some(value), loss: Some(loss), .. } => {
            writeln!(
                out,
                "l1_max      {value:.6e} (loss {loss}): the smallest l1 at which all weights are zero"
            )
        }
        L1Max { why_not, .. } => writeln!(out, "l1_max      none: {}", why_not.as_deref().unwrap_or("")),
    }
}

/// Most columns of a table that are shown.
const COLUMNS: usize = 50;

fn columns(out: &mut dyn Write, columns: &[ColumnStats]) -> io::Result<()> {
    let name = |column: &ColumnStats| one_line(&column.name).into_owned();
    let wide = columns.iter().take(COLUMNS).map(|column| name(column).chars().count()).max().unwrap_or(0);
    for (k, column) in columns.iter().take(COLUMNS).enumerate() {
        let head = if k == 0 { "columns" } else { "" };
        let mut facts = Vec::new();
        facts.extend(column.missing.filter(|count| *count > 0).map(|n| format!("{} missing", count(n))));
        let more = if column.and_more { " or more" } else { "" };
        facts.extend(column.distinct.map(|n| format!("{}{more} distinct", count(n))));
        let examples: Vec<String> = column.examples.iter().map(|text| excerpt(&*one_line(text))).collect();
        facts.extend((!examples.is_empty()).then(|| format!("as {}", examples.join(", "))));
        let line = format!("{head:<11} {:<wide$}  {:<8} {}", name(column), column.kind, facts.join(", "));
        writeln!(out, "{}", line.trim_end())?;
    }
    match columns.len() > COLUMNS {
        true => writeln!(out, "            … and {} more", columns.len() - COLUMNS),
        false => Ok(()),
    }
}

fn features(out: &mut dyn Write, found: &Stats) -> io::Result<()> {
    let features = &found.features;
    let which = match (features.kind, features.lowest, features.highest) {
        ("indices", Some(lowest), Some(highest)) => format!("with indices from {lowest} to {highest}"),
        ("names", ..) => "with names".to_string(),
        (kind, ..) => format!("({kind})"),
    };
    let (once, constant) = (count(features.once), count(features.constant));
    writeln!(out, "features    {} occur, {which}", count(features.distinct))?;
    writeln!(out, "            {once} in one row only, {constant} with one value in all rows")
}

fn targets(out: &mut dyn Write, targets: &TargetStats) -> io::Result<()> {
    let (distinct, more) = (count(targets.distinct), if targets.and_more { " or more" } else { "" });
    match targets.kind {
        "none" => writeln!(out, "targets     none")?,
        kind => writeln!(out, "targets     {distinct}{more} distinct {kind}")?,
    }
    if targets.missing > 0 {
        writeln!(out, "            {} rows have none", count(targets.missing))?;
    }
    let name = |text: &str| one_line(text).into_owned();
    let wide = targets.classes.iter().map(|class| name(&class.target).chars().count()).max().unwrap_or(0);
    for class in &targets.classes {
        let (target, rows) = (name(&class.target), count(class.rows));
        writeln!(out, "            {target:<wide$}  {rows:>11}  {:>7}", percent(class.share))?;
    }
    if targets.distinct > targets.classes.len() as u64 && !targets.classes.is_empty() {
        writeln!(out, "            …")?;
    }
    if let Some(spread) = &targets.spread {
        let (min, p25, p50) = (spread.min, spread.p25, spread.p50);
        let (p75, max, mean) = (spread.p75, spread.max, spread.mean);
        writeln!(
            out,
            "            min {min}, 25 % {p25}, 50 % {p50}, 75 % {p75}, max {max}, mean {mean:.6}"
        )?;
        if spread.sampled {
            writeln!(out, "            (the quartiles are those of 1,000,000 targets drawn at random)")?;
        }
    }
    Ok(())
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
