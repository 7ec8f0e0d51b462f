//! Laws of the optimum of many heads: a head is the optimum it would be alone, and the certificate is their sum.

use crate::common::{log_uniform, rows};
use lazyglm::objective::certify;
use lazyglm::util::random::Random;
use lazyglm::{
    Dataset, ElasticNet, Examples, Features, HeadKind, Labels, Model, Rows, Settings, Solver, Start, Stop,
    Task, Trained, WeightedPenalty, start_of, train,
};
use proptest::prelude::*;
use std::sync::Arc;

const COLUMNS: usize = 40;

/// Rows of one class each, or of any number of labels, some of them without any; each class or label has a row.
fn task(random: &mut Random, kind: HeadKind, count: usize, n: usize) -> Task {
    let rows = rows(random, n, COLUMNS);
    let mut labels = Labels::default();
    for i in 0..n {
        let class = if i < count { i } else { random.below(count as u64) as usize };
        let own = (0..count).filter(|&k| match kind {
            HeadKind::Labels => k == i || random.below(4) == 0,
            _ => k == class,
        });
        let names: Vec<String> = own.map(|k| format!("l{k:02}")).collect();
        labels.push(names.join(",").as_bytes()).unwrap();
    }
    let data = Dataset::made(rows, labels, Features::columns_from(0, COLUMNS));
    Task::builder(data).heads(kind).build().unwrap()
}

const KINDS: [HeadKind; 3] = [HeadKind::Labels, HeadKind::Ovr, HeadKind::Softmax];

fn random_below(seed: u64, n: u64) -> usize {
    (seed % n) as usize
}

fn settings(random: &mut Random, l2: bool) -> Settings {
    let l2 = if l2 { log_uniform(random, 1e-4, 1e-2) } else { 0.0 };
    let penalty = ElasticNet { l1: log_uniform(random, 1e-3, 3e-2), l2 };
    Settings { solver: Solver::Newton, penalty, tolerance: 1e-9, ..Settings::default() }
}

fn fit(task: &Task, settings: &Settings) -> Trained {
    train(task, None, settings, &mut |_| {}).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn every_head_is_the_optimum_that_it_would_be_alone(seed in any::<u64>(), count in 2usize..12, l2 in any::<bool>()) {
        let mut random = Random::new(seed);
        let mut task = task(&mut random, KINDS[random_below(seed, 2)], count, 150);
        let weights: Vec<f64> = (0..150).map(|i| if i % 3 == 0 { 2.0 } else { 0.5 }).collect();
        task.weights = Some(weights.clone());
        let mut settings = settings(&mut random, l2);
        settings.factors =
            (random.below(2) == 0).then(|| Arc::new((0..COLUMNS).map(|j| 0.5 + (j % 3) as f64).collect()));
        settings.nonnegative = random.below(2) == 0;
        let trained = fit(&task, &settings);
        let sets = task.targets.heads().unwrap().sets;
        let penalty: WeightedPenalty = settings.weighted_penalty();
        let (mut objective, mut dual) = (0.0, 0.0);
        for (k, head) in trained.heads.iter().enumerate() {
            let targets: Vec<f64> = (0..150).map(|i| if sets.has(i, k) { 1.0 } else { -1.0 }).collect();
            let examples = Examples::new(task.data.rows.borrow(), &targets, Some(&weights)).unwrap();
            let proof = certify(examples, &*task.loss, penalty, &head.dense(COLUMNS), Some(head.bias));
            prop_assert!(proof.kkt < 1e-2 * penalty.penalty.l1, "head {k}: {proof:?}");
            prop_assert!(!settings.nonnegative || head.weights.iter().all(|w| *w > 0.0));
            objective += proof.objective;
            dual += proof.dual.unwrap();
        }
        let report = &trained.report;
        prop_assert!((report.objective - objective).abs() < 1e-12);
        // The solver's last model may prove more than the points.
        let proved = report.dual.unwrap();
        prop_assert!(proved >= dual - 1e-9 && proved <= objective * (1.0 + 1e-9), "{proved} {dual} {objective}");
        prop_assert!(report.relative_gap.unwrap() < if l2 { 1e-8 } else { 1e-3 }, "{:?}", report.relative_gap);
    }

    #[test]
    fn a_warm_start_at_the_optimum_needs_no_step(seed in any::<u64>(), count in 2usize..6) {
        let mut random = Random::new(seed);
        let task = task(&mut random, KINDS[random_below(seed, 3)], count, 120);
        let mut settings = Settings { tolerance: 1e-6, ..settings(&mut random, true) };
        let trained = fit(&task, &settings);
        prop_assert_eq!(trained.report.stop, Stop::Gap);
        let before = trained.report.objective;
        let model = Model::new(&task, &settings, trained);
        let names = task.targets.heads().unwrap().names;
        let (start, lost) = start_of(&model, &task.data.features, names);
        prop_assert_eq!((start.heads.len(), lost), (count, 0));
        settings.start = Some(Arc::new(start));
        let again = fit(&task, &settings);
        prop_assert!(again.report.epochs <= 1);
        prop_assert!((again.report.objective - before).abs() <= 1e-6 * before);
    }
}

#[test]
fn a_softmax_is_certified_by_the_duality_gap() {
    let mut random = Random::new(3);
    let task = task(&mut random, HeadKind::Softmax, 5, 200);
    for l2 in [true, false] {
        let settings = settings(&mut random, l2);
        let report = fit(&task, &settings).report;
        assert!(report.dual.unwrap() <= report.objective && report.violation < 1e-5);
        assert!(report.relative_gap.unwrap() < if l2 { 1e-8 } else { 1e-2 }, "{:?}", report.relative_gap);
    }
}

#[test]
fn a_start_that_fits_no_head_is_refused() {
    let mut random = Random::new(1);
    let task = task(&mut random, HeadKind::Labels, 3, 60);
    let start = Some(Arc::new(Start::one(vec![0.0; COLUMNS], 0.0)));
    let settings = Settings { start, ..settings(&mut random, true) };
    let error = train(&task, None, &settings, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("start does not fit the 3 labels"), "{error}");
}

/// Rows of few of many columns, with rare labels that depend on a column of their own, and row weights of mean one.
fn rare(random: &mut Random, n: usize, count: usize) -> (Task, Vec<f64>) {
    let (columns, mut rows, mut labels) = (10 * count, Rows::new(), Labels::default());
    for i in 0..n {
        let mut own: Vec<u32> = (0..6).map(|_| random.below(columns as u64) as u32).collect();
        own.sort_unstable();
        own.dedup();
        let row: Vec<(u32, f64)> = own.iter().map(|&j| (j, log_uniform(random, 0.3, 3.0))).collect();
        rows.push(&row).unwrap();
        let has = |k: &usize| i % n == *k || own.contains(&(*k as u32)) && i % 3 > 0;
        let names: Vec<String> = (0..count).filter(has).map(|k| format!("l{k:02}")).collect();
        labels.push(names.join(",").as_bytes()).unwrap();
    }
    let data = Dataset::made(rows, labels, Features::columns_from(0, columns));
    let mut task = Task::builder(data).heads(HeadKind::Labels).build().unwrap();
    let weights: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { 2.0 } else { 0.5 }).collect();
    task.weights = Some(weights.clone());
    (task, weights)
}

#[test]
fn rows_that_a_rare_head_does_not_touch_are_merged_without_a_change_of_its_optimum() {
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let (count, n) = (24, 1200);
        let (task, weights) = rare(&mut random, n, count);
        let columns = task.data.rows.columns();
        let penalty = ElasticNet { l1: 2e-3, l2: if seed % 2 == 0 { 1e-3 } else { 0.0 } };
        let factors = (0..columns).map(|j| 0.5 + (j % 3) as f64).collect();
        let settings = Settings {
            solver: Solver::Newton,
            penalty,
            tolerance: 1e-9,
            factors: (seed % 3 == 0).then(|| Arc::new(factors)),
            nonnegative: seed == 4,
            bias: seed != 5,
            ..Settings::default()
        };
        let trained = fit(&task, &settings);
        let sets = task.targets.heads().unwrap().sets;
        let (mut objective, mut dual, mut kkt) = (0.0, 0.0, 0.0f64);
        for (k, head) in trained.heads.iter().enumerate() {
            let targets: Vec<f64> = (0..n).map(|i| if sets.has(i, k) { 1.0 } else { -1.0 }).collect();
            let examples = Examples::new(task.data.rows.borrow(), &targets, Some(&weights)).unwrap();
            let (dense, bias) = (head.dense(columns), settings.bias.then_some(head.bias));
            let proof = certify(examples, &*task.loss, settings.weighted_penalty(), &dense, bias);
            assert!(proof.kkt < 1e-2 * penalty.l1, "seed {seed}, head {k}: {proof:?}");
            (objective, dual, kkt) =
                (objective + proof.objective, dual + proof.dual.unwrap(), kkt.max(proof.kkt));
        }
        let report = &trained.report;
        assert!(report.nonzeros > count, "{} weights", report.nonzeros);
        assert!((report.objective - objective).abs() < 1e-11 * objective, "seed {seed}");
        let proved = report.dual.unwrap();
        assert!(proved >= dual - 1e-8 * objective && proved <= objective * (1.0 + 1e-9), "seed {seed}");
        assert!((report.violation - kkt).abs() < 1e-9, "seed {seed}: {} {kkt}", report.violation);
        assert!(report.relative_gap.unwrap() < if penalty.l2 > 0.0 { 1e-8 } else { 1e-2 });
    }
}
