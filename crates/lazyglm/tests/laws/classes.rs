//! Laws of many classes and labels: a softmax is the dense one, a head is the model it would be alone, the judge agrees with
//! the judge of one model, and what is kept in a file comes back.

use crate::common::{METHODS, log_uniform, penalty, rows, tolerance};
use lazyglm::objective::{self, HeadsEvaluation, of_heads};
use lazyglm::optim::kernel::Folded;
use lazyglm::optim::sgd::{Online, Rule};
use lazyglm::optim::softmax::Softmax;
use lazyglm::optim::update::Update;
use lazyglm::problem::task::HeadTargets;
use lazyglm::schedule::{Schedule, Setting, Spec};
use lazyglm::util::random::{Random, permutation};
use lazyglm::{
    Dataset, ElasticNet, Examples, Features, Head, HeadKind, Labels, Method, Model, Precision, Rows, Scorer,
    Settings, Task, Trained, loss, train,
};
use proptest::prelude::*;

const COLUMNS: usize = 60;

/// The slow truth: every weight of every class, at every step.
struct Dense<'a> {
    rows: &'a Rows,
    classes: &'a [u32],
    weights: Option<&'a [f64]>,
    penalty: ElasticNet,
    method: Method,
    with_bias: bool,
}

impl Dense<'_> {
    /// Weights by class, biases, and the largest weight there ever was.
    fn learn(&self, count: usize, rate: &dyn Schedule, order: &[u32]) -> (Vec<Vec<f64>>, Vec<f64>, f64) {
        let (mut w, mut b, mut largest) = (vec![vec![0.0; COLUMNS]; count], vec![0.0; count], 0.0f64);
        for (t, &i) in order.iter().enumerate() {
            let (i, eta) = (i as usize, rate.eta(t as u64));
            let scores: Vec<f64> = (0..count).map(|c| self.rows.borrow().dot(i, &w[c]) + b[c]).collect();
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = scores.iter().map(|s| (s - most).exp()).sum();
            for c in 0..count {
                let y = f64::from(u8::from(self.classes[i] as usize == c));
                let slope = self.weights.map_or(1.0, |w| w[i]) * ((scores[c] - most).exp() / sum - y);
                self.rows.borrow().for_each(i, |j, x| w[c][j] -= eta * slope * x);
                b[c] -= if self.with_bias { eta * slope } else { 0.0 };
                for w in &mut w[c] {
                    *w = self.method.step(self.penalty, eta, *w);
                    largest = largest.max(w.abs());
                }
            }
        }
        (w, b, largest)
    }
}

fn rate(random: &mut Random, penalty: ElasticNet, rows: usize) -> Box<dyn Schedule> {
    let most = if penalty.l2 > 0.0 { 0.3 / penalty.l2.max(1.0) } else { 0.3 };
    let setting = Setting {
        eta0: log_uniform(random, 1e-3, most),
        l2: penalty.l2.max(1e-3),
        rows: Some(rows as u64),
        epochs: 2,
    };
    let name = ["constant", "inverse-sqrt", "cosine"][random.below(3) as usize];
    Spec::parse(name).unwrap().resolve(&setting).unwrap()
}

/// A task of made rows: one class a row, or any number of labels.
fn task(random: &mut Random, kind: HeadKind, count: usize, n: usize) -> Task {
    let rows = rows(random, n, COLUMNS);
    let mut labels = Labels::default();
    for i in 0..n {
        let word = match kind {
            HeadKind::Labels => {
                let own: Vec<String> =
                    (0..count).filter(|_| random.below(3) == 0).map(|k| format!("l{k:02}")).collect();
                if i == 0 || own.is_empty() { "l00".to_string() } else { own.join(",") }
            }
            _ if i < count => format!("c{i:02}"), // each class has a row
            _ => format!("c{:02}", random.below(count as u64)),
        };
        labels.push(word.as_bytes()).unwrap();
    }
    let data = Dataset::made(rows, labels, Features::columns_from(0, COLUMNS));
    Task::builder(data).heads(kind).build().unwrap()
}

fn fit(task: &Task, settings: &Settings) -> Trained {
    train(task, None, settings, &mut |_| {}).unwrap()
}

fn wide(random: &mut Random, eta0: f64) -> Settings {
    let penalty = penalty(random, 0.02, 0.1);
    Settings { penalty, precision: Precision::F64, eta0: Some(eta0), epochs: 2, ..Settings::default() }
}

fn dense(head: &Head) -> Vec<f64> {
    head.dense(COLUMNS)
}

fn heads_of(task: &Task) -> HeadTargets<'_> {
    task.targets.heads().unwrap()
}

/// The rows with ±1 for one head.
fn targets(task: &Task, head: usize) -> Vec<f64> {
    (0..task.len()).map(|i| if heads_of(task).sets.has(i, head) { 1.0 } else { -1.0 }).collect()
}

fn judged<'a>(task: &'a Task, penalty: ElasticNet, with_bias: bool) -> HeadsEvaluation<'a> {
    let HeadTargets { kind, sets, .. } = heads_of(task);
    HeadsEvaluation {
        rows: task.data.rows.borrow(),
        weights: task.weights.as_deref(),
        sets,
        kind,
        loss: &*task.loss,
        weighted_penalty: penalty.into(),
        with_bias,
        at_once: 2,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_softmax_is_the_dense_one_zeros_included(seed in any::<u64>(), count in 2usize..40, n in 40usize..250) {
        let mut random = Random::new(seed);
        let (method, with_bias) = (METHODS[random.below(2) as usize], random.below(3) > 0);
        let penalty = penalty(&mut random, 0.05, 0.5);
        let rows = rows(&mut random, n, COLUMNS);
        let classes: Vec<u32> = (0..n).map(|_| random.below(count as u64) as u32).collect();
        let weights: Option<Vec<f64>> = (random.below(2) == 0).then(|| (0..n).map(|_| log_uniform(&mut random, 0.1, 3.0)).collect());
        let rate = rate(&mut random, penalty, n);
        let order: Vec<u32> = (0..2).flat_map(|epoch| permutation(n, seed, epoch)).collect();
        let slow = Dense { rows: &rows, classes: &classes, weights: weights.as_deref(), penalty, method, with_bias };
        let (expected, biases, largest) = slow.learn(count, &*rate, &order);
        let scale = largest.max(f64::MIN_POSITIVE);
        let examples = (rows.borrow(), weights.as_deref());
        for (width, allowed) in [(Precision::F64, 100.0 * tolerance(order.len())), (Precision::F32, 1e-4)] {
            let mut model = Softmax::new(COLUMNS, count, penalty, method, with_bias, width);
            let cut = random.below(order.len() as u64) as usize; // any split into calls
            model.learn(&*rate, examples, &classes, &order[..cut]).unwrap();
            model.learn(&*rate, examples, &classes, &order[cut..]).unwrap();
            for c in 0..count {
                let own: Vec<f64> = model.weights(c).collect();
                let found = crate::common::difference(&own, &expected[c], scale);
                prop_assert!(found.worst <= allowed && found.worst_zero <= allowed, "class {c}: {found:?}");
                prop_assert!((model.biases()[c] - biases[c]).abs() <= allowed * (1.0 + biases[c].abs()), "bias {c}");
            }
        }
    }

    #[test]
    fn a_head_in_f64_has_the_bits_of_a_model_alone(seed in any::<u64>(), count in 2usize..30, labels in any::<bool>()) {
        let mut random = Random::new(seed);
        let kind = if labels { HeadKind::Labels } else { HeadKind::Ovr };
        let task = task(&mut random, kind, count, 150);
        let settings = wide(&mut random, 0.2);
        let trained = fit(&task, &settings);
        let setting = Setting { eta0: 0.2, l2: settings.penalty.l2, rows: Some(150), epochs: 2 };
        let rate = settings.schedule.resolve(&setting).unwrap();
        for (k, head) in trained.heads.iter().enumerate() {
            let targets = targets(&task, k);
            let examples = Examples { targets: &targets, ..task.examples() };
            let mut alone = Online::new(Folded::<f64>::new(vec![0.0; COLUMNS], settings.penalty, settings.method), true);
            for epoch in 0..2 {
                let rule = Rule { loss: &*task.loss, schedule: &*rate };
                alone.learn(&rule, examples, &permutation(150, settings.seed, epoch)).unwrap();
            }
            prop_assert_eq!(dense(head), alone.update.weights(), "head {}", k);
            prop_assert_eq!(head.bias, alone.bias);
        }
    }

    #[test]
    fn the_judge_of_heads_says_of_each_what_the_judge_of_one_says(seed in any::<u64>(), count in 2usize..20, bias in any::<bool>()) {
        let mut random = Random::new(seed);
        let mut task = task(&mut random, HeadKind::Labels, count, 120);
        task.loss = loss::parse(["logistic", "squared-hinge"][random.below(2) as usize]).unwrap();
        task.weights = Some((0..120).map(|i| if i % 2 == 0 { 0.5 } else { 1.5 }).collect());
        let settings = Settings { bias, ..wide(&mut random, 0.05) };
        let trained = fit(&task, &settings);
        let verdicts = of_heads(&judged(&task, settings.penalty, bias), &trained.heads);
        // The first heads without weights, as those that an interrupted run has not begun.
        let without = |(k, head): (usize, &Head)| if k < 8 { Head { bias: head.bias, ..Head::default() } } else { head.clone() };
        let stopped: Vec<Head> = trained.heads.iter().enumerate().map(without).collect();
        let of_stopped = of_heads(&judged(&task, settings.penalty, bias), &stopped);
        let all = verdicts.iter().zip(&trained.heads).chain(of_stopped.iter().zip(&stopped)).enumerate();
        for (k, (found, head)) in all.map(|(k, pair)| (k % count, pair)) {
            let targets = targets(&task, k);
            let examples = Examples { targets: &targets, ..task.examples() };
            let alone = objective::evaluate(examples, &*task.loss, settings.penalty, &dense(head), bias.then_some(head.bias));
            for (a, b) in [
                (found.objective.total(), alone.objective.total()),
                (found.violation, alone.violation),
                (found.l1_max, alone.l1_max),
                (found.baseline, alone.baseline),
            ] {
                prop_assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "head {k}: {found:?} and {alone:?}");
            }
        }
        let all: f64 = verdicts.iter().map(|verdict| verdict.objective.total()).sum();
        prop_assert!((trained.report.objective - all).abs() <= 1e-12 * all);
    }

    #[test]
    fn the_judge_of_a_softmax_knows_its_slopes(seed in any::<u64>(), count in 2usize..20) {
        let mut random = Random::new(seed);
        let task = task(&mut random, HeadKind::Softmax, count, 80);
        let settings = wide(&mut random, 0.2);
        let mut heads = fit(&task, &settings).heads;
        let none = ElasticNet { l1: 0.0, l2: 0.0 };
        let f = |heads: &[Head]| -> f64 {
            of_heads(&judged(&task, none, true), heads).iter().map(|verdict| verdict.objective.loss).sum()
        };
        // The slow truth of the loss.
        let slow: f64 = (0..80).map(|i| {
            let scores: Vec<f64> = heads.iter().map(|head| task.data.rows.borrow().dot(i, &dense(head)) + head.bias).collect();
            scores.iter().map(|s| s.exp()).sum::<f64>().ln() - scores[heads_of(&task).sets.ids[i] as usize]
        }).sum::<f64>() / 80.0;
        prop_assert!((f(&heads) - slow).abs() < 1e-9, "{} and {slow}", f(&heads));
        // Without a penalty the violation is the largest slope: differences must find it.
        let verdicts = of_heads(&judged(&task, none, true), &heads);
        let k = random.below(count as u64) as usize;
        let mut largest = 0.0f64;
        for j in 0..=COLUMNS {
            let mut at = |step: f64| {
                let before = heads[k].clone();
                if j == COLUMNS {
                    heads[k].bias += step;
                } else {
                    let mut weights = dense(&before);
                    weights[j] += step;
                    heads[k] = Head::of(weights.into_iter(), before.bias);
                }
                let value = f(&heads);
                heads[k] = before;
                value
            };
            largest = largest.max(((at(1e-5) - at(-1e-5)) / 2e-5).abs());
        }
        prop_assert!((verdicts[k].violation - largest).abs() < 1e-6, "{} and {largest}", verdicts[k].violation);
    }

    #[test]
    fn from_l1_max_on_a_softmax_without_weights_is_a_minimum(seed in any::<u64>(), count in 2usize..12) {
        let mut random = Random::new(seed);
        let task = task(&mut random, HeadKind::Softmax, count, 90);
        let shares = heads_of(&task).sets.counts(count).into_iter().map(|rows| rows as f64 / 90.0);
        let heads: Vec<Head> = shares.map(|share| Head { bias: share.ln(), ..Head::default() }).collect();
        let at = |l1: f64| {
            let verdicts = of_heads(&judged(&task, ElasticNet { l1, l2: 0.0 }, true), &heads);
            verdicts.iter().map(|verdict| verdict.violation).fold(0.0, f64::max)
        };
        let verdicts = of_heads(&judged(&task, ElasticNet { l1: 0.0, l2: 0.0 }, true), &heads);
        let most = verdicts.iter().map(|verdict| verdict.l1_max).fold(0.0, f64::max);
        prop_assert!(at(most * 1.000001) < 1e-12);
        prop_assert!(most == 0.0 || at(most * 0.99) > most * 0.005);
        let (f, baseline): (f64, f64) = verdicts.iter().fold((0.0, 0.0), |sum, v| (sum.0 + v.objective.loss, sum.1 + v.baseline));
        prop_assert!((f - baseline).abs() < 1e-12, "these biases are the best");
    }

    #[test]
    fn a_model_with_heads_comes_back_and_scores_by_name(seed in any::<u64>(), count in 2usize..20, labels in any::<bool>()) {
        let mut random = Random::new(seed);
        let kind = if labels { HeadKind::Labels } else { HeadKind::Softmax };
        let task = task(&mut random, kind, count, 60);
        let settings = wide(&mut random, 0.2);
        let mut trained = fit(&task, &settings);
        trained.thresholds = labels.then(|| (0..count).map(|k| 0.1 * k as f64 - 0.2).collect());
        let heads = trained.heads.clone();
        let model = Model::new(&task, &settings, trained);
        let bytes = model.to_bytes().unwrap();
        let back = Model::from_bytes(&bytes).unwrap();
        prop_assert_eq!(&back.heads, &model.heads);
        prop_assert_eq!((&back.weights, &back.features), (&model.weights, &model.features));
        let (mut scorer, mut scores) = (Scorer::new(&back), Vec::new());
        for i in 0..60 {
            scorer.scores(task.data.rows.borrow(), i, &mut scores);
            for (score, head) in scores.iter().zip(&heads) {
                let by_column = task.data.rows.borrow().dot(i, &dense(head)) + head.bias;
                prop_assert!((score - by_column).abs() <= 1e-9 * (1.0 + by_column.abs()));
            }
        }
        for at in 0..40 {
            let mut damaged = bytes.clone();
            damaged[(at * 7919 + seed as usize % 7919) % bytes.len()] ^= 1 << (at % 8);
            prop_assert!(Model::from_bytes(&damaged).is_err(), "a bit is flipped");
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for kind in [HeadKind::Ovr, HeadKind::Softmax, HeadKind::Labels] {
        let task = task(&mut Random::new(5), kind, 50, 200);
        let settings = Settings { epochs: 2, ..Settings::default() };
        let bytes = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Model::new(&task, &settings, fit(&task, &settings)).to_bytes().unwrap())
        };
        assert_eq!(bytes(1), bytes(3), "{kind:?}");
    }
}

#[test]
fn a_head_stops_at_its_own_best_epoch_as_a_model_alone_would() {
    let mut random = Random::new(11);
    let all = task(&mut random, HeadKind::Labels, 10, 400);
    let (learnt, held_out): (Vec<usize>, Vec<usize>) = (0..400).partition(|i| i % 4 > 0);
    let (learnt, held_out) = (all.select(&learnt), all.select(&held_out));
    let settings = Settings {
        epochs: 12,
        early_stop: Some(2),
        eta0: Some(1.0),
        precision: Precision::F64,
        ..Settings::default()
    };
    let trained = train(&learnt, Some(&held_out), &settings, &mut |_| {}).unwrap();
    let setting = Setting { eta0: 1.0, l2: settings.penalty.l2, rows: Some(300), epochs: 12 };
    let rate = settings.schedule.resolve(&setting).unwrap();
    for k in 0..10 {
        let (own, theirs) = (targets(&learnt, k), targets(&held_out, k));
        let mut alone =
            Online::new(Folded::<f64>::new(vec![0.0; COLUMNS], settings.penalty, settings.method), true);
        let mut best = (f64::INFINITY, 0, Vec::new());
        for epoch in 0..12 {
            let rule = Rule { loss: &*learnt.loss, schedule: &*rate };
            let examples = Examples { targets: &own, ..learnt.examples() };
            alone.learn(&rule, examples, &permutation(300, settings.seed, epoch)).unwrap();
            let examples = Examples { targets: &theirs, ..held_out.examples() };
            let weights = alone.update.weights();
            let loss = objective::mean_loss(examples, &*learnt.loss, &weights, alone.bias);
            if loss < best.0 {
                best = (loss, epoch, weights);
            } else if epoch - best.1 >= 2 {
                break;
            }
        }
        assert_eq!(dense(&trained.heads[k]), best.2, "label {k}, epoch {}", best.1 + 1);
    }
}

#[test]
fn what_breaks_a_rule_of_heads_is_no_model() {
    let task = task(&mut Random::new(3), HeadKind::Labels, 4, 60);
    let settings = Settings::default();
    let model = Model::new(&task, &settings, fit(&task, &settings));
    type Break = fn(&mut lazyglm::Heads);
    let breaks: [(&str, Break); 8] = [
        ("a name twice", |heads| heads.names[1] = heads.names[0].clone()),
        ("a name that is empty", |heads| heads.names[1].clear()),
        ("a name too many", |heads| heads.names.push("more".into())),
        ("a bias that is not a number", |heads| heads.biases[0] = f64::NAN),
        ("a head that is not there", |heads| heads.ids[0] = 4),
        ("heads of a feature that fall", |heads| heads.ids.swap(0, 1)),
        ("a threshold too few", |heads| heads.thresholds = Some(vec![0.0; 3])),
        ("thresholds of classes", |heads| {
            (heads.kind, heads.thresholds) = (HeadKind::Ovr, Some(vec![0.0; 4]))
        }),
    ];
    assert!(Model::from_bytes(&model.to_bytes().unwrap()).is_ok());
    for (what, breaks) in breaks {
        let mut broken = model.clone();
        breaks(broken.heads.as_mut().unwrap());
        let bytes = match broken.to_bytes() {
            Ok(bytes) => bytes,
            Err(refusal) => {
                assert!(what == "a bias that is not a number", "{what}: {refusal}");
                continue; // such a model is not even written
            }
        };
        let refusal = Model::from_bytes(&bytes).expect_err(what);
        assert!(refusal.0.contains("breaks a rule"), "{what}: {}", refusal.0);
    }
}
