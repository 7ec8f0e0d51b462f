//! The tables of the library and of messages, as text for `lazyglm list`.

use crate::messages;
use clap::ValueEnum;
use lazyglm::data::format::{self, write};
use lazyglm::{Capabilities, Losses, Parameter, SOLVERS, Steps, TargetKind, loss, schedule};

/// A table that can be listed.
#[derive(Clone, Copy, ValueEnum)]
pub enum Table {
    /// Solvers and their capabilities
    Solvers,
    /// Losses, with their formulas and keys
    Losses,
    /// Learning-rate schedules, with their formulas and keys
    Schedules,
    /// Data formats
    Formats,
    /// Names of notes and warnings, for --silence
    Messages,
}

impl Table {
    /// The table as text.
    pub fn text(self) -> String {
        match self {
            Table::Solvers => format!("{}\n{}", solvers(), capabilities()),
            Table::Losses => losses(),
            Table::Schedules => schedules(),
            Table::Formats => format!("{}\n{}", formats(), formats_out()),
            Table::Messages => messages::table(),
        }
    }
}

type Keys<'a> = &'a [lazyglm::util::registry::Key];

fn line(name: &str, formula: &str, keys: Keys, wide: usize) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("{}={}", key.name, key.default)).collect();
    let text = format!("  {name:<wide$} {formula:<45} {}", keys.join(", "));
    text.trim_end().to_string() + "\n"
}

fn losses() -> String {
    let for_what = |make: loss::Make, keys: Keys| match make(&vec![None; keys.len()]).admits() {
        loss::Admits::Classes => "classes",
        loss::Admits::Reals => "numbers",
        loss::Admits::NonNegative => "y >= 0",
        loss::Admits::Positive => "y > 0",
    };
    let lines = loss::TABLE
        .iter()
        .map(|e| line(&format!("{} ({})", e.name, for_what(e.make, e.keys)), e.formula, e.keys, 38));
    format!(
        "Losses (s the score, y = ±1 or real, r = s − y), with their keys:\n{}",
        lines.collect::<String>()
    )
}

fn schedules() -> String {
    let lines = schedule::TABLE.iter().map(|e| line(e.name, e.formula, e.keys, 14));
    format!("Schedules (t the rows learnt so far), with their keys:\n{}", lines.collect::<String>())
}

fn solvers() -> String {
    let line = |row: &Capabilities| format!("  {:<10} {}\n", row.solver.name(), row.about);
    format!("Solvers:\n{}", SOLVERS.iter().map(line).collect::<String>())
}

/// The capabilities of each solver, one column per capability.
fn capabilities() -> String {
    const COLUMNS: [(Option<Parameter>, &str); 9] = [
        (None, "solver"),
        (None, "losses"),
        (None, "targets"),
        (Some(Parameter::Memory), "rows on disk"),
        (Some(Parameter::Start), "start"),
        (Some(Parameter::PenaltyFactor), "factors"),
        (Some(Parameter::Nonnegative), "bounds"),
        (Some(Parameter::Runs), "runs"),
        (Some(Parameter::Tolerance), "tolerance"),
    ];
    let cells = |row: &Capabilities, heads: bool| {
        let losses = match row.losses {
            Losses::Any => "any",
            _ => "smooth, bounded curvature",
        };
        let (name, targets, kind) = match heads {
            false => (row.solver.name(), "numbers, two classes", TargetKind::Single),
            true => ("", "more classes, labels", TargetKind::Classes),
        };
        let texts = [name, if heads { "" } else { losses }, targets];
        let yes = |able: bool| if able { "yes" } else { "no" };
        let (mut cells, steps) = (texts.map(str::to_string).to_vec(), steps(row, kind));
        let parameters = COLUMNS.iter().filter_map(|(parameter, _)| *parameter);
        cells.extend(parameters.map(|parameter| yes(row.supports(parameter, Some(kind))).to_string()));
        cells.push(steps);
        cells
    };
    let mut lines = vec![COLUMNS.iter().map(|(_, name)| name.to_string()).collect::<Vec<_>>()];
    lines[0].push("settings of steps".to_string());
    for row in SOLVERS {
        lines.push(cells(row, false));
        lines.extend(row.targets.contains(&TargetKind::Classes).then(|| cells(row, true)));
    }
    let wide = |k: usize| lines.iter().map(|line| line[k].len()).max().unwrap_or(0);
    let wide: Vec<usize> = (0..lines[0].len()).map(wide).collect();
    let text = |line: &Vec<String>| {
        let cells: Vec<String> =
            line.iter().zip(&wide).map(|(cell, wide)| format!("{cell:<wide$}")).collect();
        format!("  {}\n", cells.join("  ").trim_end())
    };
    format!(
        "Capabilities of each solver. Other combinations are errors; a setting that is ignored, and a --tolerance that is not\n\
         supported, give a warning. With rows on disk, auto trains more classes and labels by sgd, and supports what sgd does:\n{}",
        lines.iter().map(text).collect::<String>()
    )
}

/// The settings of stochastic steps that a solver uses for these targets.
fn steps(row: &Capabilities, kind: TargetKind) -> String {
    let all = [Parameter::Method, Parameter::Schedule, Parameter::Update, Parameter::Average];
    let some: Vec<&str> =
        all.into_iter().filter(|&one| row.supports(one, Some(kind))).map(Parameter::name).collect();
    match row.steps {
        Steps::None => "ignored".to_string(),
        _ if some.is_empty() => "none".to_string(),
        _ => some.join(", "),
    }
}

/// The table of formats.
fn formats() -> String {
    let line = |entry: &format::Entry| format!("  {:<10} {}\n", entry.name, entry.shape);
    format!("Formats, with an example of a row:\n{}", format::TABLE.iter().map(line).collect::<String>())
}

/// The table of formats that can be written.
fn formats_out() -> String {
    let line = |format: &write::Format| {
        let ending = format!(".{}", format.endings[0]);
        format!("  {:<10} {ending:<15} {}\n", format.name, format.about)
    };
    format!("Formats to write, with their endings:\n{}", write::TABLE.iter().map(line).collect::<String>())
}
