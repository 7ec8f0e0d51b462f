//! The size and shape of the sources: files that can be read at once, and one loop over epochs. These tests read the sources.

use super::arrows::{below, code, sources};
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

#[test]
fn one_file_has_the_loop_over_epochs() {
    let loops: Vec<String> = sources()
        .into_iter()
        .filter(|(name, text)| {
            !name.ends_with("tests.rs") && code(text).any(|line| line.contains("for epoch in"))
        })
        .map(|(name, _)| name)
        .collect();
    assert_eq!(loops, ["train/epoch_loop.rs"], "a solver is trained by the one loop over epochs");
}
