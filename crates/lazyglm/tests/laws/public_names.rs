//! The public names of the library, pinned: a change of the list is seen in review.

/// The names that `cargo doc` shows at the root of the crate, in alphabetical order.
const PUBLIC: &[&str] = &[
    "CacheMode",
    "Certify",
    "ClassWeight",
    "Dataset",
    "Declared",
    "ElasticNet",
    "Epoch",
    "Error",
    "Examples",
    "Features",
    "Head",
    "HeadKind",
    "HeadReport",
    "HeadsReport",
    "Kind",
    "Labels",
    "Load",
    "Loss",
    "Method",
    "Model",
    "Order",
    "Output",
    "Parameter",
    "PenaltyFactors",
    "Place",
    "Precision",
    "Prediction",
    "Problem",
    "Progress",
    "Proved",
    "ReadOptions",
    "Report",
    "Result",
    "Rows",
    "RowsRef",
    "SampleWeights",
    "Scale",
    "Scorer",
    "Settings",
    "Solver",
    "Stage",
    "Start",
    "Stop",
    "Targets",
    "Task",
    "TaskBuilder",
    "Trained",
    "Tried",
    "UpdateName",
    "Validation",
    "ValuesRef",
    "WeightBounds",
    "Windows",
    "WindowsOptions",
    "convert",
    "loss",
    "objective",
    "rate",
    "schedule",
    "search",
    "start_of",
    "stats",
    "synth",
    "train",
    "with_weights_of",
];

/// The names of the `pub use` lines of lib.rs that are not hidden.
fn public_names() -> Vec<String> {
    let source = include_str!("../../src/lib.rs");
    let mut names = Vec::new();
    let mut hidden = false;
    for statement in source.lines().filter(|line| !line.trim_start().starts_with("//")) {
        if let Some(path) = statement.strip_prefix("pub use ").and_then(|rest| rest.strip_suffix(';'))
            && !hidden
        {
            let (prefix, list) = path.split_once('{').unwrap_or(("", path));
            let module = prefix.trim_end_matches("::").rsplit("::").next().unwrap_or_default();
            for name in list.trim_end_matches('}').split(',').map(str::trim) {
                let name = if name == "self" { module } else { name.rsplit("::").next().unwrap_or(name) };
                names.push(name.to_string());
            }
        }
        hidden = statement == "#[doc(hidden)]";
    }
    names.sort();
    names
}

#[test]
fn the_public_names_are_these() {
    assert_eq!(
        public_names(),
        PUBLIC,
        "a name was added or removed: change the list if that is what you want"
    );
}

/// The signatures of public functions in the files of public names.
fn public_signatures(source: &str) -> Vec<String> {
    let mut parts = source.split("\n    pub fn ").chain(source.split("\npub fn ").skip(1));
    parts.next();
    parts.filter_map(|part| part.split_once(" {")).map(|(signature, _)| signature.to_string()).collect()
}

#[test]
fn no_public_function_takes_a_bool_or_returns_one_among_others() {
    let files = [
        include_str!("../../src/data/features.rs"),
        include_str!("../../src/data/sample_weights.rs"),
        include_str!("../../src/eval/objective/gap.rs"),
        include_str!("../../src/eval/objective/mod.rs"),
        include_str!("../../src/model/mod.rs"),
        include_str!("../../src/model/scorer.rs"),
        include_str!("../../src/problem/loss/mod.rs"),
        include_str!("../../src/problem/penalty/mod.rs"),
        include_str!("../../src/problem/schedule/mod.rs"),
        include_str!("../../src/problem/settings.rs"),
        include_str!("../../src/problem/solvers.rs"),
        include_str!("../../src/problem/task/mod.rs"),
        include_str!("../../src/train/certify/mod.rs"),
        include_str!("../../src/train/search/grid.rs"),
        include_str!("../../src/train/search/mod.rs"),
        include_str!("../../src/train/sgd.rs"),
        include_str!("../../src/train/solvers.rs"),
    ];
    let all: Vec<String> = files.iter().flat_map(|source| public_signatures(source)).collect();
    assert!(all.len() > 60, "found the signatures: {}", all.len());
    let alone = |signature: &String| signature.trim_end().trim_end_matches("-> bool").to_string();
    let with: Vec<&String> = all.iter().filter(|signature| alone(signature).contains("bool")).collect();
    assert!(with.is_empty(), "give an enum or a struct instead: {with:#?}");
}

#[test]
fn nothing_else_at_the_root_is_public() {
    let source = include_str!("../../src/lib.rs");
    let lines: Vec<&str> = source.lines().collect();
    for (k, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("pub ")) {
        let one_line = line.starts_with("pub use ") && line.ends_with(';');
        assert!(one_line || lines[k - 1] == "#[doc(hidden)]", "{line}: neither pinned nor hidden");
    }
}
