use super::*;
use crate::data::dataset::Dataset;
use crate::data::features::Features;
use crate::data::labels::Labels;
use crate::data::rows::Rows;
use crate::util::random::Random;
use rayon::ThreadPoolBuilder;

const CLASSES: u64 = 4;
const WORDS: u64 = 60;

/// A softmax task of documents. Each has six words, which are those of its class with probability `telling`.
pub(super) fn documents(n: usize, telling: f64) -> Task {
    let (mut random, mut rows, mut labels) = (Random::new(7), Rows::new(), Labels::default());
    for _ in 0..n {
        let class = random.below(CLASSES);
        let mut words: Vec<u32> = (0..6)
            .map(|_| match random.uniform() < telling {
                true => class + CLASSES * random.below(WORDS / CLASSES),
                false => random.below(WORDS),
            } as u32)
            .collect();
        words.sort_unstable();
        words.dedup();
        let row: Vec<(u32, f64)> = words.into_iter().map(|word| (word, 1.0)).collect();
        rows.push(&row).unwrap();
        labels.push(format!("c{class}").as_bytes()).unwrap();
    }
    let data = Dataset::made(rows, labels, Features::columns_from(0, WORDS as usize));
    Task::builder(data).heads(HeadKind::Softmax).build().unwrap()
}

/// The lowest losses of two tasks, and how many penalties were tried for both.
fn compared(tasks: [&Task; 2]) -> ([f64; 2], usize) {
    let mut tried = 0;
    let losses = lowest_loss(tasks, &Settings::default(), &mut |_| tried += 1).unwrap();
    (losses, tried)
}

#[test]
fn a_comparison_leaves_the_values_that_are_far_behind_and_finds_the_lowest_loss_of_the_others() {
    let (good, poor) = (documents(1500, 0.8), documents(1500, 0.5));
    let [(of_good, tried_good), (of_poor, tried_poor)] = [&good, &poor].map(|task| compared([task, task]));
    let (both, tried) = compared([&good, &poor]);
    assert_eq!(both[0].to_bits(), of_good[0].to_bits(), "the better one is not disturbed");
    assert!(both[1] >= of_poor[0] && both[1] > 1.5 * both[0], "{both:?}, {of_poor:?}");
    assert!(2 * tried < tried_good + tried_poor, "{tried} against {tried_good} and {tried_poor}");
    let (turned, _) = compared([&poor, &good]);
    assert_eq!(turned.map(f64::to_bits), [both[1], both[0]].map(f64::to_bits), "the order does not matter");
}

#[test]
fn walks_side_by_side_find_the_same_on_any_number_of_threads() {
    let task = documents(300, 0.6);
    let on = |threads: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let found = pool.install(|| choose_on_sample(&task, &Settings::default(), &mut |_| {}).unwrap());
        found
            .tried
            .iter()
            .map(|tried| (tried.l1, tried.l2, tried.loss.to_bits(), tried.chosen))
            .collect::<Vec<_>>()
    };
    let found = on(1);
    assert_eq!(found, on(2));
    let with_l1_alone = found.iter().filter(|(_, l2, ..)| *l2 == 0.0).count();
    assert!(with_l1_alone > 0 && found.len() > 6 + with_l1_alone, "all rays: {found:?}");
    assert_eq!(found.iter().filter(|(.., chosen)| *chosen).count(), 1);
}
