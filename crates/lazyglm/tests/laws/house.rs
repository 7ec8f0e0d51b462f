//! The size and shape of the sources: files that can be read at once, and one loop over epochs. These tests read the sources.

use super::arrows::{below, code};
use std::path::Path;

/// The largest number of lines of a source file.
const MOST_LINES: usize = 400;

/// The sources and tests of the library, the program and the wheel, by their path in the repository.
fn all_sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sources = ["crates/lazyglm/src", "crates/lazyglm-cli/src", "python/src", "python/lazyglm"];
    let tests = ["crates/lazyglm/tests", "crates/lazyglm-cli/tests", "python/tests", "python/tests_spark"];
    let of = |folder: &str| {
        let named = |(name, text)| (format!("{folder}/{name}"), text);
        below(&root.join(folder)).into_iter().map(named).collect::<Vec<_>>()
    };
    let source = |name: &String| name.ends_with(".rs") || name.ends_with(".py") || name.ends_with(".pyi");
    sources.into_iter().chain(tests).flat_map(of).filter(|(name, _)| source(name)).collect()
}

#[test]
fn no_source_file_is_longer_than_400_lines() {
    let all = all_sources();
    assert!(all.len() > 300, "found the sources: {}", all.len());
    let long: Vec<String> = all
        .iter()
        .map(|(name, text)| (name, text.lines().count()))
        .filter(|&(_, lines)| lines > MOST_LINES)
        .map(|(name, lines)| format!("{name}: {lines} lines"))
        .collect();
    assert!(long.is_empty(), "split these files: {long:#?}");
}

/// Files with a loop over epochs or passes, and what it is. Only the first one trains models.
const LOOPS: &[(&str, &str)] = &[
    ("crates/lazyglm/src/train/epoch_loop.rs", "the loop over epochs"),
    ("crates/lazyglm/src/optim/starting_rate.rs", "tries rates on a sample of the rows"),
    ("crates/lazyglm/src/train/heads/rate.rs", "the same for many heads"),
    ("crates/lazyglm/src/train/heads/lanes.rs", "writes the history of the epochs"),
    ("crates/lazyglm/src/optim/newton/start.rs", "passes within a Newton step"),
    ("crates/lazyglm/src/optim/newton/face.rs", "passes within a Newton step"),
    ("crates/lazyglm/src/optim/newton/ridge/cg.rs", "passes within a Newton step"),
    ("crates/lazyglm/src/optim/newton/multipliers/mod.rs", "dual coordinate ascent for losses with kinks"),
    ("crates/lazyglm/src/optim/softmax_newton/face.rs", "passes within a Newton step"),
];

/// Whether a line begins a loop, or an iterator, over epochs or passes.
fn loops_over_epochs(line: &str) -> bool {
    let line = line.trim();
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_string).collect()
    };
    let counts = ["epoch", "epochs", "pass", "passes", "max_iter", "n_epochs"];
    let names_one = |text: &str| words(text).iter().any(|word| counts.contains(&word.as_str()));
    let is_loop = (line.starts_with("for ") && line.contains(" in ")) || line.starts_with("while ");
    let range = line.split("..").skip(1).any(|end| {
        let end = end.trim_start_matches('=');
        let end = &end[..end.find(|c: char| !c.is_alphanumeric() && !"_.".contains(c)).unwrap_or(end.len())];
        counts.contains(&end.rsplit('.').next().unwrap_or_default())
    });
    (is_loop && names_one(line.split(" {").next().unwrap_or(line))) || (range && !line.contains("contains("))
}

#[test]
fn one_file_has_the_loop_over_epochs() {
    let yes = [
        "for epoch in 1..=most {",
        "while t < epochs {",
        "for _ in 0..settings.epochs {",
        "(0..passes).map(f)",
    ];
    assert!(yes.into_iter().all(loops_over_epochs));
    let no = [
        "for row in rows {",
        "Epochs { before, ..*epochs }",
        "if (1..=epochs).contains(&epoch) {",
        "let epochs = 5;",
    ];
    assert!(!no.into_iter().any(loops_over_epochs));
    let product =
        |name: &String| name.contains("/src/") && !name.ends_with("tests.rs") && name.ends_with(".rs");
    let mut found: Vec<String> = all_sources()
        .into_iter()
        .filter(|(name, text)| product(name) && code(text).any(loops_over_epochs))
        .map(|(name, _)| name)
        .collect();
    let mut known: Vec<&str> = LOOPS.iter().map(|(name, _)| *name).collect();
    found.sort();
    known.sort();
    assert_eq!(
        found, known,
        "a solver is trained by the one loop over epochs; other loops have their reason in LOOPS"
    );
}
