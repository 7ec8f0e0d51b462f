//! One part of the engine on made data, some number of times: `instructions PART TIMES`.
//!
//! `make bench-instructions` counts the instructions of a part as those of `TIMES` 2 without those of `TIMES` 1, and compares them
//! with `bench/instructions.json`. Each part prints a number that shows that it did its work.

use lazyglm::data::format::{Parsed, Parser, Svmlight};
use lazyglm::optim::kernel::Folded;
use lazyglm::optim::lane_loss::Same;
use lazyglm::optim::lanes::{self, Pass};
use lazyglm::optim::sgd::{Online, Rule};
use lazyglm::optim::update::Update;
use lazyglm::schedule::{Schedule, Setting, Spec};
use lazyglm::synth::{Shape, documents};
use lazyglm::{CacheMode, Dataset, Declared, ElasticNet, Load, Method, Precision, Task, objective};
use std::fmt::Write;

const ROWS: usize = 4_000;
const NET: ElasticNet = ElasticNet { l1: 1e-5, l2: 1e-5 };
const METHOD: Method = Method::Fobos;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, part, times] = &arguments[..] else { panic!("instructions PART TIMES") };
    let task = documents(&Shape { rows: ROWS, features: 20_000, words: 60.0, ..Shape::default() }).task;
    let run: Box<dyn Fn() -> f64> = match part.as_str() {
        "parser_counts" => parser(text(&task, "", |k| (1 + k % 9).to_string())),
        "parser_decimals" => parser(text(&task, "", |k| format!("0.{:04}", 1 + k % 9_000))),
        "reader_vw" => reader(&text(&task, "| ", |k| (1 + k % 9).to_string())),
        "cache" => cache(&text(&task, "", |k| (1 + k % 9).to_string())),
        "kernel" => Box::new(move || kernel(&task)),
        "lanes" => Box::new(move || lanes(&task)),
        "judge" => Box::new(move || judge(&task)),
        other => panic!("no part '{other}'"),
    };
    let answers: Vec<f64> = (0..times.parse().expect("a number")).map(|_| run()).collect();
    assert!(answers.iter().all(|answer| answer.is_finite() && *answer == answers[0]), "{answers:?}");
    println!("{part} {:?}", answers[0]);
}

/// The rows as lines: a target, a prefix, and pairs with values of the given form.
fn text(task: &Task, prefix: &str, value: impl Fn(usize) -> String) -> Vec<u8> {
    let (examples, mut text, mut k) = (task.examples(), String::new(), 0);
    for i in 0..examples.len() {
        write!(text, "{:+} {prefix}", examples.targets[i]).expect("text");
        examples.rows.for_each(i, |j, _| {
            k += 7;
            write!(text, " {}:{}", j + 1, value(k)).expect("text");
        });
        text.push('\n');
    }
    text.replace("  ", " ").into_bytes()
}

fn parser(text: Vec<u8>) -> Box<dyn Fn() -> f64> {
    Box::new(move || {
        let (mut parser, mut parsed) = (Svmlight::default(), Parsed::default());
        parser.parse(&text, "made.svm".as_ref(), &mut parsed).expect("good lines");
        parsed.rows.nonzeros() as f64
    })
}

fn reader(text: &[u8]) -> Box<dyn Fn() -> f64> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("made.vw");
    std::fs::write(&file, text).expect("a file");
    Box::new(move || {
        let _kept = &folder;
        Dataset::read(&file, Declared::default()).expect("good lines").rows.nonzeros() as f64
    })
}

fn cache(text: &[u8]) -> Box<dyn Fn() -> f64> {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, cache] = ["made.svm", "made.cache"].map(|name| folder.path().join(name));
    std::fs::write(&file, text).expect("a file");
    let making = Load { cache: CacheMode::File(cache.clone()), ..Load::default() };
    Dataset::load(&file, &making).expect("good lines");
    Box::new(move || {
        let _kept = &folder;
        Dataset::read(&cache, Declared::default()).expect("a good cache").rows.nonzeros() as f64
    })
}

fn schedule() -> Box<dyn Schedule> {
    let setting = Setting { eta0: 0.1, l2: NET.l2, rows: Some(ROWS as u64), epochs: 1 };
    Spec::parse("inverse-sqrt").and_then(|spec| spec.resolve(&setting)).expect("a schedule")
}

fn order() -> Vec<u32> {
    (0..ROWS as u32).collect()
}

fn kernel(task: &Task) -> f64 {
    let (schedule, zeros) = (schedule(), vec![0.0; task.data.rows.columns()]);
    let mut model = Online::new(Folded::<f32>::new(zeros, NET, METHOD), true);
    let rule = Rule { loss: &*task.loss, schedule: &*schedule };
    assert!(model.learn(&rule, task.examples(), &order()).is_ok());
    model.update.weights().iter().sum::<f64>() + model.bias
}

fn lanes(task: &Task) -> f64 {
    let (schedule, rows, order) = (schedule(), task.data.rows.borrow(), order());
    let penalties: Vec<ElasticNet> =
        (0..8).map(|k| ElasticNet { l1: NET.l1 * f64::from(1 << k), l2: NET.l2 }).collect();
    let mut lane_loss = Same { loss: &*task.loss, examples: task.examples() };
    let mut block = lanes::block(rows.columns(), &penalties, METHOD, true, Precision::F32);
    block.learn(&mut lane_loss, &Pass { rates: &[&*schedule], rows, weights: None, order: &order });
    block.weights(0).sum::<f64>() + block.bias(7)
}

/// F, its violation, the null model and the certificate of small weights.
fn judge(task: &Task) -> f64 {
    let weights: Vec<f64> = (0..task.data.rows.columns()).map(|j| 1e-3 * (j % 7) as f64 - 3e-3).collect();
    let proof = objective::certify(task.examples(), &*task.loss, NET, &weights, Some(0.1));
    proof.objective + proof.kkt + proof.dual.expect("a bound")
}
