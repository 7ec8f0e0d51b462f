//! The public names of the library, pinned: a change of the list is seen in review.

/// The names that `cargo doc` shows at the root of the crate, in alphabetical order.
const PUBLIC: &[&str] = &[
    "CacheMode",
    "Capabilities",
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
    "Losses",
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
    "Request",
    "Result",
    "Rows",
    "RowsRef",
    "SOLVERS",
    "SampleWeights",
    "Scale",
    "Scorer",
    "Settings",
    "Solver",
    "Spelling",
    "Stage",
    "Start",
    "Steps",
    "Stop",
    "TargetKind",
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
    "spelled",
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

#[test]
fn nothing_else_at_the_root_is_public() {
    let source = include_str!("../../src/lib.rs");
    let lines: Vec<&str> = source.lines().collect();
    for (k, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("pub ")) {
        let one_line = line.starts_with("pub use ") && line.ends_with(';');
        assert!(one_line || lines[k - 1] == "#[doc(hidden)]", "{line}: neither pinned nor hidden");
    }
}
