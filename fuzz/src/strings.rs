//! Strings of the command line: any text is a choice or an error.

use super::limits::limited;
use super::{Choices, in_file};
use lazyglm::data::dataset::for_each_block;
use lazyglm::data::format::{Column, ColumnKind, Csv, FormatSpec, Missing, Opening, Parsed, open};
use lazyglm::eval::metrics::Metric;
use lazyglm::schedule::{Setting, Spec};
use lazyglm::train::search::Numbers;
use lazyglm::{
    CacheMode, ClassWeight, ElasticNet, Method, Parameter, ReadOptions, Scale, Solver, WeightBounds, loss,
};
use std::path::Path;

#[allow(dead_code)]
#[path = "../../crates/lazyglm-cli/src/args/values.rs"]
mod values; // of the program: numbers with a unit

/// Memory for messages, and for a range of up to 10,000 numbers.
const CONSTANT: usize = 1 << 18;

/// The same for a string that is tried on a file, which is read in blocks of a megabyte.
const WITH_FILE: usize = 8 << 20;

/// Any bytes as a loss, a schedule, a penalty, a range of numbers or another choice by name.
pub fn strings(bytes: &[u8]) {
    let mut choices = Choices::of(bytes);
    let kind = choices.byte();
    let text = String::from_utf8_lossy(choices.rest);
    let constant = if kind == usize::from(b'i') { WITH_FILE } else { CONSTANT };
    limited(bytes.len(), constant, || one(kind, &text));
}

fn one(kind: usize, text: &str) {
    // '0' to '9' are 0 to 9; a few letters are more.
    match kind as u8 {
        b'm' => return drop(Missing::parse(text)),
        b'd' => return date(text),
        b'i' => return product(text),
        b's' => return drop(values::size(text).map(|bytes| assert!(bytes >= 1 << 20, "{text}"))),
        b't' => return time(text),
        b'g' => return drop(values::tolerance(text).map(|gap| assert!(gap > 0.0 && gap < 1.0, "{text}"))),
        _ => {}
    }
    match (kind + 2) % 10 {
        0 => loss(text),
        1 => schedule(text),
        2 => drop(ClassWeight::parse(text)),
        3 => drop(text.parse::<Metric>()),
        4 => drop(text.parse::<Solver>()),
        5 => {
            if let Ok(numbers) = Numbers::parse(Parameter::L1, text) {
                let values = numbers.values();
                assert!(!values.is_empty() && values.iter().all(|value| value.is_finite() && *value >= 0.0));
                assert!(values.is_sorted(), "{text}");
            }
        }
        6 => drop((Scale::parse(text), CacheMode::parse(text))),
        7 => bounds(text),
        8 => {
            let asked = ReadOptions { text: Some(text.into()), ..ReadOptions::default() };
            drop(open(&Opening { first: b"a\tb\n", file: Path::new("a.txt"), asked: &asked, known: None }));
        }
        _ => penalty(text),
    }
}

fn loss(text: &str) {
    let Ok(loss) = loss::parse(text) else { return };
    let spec = loss.spec();
    assert_eq!(loss::parse(&spec).map(|again| again.spec()).ok(), Some(spec), "a loss is what it says it is");
    for (score, target) in [(0.0, 1.0), (-3.0, -1.0), (1e3, 1.0), (-1e3, 1.0)] {
        assert!(!loss.value(score, target).is_nan() && !loss.slope(score, target).is_nan(), "{text}");
    }
}

fn schedule(text: &str) {
    let Ok(spec) = Spec::parse(text) else { return };
    for rows in [None, Some(1), Some(u64::MAX)] {
        let Ok(schedule) = spec.resolve(&Setting { eta0: 0.5, l2: 1e-6, rows, epochs: 5 }) else { continue };
        let rates = [0, 1, 1000, 1 << 40, u64::MAX].map(|t| schedule.eta(t));
        assert!(rates.iter().all(|rate| *rate >= 0.0), "{text}: {rates:?}"); // NaN is not
    }
}

/// A cell of a column of dates.
fn date(text: &str) {
    let columns = [("y", ColumnKind::Target), ("d", ColumnKind::Time), ("e", ColumnKind::Date)];
    let columns = columns.map(|(name, kind)| Column::new(name, kind)).into();
    let cell = text.replace('"', "\"\"");
    let row = format!("1,\"{cell}\",\"{cell}\"\n");
    let spec = FormatSpec::Csv(Csv { delimiter: ',', columns });
    let _ = spec.parser().parse(row.as_bytes(), Path::new("a.csv"), &mut Parsed::default());
}

/// Products of namespaces, as `--interact` splits them.
fn product(text: &str) {
    let interact: Vec<Vec<String>> =
        text.split(',').map(|product| product.split('*').map(str::to_string).collect()).collect();
    let asked = ReadOptions { interact, ..ReadOptions::default() };
    in_file(b"1 |a x y:2 |b z |a*b x\n", |path| {
        let _ = for_each_block(path, &asked, None, |block| {
            assert!(block.rows.nonzeros() < 1000, "{text}");
            Ok(())
        });
    });
}

fn time(text: &str) {
    let (duration, interval) = (values::duration(text), values::interval(text));
    assert!(duration.is_err() || interval == duration, "a time above 0 is one that may be 0: {text}");
}

fn bounds(text: &str) {
    if text.contains(['/', '@', '\0']) {
        return; // names of files
    }
    let (lower, rest) = text.split_once(';').unwrap_or((text, ""));
    let (upper, exclude) = rest.split_once(';').unwrap_or((rest, "a"));
    if let Ok(Some(bounds)) = WeightBounds::parse(Some(lower), Some(upper), Some(exclude)) {
        let [low, high] = bounds.of("a");
        assert!(low <= 0.0 && high >= 0.0);
    }
}

fn penalty(text: &str) {
    let (l1, l2) = text.split_once(',').unwrap_or((text, "0"));
    let (Ok(l1), Ok(l2)) = (l1.parse(), l2.parse()) else { return };
    let Ok(penalty) = ElasticNet::new(l1, l2) else { return };
    for method in [Method::Sgd, Method::Fobos] {
        if method.check(penalty, 0.5).is_ok() {
            let after = method.step(penalty, 0.5, -2.0);
            assert!((-2.0..=0.0).contains(&after), "{text}: {after}");
        }
    }
}
