//! The tables of the library: for `lazyglm list`, and for the end of the help.

use clap::ValueEnum;
use lazyglm::{Capabilities, Losses, SOLVERS, TargetKind, data::format, data::format::write, loss, schedule};

/// A table that can be listed.
#[derive(Clone, Copy, ValueEnum)]
pub enum Table {
    /// Solvers, and what each of them can do.
    Solvers,
    /// Losses, with their formulas and keys.
    Losses,
    /// Schedules of the learning rate, with their formulas and keys.
    Schedules,
    /// Formats of data.
    Formats,
}

impl Table {
    /// The table as text.
    pub fn text(self) -> String {
        match self {
            Table::Solvers => format!("{}\n{}", solvers(), capabilities()),
            Table::Losses => losses(),
            Table::Schedules => schedules(),
            Table::Formats => format!("{}\n{}", formats(), formats_out()),
        }
    }
}

/// The tables of `train`, for the end of its help.
pub(super) fn names() -> String {
    format!(
        "{}\n{}\n{}\nKeys are given like this: --loss huber:delta=1.0 --schedule power:p=0.75,t0=1000\n\n{}",
        losses(),
        schedules(),
        solvers(),
        formats()
    )
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
        loss::Admits::NonNegative => "counts",
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

/// What each solver can do, a column for each thing.
fn capabilities() -> String {
    let head = [
        "solver",
        "losses",
        "targets",
        "more rows than memory",
        "factors",
        "nonnegative",
        "runs",
        "tolerance",
    ];
    let yes = |able: bool| if able { "yes" } else { "no" }.to_string();
    let row = |row: &Capabilities| {
        let losses = match row.losses {
            Losses::Any => "any",
            Losses::Smooth => "smooth",
            _ => "smooth, bounded curvature",
        };
        let many = row.targets.contains(&TargetKind::Classes);
        let targets = if many { "numbers, classes, labels" } else { "numbers, two classes" };
        [
            row.solver.to_string(),
            losses.to_string(),
            targets.to_string(),
            yes(row.on_disk),
            yes(row.factors),
            yes(row.bounds),
            yes(row.runs),
            yes(row.tolerance),
        ]
    };
    let lines: Vec<[String; 8]> =
        [head.map(str::to_string)].into_iter().chain(SOLVERS.iter().map(row)).collect();
    let wide: Vec<usize> =
        (0..8).map(|k| lines.iter().map(|line| line[k].len()).max().unwrap_or(0)).collect();
    let text = |line: &[String; 8]| {
        let cells: Vec<String> =
            line.iter().zip(&wide).map(|(cell, wide)| format!("{cell:<wide$}")).collect();
        format!("  {}\n", cells.join("  ").trim_end())
    };
    format!(
        "What they can do (a combination that is not there is refused):\n{}",
        lines.iter().map(text).collect::<String>()
    )
}

/// The table of formats.
pub(super) fn formats() -> String {
    let line = |entry: &format::Entry| format!("  {:<10} {}\n", entry.name, entry.shape);
    format!("Formats, with a row of each:\n{}", format::TABLE.iter().map(line).collect::<String>())
}

/// The table of formats that can be written.
pub(super) fn formats_out() -> String {
    let line = |format: &write::Format| {
        let ending = format!(".{}", format.endings[0]);
        format!("  {:<10} {ending:<15} {}\n", format.name, format.about)
    };
    format!("Formats to write, with their endings:\n{}", write::TABLE.iter().map(line).collect::<String>())
}
