//! The arrows of ARCHITECTURE.md: who may import whom. This test reads the `use crate::` lines and says so.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Room → the rooms it may import. `error` may be imported by all.
const ARROWS: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("rows", &[]),
    ("report", &["solvers"]),
    ("solvers", &["loss", "registry"]),
    ("memory", &[]),
    ("number", &[]),
    ("random", &[]),
    ("files", &[]),
    ("source", &[]),
    ("registry", &[]),
    ("loss", &["registry"]),
    ("schedule", &["registry"]),
    ("penalty", &[]),
    ("shard", &["loss", "penalty", "random", "rows"]),
    ("settings", &["penalty", "schedule", "solvers"]),
    ("labels", &["number", "vocabulary"]),
    ("vocabulary", &[]),
    ("scan", &["random"]), // in its tests
    ("format", &["kernel", "labels", "number", "registry", "rows", "scan", "vocabulary"]),
    ("naming", &["format", "vocabulary"]),
    ("scaling", &["registry", "rows"]),
    ("features", &["format", "naming", "rows", "scaling"]),
    ("sample_weights", &["format", "number", "source"]),
    ("input", &["format", "naming", "reader", "registry", "source"]),
    ("cache", &["files", "format", "input", "labels", "naming", "rows", "source", "vocabulary"]),
    ("supply", &["cache", "files", "format", "input", "naming", "reader", "rows", "source"]),
    ("reader", &["format", "source"]),
    (
        "data",
        &[
            "cache",
            "features",
            "format",
            "input",
            "kernel",
            "labels",
            "memory",
            "naming",
            "rows",
            "sample_weights",
            "scaling",
            "supply",
        ],
    ),
    ("stats", &["data", "format", "labels", "naming", "number", "random", "supply"]),
    ("format_out", &["number", "registry", "vocabulary"]),
    (
        "convert",
        &["data", "files", "format", "format_out", "input", "naming", "source", "supply", "vocabulary"],
    ),
    ("task", &["data", "labels", "loss", "registry", "rows"]),
    ("blocks", &["loss", "objective", "random", "rows", "settings", "task"]),
    ("survey", &["cache", "labels", "naming", "supply"]),
    (
        "stream",
        &[
            "blocks",
            "cache",
            "data",
            "features",
            "format",
            "input",
            "labels",
            "loss",
            "naming",
            "objective",
            "random",
            "rows",
            "scaling",
            "settings",
            "solvers",
            "source",
            "supply",
            "survey",
            "task",
        ],
    ),
    ("ledger", &["penalty"]),
    ("update", &["rows"]),
    ("kernel", &["ledger", "penalty", "random", "rows", "update"]), // random: in its tests
    ("reference", &["penalty", "rows", "update"]),
    ("objective", &["heads", "loss", "penalty", "rows"]),
    ("heads", &["loss"]),
    ("metrics", &["heads", "loss"]),
    (
        "classes",
        &[
            "data",
            "format",
            "heads",
            "labels",
            "loss",
            "memory",
            "number",
            "objective",
            "penalty",
            "random",
            "registry",
            "report",
            "rows",
            "schedule",
            "settings",
            "solver",
            "solvers",
            "task",
            "trainer",
        ],
    ),
    ("solver", &["kernel", "loss", "penalty", "random", "rows", "schedule", "update"]),
    (
        "trainer",
        &[
            "blocks",
            "kernel",
            "loss",
            "memory",
            "objective",
            "penalty",
            "random",
            "reference",
            "registry",
            "report",
            "rows",
            "schedule",
            "settings",
            "shard",
            "solver",
            "solvers",
            "stream",
            "task",
            "tune",
            "update",
        ],
    ),
    ("tune", &["objective", "penalty", "random", "rows", "schedule", "settings", "solver", "task"]),
    (
        "model",
        &[
            "classes",
            "features",
            "heads",
            "input",
            "loss",
            "naming",
            "penalty",
            "report",
            "settings",
            "stream",
            "task",
            "trainer",
            "vocabulary",
        ],
    ),
    (
        "certify",
        &[
            "cache",
            "format",
            "input",
            "model",
            "naming",
            "objective",
            "penalty",
            "sample_weights",
            "scaling",
            "settings",
            "source",
            "start",
            "task",
            "vocabulary",
        ],
    ),
    ("start", &["features", "model", "naming", "number", "settings", "source"]),
    ("weights_file", &["model", "number", "source", "vocabulary"]),
    ("scorer", &["format", "model", "naming", "rows"]),
    ("model_file", &["files", "heads", "input", "loss", "model", "schedule", "vocabulary"]),
    ("synth", &["data", "features", "labels", "loss", "random", "rows", "task"]),
];

fn sources(folder: &Path, room: Option<&str>, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        if path.is_dir() {
            sources(&path, Some(room.unwrap_or(&name)), found);
        } else if name != "lib" {
            found.push((room.unwrap_or(&name).to_string(), fs::read_to_string(&path).unwrap()));
        }
    }
}

/// The rooms named after `crate::` in code (not in comments).
fn imports(text: &str) -> BTreeSet<String> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split("crate::").skip(1).map(str::to_string).collect::<Vec<_>>())
        .map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
        .collect()
}

#[test]
fn rooms_import_only_where_an_arrow_points() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), None, &mut files);
    assert!(files.len() > 40, "found the sources");
    for (room, text) in &files {
        let (_, allowed) = ARROWS
            .iter()
            .find(|(name, _)| name == room)
            .unwrap_or_else(|| panic!("a room without arrows: {room}"));
        for import in imports(text) {
            let fine = import == "error" || import == *room || allowed.contains(&import.as_str());
            assert!(fine, "{room} imports {import}: no arrow points there");
        }
    }
}

#[test]
fn arrows_make_no_circle() {
    // Taking away rooms that import nothing left must take away all.
    let mut left: Vec<_> = ARROWS.to_vec();
    while !left.is_empty() {
        let names: Vec<&str> = left.iter().map(|(name, _)| *name).collect();
        let before = left.len();
        left.retain(|(_, imports)| imports.iter().any(|import| names.contains(import)));
        assert!(left.len() < before, "a circle among {names:?}");
    }
}

#[test]
fn unsafe_lives_in_the_kernel_alone() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), None, &mut files);
    for (room, text) in files {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let blocks = code.filter(|line| line.contains("unsafe {")).count();
        assert!(blocks == 0 || room == "kernel", "unsafe in {room}");
    }
}
