//! The tables of the library, for the end of the help.

use lazyglm::{SOLVERS, format, format_out, loss, schedule};

/// The tables of losses and schedules, for the end of the help.
pub(super) fn names() -> String {
    type Keys<'a> = &'a [lazyglm::registry::Key];
    let line = |name: &str, formula: &str, keys: Keys, wide: usize| {
        let keys: Vec<String> = keys.iter().map(|key| format!("{}={}", key.name, key.default)).collect();
        let text = format!("  {name:<wide$} {formula:<45} {}", keys.join(", "));
        text.trim_end().to_string() + "\n"
    };
    let for_what = |make: loss::Make, keys: Keys| match make(&vec![None; keys.len()]).admits() {
        loss::Admits::Classes => "classes",
        loss::Admits::Reals => "numbers",
        loss::Admits::NonNegative => "counts",
    };
    let losses = loss::TABLE
        .iter()
        .map(|e| line(&format!("{} ({})", e.name, for_what(e.make, e.keys)), e.formula, e.keys, 38));
    let schedules = schedule::TABLE.iter().map(|e| line(e.name, e.formula, e.keys, 14));
    let solvers = SOLVERS.iter().map(|solver| format!("  {:<10} {}\n", solver.name, solver.about));
    let (formats, solvers) = (formats(), solvers.collect::<String>());
    let (losses, schedules): (String, String) = (losses.collect(), schedules.collect());
    format!(
        "Losses (s the score, y = ±1 or real, r = s − y), with their keys:\n{losses}\n\
         Schedules (t the rows learnt so far), with their keys:\n{schedules}\n\
         Solvers:\n{solvers}\n\
         Keys are given like this: --loss huber:delta=1.0 --schedule power:p=0.75,t0=1000\n\n\
         {formats}"
    )
}

/// The table of formats.
pub(super) fn formats() -> String {
    let line = |entry: &format::Entry| format!("  {:<10} {}\n", entry.name, entry.shape);
    format!("Formats, with a row of each:\n{}", format::TABLE.iter().map(line).collect::<String>())
}

/// The table of formats that can be written.
pub(super) fn formats_out() -> String {
    let line = |format: &format_out::Format| {
        let ending = format!(".{}", format.endings[0]);
        format!("  {:<10} {ending:<15} {}\n", format.name, format.about)
    };
    format!(
        "Formats to write, with their endings:\n{}",
        format_out::TABLE.iter().map(line).collect::<String>()
    )
}
