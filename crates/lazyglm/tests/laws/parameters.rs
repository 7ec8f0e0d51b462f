//! Messages of the library name parameters; each front end spells them. These tests read the sources.

use crate::arrows::{code, sources};
use lazyglm::{Error, Kind, Parameter, Place, escaped, excerpt, spelled};
use std::fs;
use std::path::Path;

fn flag(parameter: Parameter, value: Option<&str>) -> String {
    format!("--{}{}", parameter.name(), value.map_or(String::new(), |value| format!(" {value}")))
}

/// Whether the line of code has `--` and a letter after it.
fn names_a_flag(line: &str) -> bool {
    line.split("--").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
}

#[test]
fn no_message_of_the_library_names_a_flag() {
    for (file, text) in sources() {
        let wrong: Vec<&str> = code(&text).filter(|line| names_a_flag(line)).collect();
        assert!(wrong.is_empty(), "{file}: use Parameter instead of a flag in {wrong:#?}");
    }
}

#[test]
fn python_has_a_keyword_for_every_parameter_but_those_of_the_program_alone() {
    use Parameter::*;
    let program_alone = [
        Adaptive,
        Cache,
        Interact,
        LimitPredictions,
        Memory,
        Multilabel,
        OffsetColumn,
        OutputFormat,
        Passes,
        Prediction,
        Renumber,
        Runs,
        Start, // several keywords: `errors.rs` names them
        Strict,
        Task,
        Thresholds,
        Update,
    ];
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python");
    let read = |file: &str| fs::read_to_string(python.join(file)).unwrap();
    let spellings = read("src/errors.rs");
    let estimators: String = ["_classifier.py", "_cv.py", "_read.py", "_files.py", "_data.py"]
        .map(|file| read(&format!("lazyglm/{file}")))
        .concat();
    let same =
        spellings.split_once("const SAME: &str = \"").and_then(|(_, rest)| rest.split('"').next()).unwrap();
    for &parameter in Parameter::ALL {
        let row = spellings.split_once(&format!("(Parameter::{parameter:?}, \"")).map(|(_, rest)| rest);
        let renamed = row.and_then(|rest| rest.split('"').next());
        let keyword = renamed.or_else(|| same.split_whitespace().find(|name| *name == parameter.name()));
        assert_eq!(
            keyword.is_none(),
            program_alone.contains(&parameter),
            "{parameter:?} in python/src/errors.rs"
        );
        if let Some(keyword) = keyword {
            assert!(estimators.contains(&format!(" {keyword}: ")), "nothing in Python has {keyword}");
        }
    }
}

#[test]
fn every_parameter_is_spelled_by_the_front_end() {
    for &parameter in Parameter::ALL {
        let text = format!("raise {parameter}, or use {}.", parameter.set("a b"));
        let name = parameter.name();
        assert_eq!(spelled(&text, flag), format!("raise --{name}, or use --{name} a b."));
        let error = Error::data(Place::file("a.svm"), &text, &text);
        assert_eq!(
            error.to_string(),
            format!("a.svm: raise {name}, or use {name} = a b.; raise {name}, or use {name} = a b.")
        );
        let error = Error::parameter(parameter, "x\u{e000}", format!("a value of {parameter}"));
        let (what, hint) = error.spelled(flag);
        assert_eq!(what, format!("invalid --{name} 'x\\u{{e000}}': expected a value of --{name}"));
        assert_eq!(hint, "");
        assert!(matches!(error.kind(), Kind::Call { parameter: Some(wrong), .. } if *wrong == parameter));
    }
}

#[test]
fn input_forges_no_mark() {
    let forged = format!("{} {}", Parameter::Eta0, Parameter::Solver.set("sgd"));
    for quoted in [escaped(&forged).into_owned(), excerpt(&forged)] {
        assert!(!spelled(&quoted, flag).contains("--"), "{quoted}");
    }
    let value = Parameter::Drop.set(&forged);
    assert_eq!(spelled(&value, flag).matches("--").count(), 1, "a value inside marks cannot close them");
    for torn in [
        "\u{e000}",
        "\u{e000}eta0",
        "a\u{e001}b\u{e002}",
        "\u{e000}no such\u{e001}",
        "\u{e000}\u{e000}eta0\u{e001}",
    ] {
        let shown = spelled(torn, flag);
        assert!(!shown.contains(['\u{e000}', '\u{e001}', '\u{e002}']), "{shown:?}");
    }
}
