//! Laws of row offsets: for a squared loss they are subtracted from targets, for any loss they are a feature of weight one,
//! and all ways to give them are one.

use crate::common::problem::losses;
use crate::common::{log_uniform, rows, sign};
use lazyglm::data::format::ReadOptions;
use lazyglm::data::sample_weights::RowOffsets;
use lazyglm::loss;
use lazyglm::optim::scales::Scales;
use lazyglm::train::search::{Folds, HeldOutRows, Outcome, Search, path, points, search};
use lazyglm::util::random::Random;
use lazyglm::{
    CacheMode, Dataset, ElasticNet, Features, HeadKind, Labels, Load, Loss, Precision, Request, Rows,
    SOLVERS, SampleWeights, Settings, TargetKind, Task, objective, train,
};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;

const COLUMNS: usize = 12;

fn task(rows: &Rows, targets: &[f64], offsets: Option<&[f64]>, loss: &Arc<dyn Loss>) -> Task {
    let mut rows = rows.clone();
    rows.declare_columns(COLUMNS);
    let features = Features::columns_from(0, COLUMNS);
    let data = Dataset::made(rows, Labels::Numbers(targets.to_vec()), features);
    Task::builder(data).loss(loss.clone()).offsets(offsets.map(<[f64]>::to_vec)).build().unwrap()
}

/// Two tasks of a squared loss that differ in form alone: offsets o, and targets y − o. Numbers are multiples of 1/64, so
/// that no difference is rounded.
fn pair(random: &mut Random, count: usize) -> [Task; 2] {
    let rows = rows(random, count, COLUMNS);
    let truth: Vec<f64> = (0..COLUMNS).map(|j| j as f64 / 4.0 - 1.0).collect();
    let offsets: Vec<f64> = (0..count).map(|_| (random.below(512) as f64 - 256.0) / 64.0).collect();
    let rest: Vec<f64> = (0..count)
        .map(|i| ((rows.borrow().dot(i, &truth) + random.uniform()) * 64.0).round() / 64.0)
        .collect();
    let targets: Vec<f64> = rest.iter().zip(&offsets).map(|(rest, o)| rest + o).collect();
    let squared = loss::parse("squared").unwrap();
    [task(&rows, &targets, Some(&offsets), &squared), task(&rows, &rest, None, &squared)]
}

fn near(a: f64, b: f64, within: f64) -> bool {
    (a - b).abs() <= within * (1.0 + a.abs().max(b.abs()))
}

#[test]
fn for_a_squared_loss_offsets_are_subtracted_from_the_targets() {
    let mut random = Random::new(5);
    for row in SOLVERS {
        for bias in [true, false] {
            let [with, without] = pair(&mut random, 300);
            let settings = Settings {
                solver: row.solver,
                penalty: ElasticNet { l1: 0.02, l2: 0.05 },
                choose_penalty: row.solver.name() == "auto",
                precision: Precision::F64,
                eta0: (row.solver.name() != "auto").then_some(0.01),
                tolerance: 1e-9,
                bias,
                ..Settings::default()
            };
            let [a, b] = [&with, &without].map(|task| train(task, None, &settings, &mut |_| {}).unwrap());
            let cell = format!("{} bias {bias}", row.solver);
            assert!(a.weights.iter().any(|w| *w != 0.0), "{cell}");
            assert!(a.weights.iter().zip(&b.weights).all(|(a, b)| near(*a, *b, 1e-8)), "{cell}");
            assert!(near(a.bias, b.bias, 1e-8), "{cell}: {} {}", a.bias, b.bias);
            let (a, b) = (a.report, b.report);
            for (a, b) in [(a.objective, b.objective), (a.baseline, b.baseline), (a.l1_max, b.l1_max)] {
                assert!(near(a, b, 1e-9), "{cell}: {a} {b}");
            }
            assert!(near(a.dual.unwrap(), b.dual.unwrap(), 1e-7), "{cell}");
        }
    }
}

#[test]
fn a_rate_that_is_searched_for_is_that_of_the_remaining_targets() {
    let [with, without] = pair(&mut Random::new(6), 600);
    for row in SOLVERS.iter().filter(|row| ["sgd", "adagrad", "ftrl"].contains(&row.solver.name())) {
        let settings = Settings { solver: row.solver, eta0: None, ..Settings::default() };
        let rates =
            [&with, &without].map(|task| train(task, None, &settings, &mut |_| {}).unwrap().report.eta0);
        assert_eq!(rates[0], rates[1], "{}", row.solver);
    }
}

#[test]
fn lanes_of_a_search_and_of_a_path_have_offsets_too() {
    let [with, without] = pair(&mut Random::new(7), 400);
    let settings = Settings { precision: Precision::F64, epochs: 3, ..Settings::default() };
    let grid = points(&[0.01, 0.1], &[0.0, 0.1], &[0.01]);
    let searched = |task: &Task, held: HeldOutRows| -> Outcome {
        let (points, memory) = (grid.clone(), 1 << 30);
        let job = Search { task, held, settings: &settings, points, memory, deadline: None, halving: false };
        search(&job, &mut |_| {}).unwrap()
    };
    let folds: Vec<u16> = (0..400).map(|i| i % 4).collect();
    let of_folds = [&with, &without]
        .map(|task| searched(task, HeldOutRows::Folds(Folds::given(folds.clone()).unwrap())));
    let some: Vec<usize> = (0..50).collect();
    let of_rows = [&with, &without].map(|task| searched(task, HeldOutRows::Rows(&task.select(&some))));
    for [a, b] in [of_folds, of_rows] {
        assert_eq!(a.best, b.best);
        assert!(a.scores.iter().zip(&b.scores).all(|(a, b)| near(a.mean, b.mean, 1e-9)));
    }
    let [a, b] = [&with, &without]
        .map(|task| path(task, Some(&task.select(&some)), &settings, &grid, 1 << 30).unwrap());
    for (a, b) in a.iter().zip(&b) {
        assert!(near(a.objective.total(), b.objective.total(), 1e-9) && near(a.bias, b.bias, 1e-9));
        assert!(near(a.validation_loss.unwrap(), b.validation_loss.unwrap(), 1e-9));
        assert!(a.weights.iter().zip(&b.weights).all(|(a, b)| a.0 == b.0 && near(a.1, b.1, 1e-9)));
    }
}

#[test]
fn held_out_rows_keep_their_offsets() {
    let [with, without] = pair(&mut Random::new(8), 200);
    let some: Vec<usize> = (0..200).filter(|i| i % 3 == 0).collect();
    let settings = Settings { eta0: Some(0.01), precision: Precision::F64, ..Settings::default() };
    let losses = [&with, &without].map(|task| {
        let trained = train(task, Some(&task.select(&some)), &settings, &mut |_| {}).unwrap();
        trained.report.validation.unwrap().loss
    });
    assert!(near(losses[0], losses[1], 1e-9), "{losses:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// An offset column is a feature whose weight is fixed at one.
    #[test]
    fn offsets_are_a_feature_of_weight_one(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        for loss in losses() {
            let count = 30;
            let drawn = rows(&mut random, count, COLUMNS - 1);
            let targets: Vec<f64> =
                (0..count).map(|_| crate::common::problem::target(&mut random, &*loss)).collect();
            let offsets: Vec<f64> =
                (0..count).map(|_| sign(&mut random) * log_uniform(&mut random, 0.01, 1.0)).collect();
            let mut longer = Rows::new();
            for (i, offset) in offsets.iter().enumerate() {
                let mut pairs = Vec::new();
                drawn.borrow().for_each(i, |j, x| pairs.push((j as u32, x)));
                pairs.push((COLUMNS as u32 - 1, *offset));
                longer.push(&pairs).unwrap();
            }
            longer.declare_columns(COLUMNS);
            let mut shorter = drawn;
            shorter.declare_columns(COLUMNS);
            let shorter = lazyglm::Examples::new(shorter.borrow(), &targets, None).unwrap();
            let (shorter, longer) =
                (shorter.with_offsets(&offsets).unwrap(), lazyglm::Examples::new(longer.borrow(), &targets, None).unwrap());
            let mut w: Vec<f64> = (0..COLUMNS).map(|_| random.uniform() - 0.5).collect();
            w[COLUMNS - 1] = 0.0;
            let of_one = { let mut of_one = w.clone(); of_one[COLUMNS - 1] = 1.0; of_one };
            let [a, b] = [(shorter, &w), (longer, &of_one)].map(|(examples, w)| objective::mean_loss(examples, &*loss, w, 0.3));
            prop_assert!(near(a, b, 1e-12), "{}: {a} {b}", loss.spec());
            // The violation without a penalty is the largest derivative of F, here by finite differences.
            if loss.kinks(1.0).is_empty() {
                let none = ElasticNet { l1: 0.0, l2: 0.0 };
                let step = 1e-5;
                let moved = |j: usize, by: f64| {
                    let (mut w, mut bias) = (w.clone(), 0.3);
                    if j < COLUMNS { w[j] += by } else { bias += by }
                    objective::mean_loss(shorter, &*loss, &w, bias)
                };
                let slopes = (0..COLUMNS + 1).map(|j| ((moved(j, step) - moved(j, -step)) / (2.0 * step)).abs());
                let largest = slopes.fold(0.0, f64::max);
                let violation = objective::violation(shorter, &*loss, none, &w, Some(0.3));
                prop_assert!((violation - largest).abs() < 1e-5 * (1.0 + violation), "{}: {violation} {largest}", loss.spec());
            }
        }
    }
}

/// A count y in an exposure of e hours is e counts of one hour each whose sum is y: the weights are the same, whether the
/// hours are rows of their own or an offset ln e.
#[test]
fn an_exposure_of_some_hours_is_as_many_rows_of_one_hour() {
    let mut random = Random::new(9);
    let poisson = loss::parse("poisson").unwrap();
    let (mut few, mut many) = (Rows::new(), Rows::new());
    let (mut counts, mut each, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..120 {
        let mut pairs: Vec<(u32, f64)> = (0..COLUMNS as u32).map(|j| (j, random.uniform())).collect();
        pairs.retain(|_| random.below(3) > 0);
        let hours = 1 + random.below(5);
        let in_each: Vec<f64> = (0..hours).map(|_| random.below(4) as f64).collect();
        few.push(&pairs).unwrap();
        counts.push(in_each.iter().sum());
        offsets.push((hours as f64).ln());
        for count in in_each {
            many.push(&pairs).unwrap();
            each.push(count);
        }
    }
    let grouped = task(&few, &counts, Some(&offsets), &poisson);
    let single = task(&many, &each, None, &poisson);
    // F is a mean over rows, so that the penalty of a group counts once per hour.
    let hours = each.len() as f64 / counts.len() as f64;
    let fit = |task: &Task, times: f64| {
        let penalty = ElasticNet { l1: 0.05 * times, l2: 0.05 * times };
        let settings = Settings {
            solver: "newton".parse().unwrap(),
            penalty,
            precision: Precision::F64,
            tolerance: 1e-12,
            ..Settings::default()
        };
        train(task, None, &settings, &mut |_| {}).unwrap()
    };
    let [a, b] = [fit(&grouped, hours), fit(&single, 1.0)];
    assert!(
        a.weights.iter().zip(&b.weights).all(|(a, b)| near(*a, *b, 1e-5)),
        "{:?} {:?}",
        a.weights,
        b.weights
    );
    assert!(near(a.bias, b.bias, 1e-5) && a.report.relative_gap.unwrap() < 1e-8);
    assert!(near(a.report.l1_max / hours, b.report.l1_max, 1e-9));
    // Without weights, the best bias is the logarithm of all counts over all hours.
    let rate = (each.iter().sum::<f64>() / each.len() as f64).ln();
    let units = Scales::of(grouped.examples()).units(&*poisson, true);
    assert!(near(units.start, rate, 1e-12));
    let baseline = objective::mean_loss(grouped.examples(), &*poisson, &[0.0; COLUMNS], rate);
    assert!(near(a.report.baseline, baseline, 1e-12));
}

#[test]
fn offsets_that_are_not_one_finite_number_per_row_are_refused_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.svm");
    std::fs::write(&file, "1 1:1\n# a comment\n2 2:1\n3 3:1\n").unwrap();
    let refused = |offsets: Vec<f64>| {
        let data = Dataset::load(&file, &Load::default()).unwrap().0;
        Task::builder(data).offsets(offsets).build().unwrap_err().to_string()
    };
    assert!(refused(vec![0.0; 2]).contains("there are 2 offsets for 3 rows"), "{}", refused(vec![0.0; 2]));
    assert!(refused(vec![0.0, f64::NAN, 0.0]).contains("a.svm:3: the row has no offset"));
    assert!(refused(vec![0.0, 0.0, f64::INFINITY]).contains("a.svm:4: the offset inf is not finite"));
}

#[test]
fn many_heads_refuse_offsets_as_the_table_says() {
    let folder = tempfile::tempdir().unwrap();
    for (heads, targets) in [
        (HeadKind::Ovr, ["a", "b", "c"]),
        (HeadKind::Softmax, ["a", "b", "c"]),
        (HeadKind::Labels, ["1", "2", "1,2"]),
    ] {
        let file = folder.path().join("a.svm");
        let row = |k: usize| format!("{} {}:1\n", targets[k % 3], 1 + k % 4);
        std::fs::write(&file, (0..60).map(row).collect::<String>()).unwrap();
        let data = Dataset::load(&file, &Load::default()).unwrap().0;
        let task = Task::builder(data).heads(heads).offsets(vec![0.5; 60]).build().unwrap();
        for row in SOLVERS {
            let wanted =
                Request { targets: Some(TargetKind::of(Some(heads))), offsets: true, ..Request::default() };
            let refusal = row.solver.check(&wanted).unwrap_err().to_string();
            let settings = Settings { solver: row.solver, ..Settings::default() };
            assert_eq!(train(&task, None, &settings, &mut |_| {}).unwrap_err().to_string(), refusal);
        }
        let wanted = Request { offsets: true, on_disk: true, ..Request::default() };
        assert!(
            SOLVERS.iter().all(|row| row.solver.check(&wanted).is_ok()),
            "one model has offsets on disk, too"
        );
    }
}

/// The same offsets as the base of Vowpal Wabbit text, a column, a key, and a file beside the data; from a cache as well.
#[test]
fn all_ways_to_give_offsets_are_one() {
    let folder = tempfile::tempdir().unwrap();
    let offsets: Vec<f64> = (0..50).map(|i| f64::from(i % 7) / 8.0 - 0.25).collect();
    let row = |k: usize| (k % 2, k % 5, offsets[k]);
    let text = |one: &dyn Fn((usize, usize, f64)) -> String| (0..50).map(|k| one(row(k))).collect::<String>();
    let write = |name: &str, text: String| {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name)
    };
    let asked =
        |offset: Option<&str>| ReadOptions { offset: offset.map(str::to_string), ..Default::default() };
    let plain = write("plain.vw", text(&|(y, x, _)| format!("{y} | x:{x} c\n")));
    let beside = write("offsets", offsets.iter().map(|offset| format!("{offset}\n")).collect());
    let files = [
        (write("a.vw", text(&|(y, x, o)| format!("{y} 1 {o} | x:{x} c\n"))), None),
        (write("a.csv", "y,x,c,o\n".to_string() + &text(&|(y, x, o)| format!("{y},{x},1,{o}\n"))), Some("o")),
        (
            write(
                "a.jsonl",
                text(&|(y, x, o)| format!(r#"{{"o": {o}, "y": {y}, "x": {x}, "c": 1}}{}"#, '\n')),
            ),
            Some("o"),
        ),
    ];
    let load = |path: &Path, load: Load| Dataset::load(path, &load).unwrap().0;
    let given = Some(RowOffsets::read(&beside).unwrap());
    let expected = load(&plain, Load { offsets: given.clone(), ..Load::default() });
    assert_eq!(expected.offsets.as_deref(), Some(&offsets[..]));
    for (path, column) in files {
        for cache in [CacheMode::Auto, CacheMode::Auto, CacheMode::Off] {
            let data = load(&path, Load { asked: asked(column), cache, ..Load::default() });
            assert_eq!(data.offsets, expected.offsets, "{}", path.display());
            assert_eq!(data.features.columns(), expected.features.columns(), "the offset is no feature");
        }
        let both = load(&path, Load { asked: asked(column), offsets: given.clone(), ..Load::default() });
        assert_eq!(both.offsets.unwrap()[3], 2.0 * offsets[3], "those of a file are added");
    }
    // Rows of weight zero take their offsets with them.
    let weights = write("weights", (0..50).map(|i| format!("{}\n", i % 3)).collect());
    let weights = Some(SampleWeights::read(&weights).unwrap());
    let fewer = load(&plain, Load { weights, offsets: given, ..Load::default() }).offsets.unwrap();
    let kept: Vec<f64> = (0..50).filter(|i| i % 3 != 0).map(|i| offsets[i]).collect();
    assert_eq!(fewer, kept);
}

#[test]
fn a_missing_offset_is_an_error_at_its_row() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, text: &str, place: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let load =
            Load { asked: ReadOptions { offset: Some("o".into()), ..Default::default() }, ..Load::default() };
        let told = Dataset::load(&path, &load).and_then(|(data, _)| Task::builder(data).build());
        let told = told.unwrap_err().to_string();
        assert!(told.contains(place), "{told}");
    };
    refused("a.csv", "y,x,o\n1,1,0\n0,2,\n", "a.csv:3:5: the offset '' in column 'o'");
    refused("b.csv", "y,x,o\n1,1,0\n0,2,much\n", "b.csv:3:5: the offset 'much' in column 'o'");
    refused("a.jsonl", "{\"y\":1,\"x\":1,\"o\":0}\n{\"y\":0,\"x\":2}\n", "a.jsonl:2: the row has no offset");
    refused(
        "b.jsonl",
        "{\"y\":1,\"x\":1,\"o\":0}\n{\"y\":0,\"x\":2,\"o\":\"a\"}\n",
        "b.jsonl:2:18: the offset 'o' is not a finite number",
    );
    refused("c.csv", "y,x\n1,1\n", "there is no column 'o'");
    refused("c.jsonl", "{\"y\":1,\"x\":1}\n", "no key 'o' occurs");
    refused("c.svm", "1 1:1\n", "offset_column has no meaning for svmlight");
}
