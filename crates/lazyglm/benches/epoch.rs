//! One epoch on data of the paper's shape, for each way of keeping weights. `cargo bench -p lazyglm` prints the times,
//! `cargo test --benches` runs each once; either way the answers are compared first: no time without an answer.
//!
//! `lazyglm bench paper` prints the same contenders by turns, with ratios: use that on a busy machine.

use divan::Bencher;
use divan::counter::ItemsCount;
use lazyglm::objective::objective;
use lazyglm::optim::kernel::Folded;
use lazyglm::optim::reference::{Dense, Table};
use lazyglm::optim::sgd::{Online, Rule};
use lazyglm::optim::update::Update;
use lazyglm::schedule::{Setting, Spec};
use lazyglm::synth::{PAPER, Shape, documents};
use lazyglm::{ElasticNet, Method, Task};
use std::sync::OnceLock;

const ROWS: usize = 20_000;
const DENSE_ROWS: usize = 50;
const NET: ElasticNet = ElasticNet { l1: 1e-6, l2: 1e-6 };
const METHOD: Method = Method::Fobos;

fn main() {
    answers();
    divan::main();
}

fn task() -> &'static Task {
    static TASK: OnceLock<Task> = OnceLock::new();
    TASK.get_or_init(|| documents(&Shape { rows: ROWS, ..PAPER }).task)
}

fn zeros() -> Vec<f64> {
    vec![0.0; task().examples().rows.columns()]
}

fn learn<U: Update>(update: U, rows: usize) -> Online<U> {
    let task = task();
    let setting = Setting { eta0: 0.1, l2: NET.l2, rows: Some(ROWS as u64), epochs: 1 };
    let schedule = Spec::parse("inverse-sqrt").and_then(|spec| spec.resolve(&setting)).unwrap();
    let rule = Rule { loss: &*task.loss, schedule: &*schedule };
    let order: Vec<u32> = (0..rows as u32).collect();
    let mut model = Online::new(update, true);
    model.learn(&rule, task.examples(), &order).unwrap();
    model
}

/// All contenders learn the same model.
fn answers() {
    let f = |weights: &[f64], bias| objective(task().examples(), &*task().loss, NET, weights, bias).total();
    let narrow = learn(Folded::<f32>::new(zeros(), NET, METHOD), ROWS);
    let wide = learn(Folded::<f64>::new(zeros(), NET, METHOD), ROWS);
    let table = learn(Table::new(zeros(), NET, METHOD, 1 << 17, None), ROWS);
    let (a, b, c) = (narrow.update.weights(), wide.update.weights(), table.update.weights());
    let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(apart(&b, &c) < 1e-11, "lazy f64 and table are {:e} apart", apart(&b, &c));
    assert!(apart(&a, &b) < 1e-5, "lazy f32 and f64 are {:e} apart", apart(&a, &b));
    assert!(f(&a, narrow.bias) < 0.2, "and it is a model: {}", f(&a, narrow.bias));
    let lazy = learn(Folded::<f64>::new(zeros(), NET, METHOD), DENSE_ROWS);
    let dense = learn(Dense::<true>::new(zeros(), NET, METHOD), DENSE_ROWS);
    assert!(apart(&lazy.update.weights(), &dense.update.weights()) < 1e-13, "lazy and dense");
}

fn time<U: Update>(bencher: Bencher, rows: usize, make: impl Fn() -> U + Sync) {
    let nonzeros = task().examples().rows.nonzeros() * rows / ROWS;
    bencher
        .counter(ItemsCount::new(nonzeros))
        .with_inputs(make)
        .bench_local_values(|update| learn(update, rows));
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn lazy_f32(bencher: Bencher) {
    time(bencher, ROWS, || Folded::<f32>::new(zeros(), NET, METHOD));
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn lazy_f64(bencher: Bencher) {
    time(bencher, ROWS, || Folded::<f64>::new(zeros(), NET, METHOD));
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn no_penalty_f32(bencher: Bencher) {
    time(bencher, ROWS, || Folded::<f32, false>::new(zeros(), NET, METHOD));
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn table(bencher: Bencher) {
    time(bencher, ROWS, || Table::new(zeros(), NET, METHOD, 1 << 17, None));
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn dense_sparse_predict(bencher: Bencher) {
    time(bencher, DENSE_ROWS, || Dense::<true>::new(zeros(), NET, METHOD));
}
