//! Laws of certificates from files: a model and its data prove what training reported, whatever the targets are.

use crate::common::{log_uniform, rows};
use lazyglm::objective::{self, SoftmaxProblem};
use lazyglm::util::random::Random;
use lazyglm::{
    Certify, ClassWeight, Dataset, Declared, ElasticNet, Examples, HeadKind, Load, Model, PenaltyFactors,
    SampleWeights, Scale, Settings, Solver, Task, Trained, WeightedPenalty, loss, start_of, train,
};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The last column has a value in every row, because a line without labels and features is no row.
const COLUMNS: usize = 32;
const ROWS: usize = 120;

/// What a model learns: loss, heads.
const KINDS: [(&str, Option<HeadKind>); 7] = [
    ("squared", None),
    ("logistic", None),
    ("hinge", None),
    ("logistic", Some(HeadKind::Ovr)),
    ("hinge", Some(HeadKind::Ovr)),
    ("logistic", Some(HeadKind::Labels)),
    ("logistic", Some(HeadKind::Softmax)),
];

/// A folder for one case, which is removed with its files at the end.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: String) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// Rows in svmlight with targets that depend a little on their features; indices count from 1.
fn text(random: &mut Random, (loss, heads): (&str, Option<HeadKind>)) -> String {
    let rows = rows(random, ROWS, COLUMNS - 1);
    let rows = rows.borrow();
    let mut text = String::new();
    for i in 0..ROWS {
        let (mut pairs, mut sum) = (String::new(), 0.0);
        rows.for_each(i, |j, x| {
            pairs += &format!(" {}:{x:?}", j + 1);
            sum += if j % 2 == 0 { x } else { -x };
        });
        pairs += &format!(" {COLUMNS}:0.5");
        let drawn = sum + 2.0 * random.uniform() - 1.0;
        let class = |cut: f64| usize::from(drawn > -cut) + usize::from(drawn > cut);
        let target = match (loss, heads) {
            ("squared", _) => format!("{drawn:?}"),
            (_, None) => ["no", "yes"][usize::from(drawn > 0.0)].to_string(),
            (_, Some(HeadKind::Labels)) => {
                let own = (0..3).filter(|k| i == *k || drawn > *k as f64 - 1.0).map(|k| format!("l{k}"));
                own.collect::<Vec<_>>().join(",")
            }
            _ => ["a", "b", "c"][if i < 3 { i } else { class(0.5) }].to_string(),
        };
        text += &format!("{target}{pairs}\n");
    }
    text
}

/// The choices of a training run, and the same for a certificate.
struct Case {
    settings: Settings,
    load: Load,
    class_weight: Option<ClassWeight>,
    factors: Option<PenaltyFactors>,
}

impl Case {
    fn draw(random: &mut Random, folder: &Folder, kind: (&str, Option<HeadKind>)) -> Case {
        let l2 = if random.below(4) == 0 { 0.0 } else { log_uniform(random, 1e-3, 1e-1) };
        let penalty = ElasticNet { l1: log_uniform(random, 1e-3, 3e-2), l2 };
        let lines = |count: usize, one: &mut dyn FnMut(usize) -> String| {
            (0..count).map(|i| one(i) + "\n").collect::<String>()
        };
        let weights =
            folder.write("weights", lines(ROWS, &mut |i| format!("{}", if i < 3 { 1 } else { i % 4 })));
        let factors =
            folder.write("factors", lines(12, &mut |j| format!("{}\t{}", 3 * j + 1, 0.5 + j as f64)));
        let classes = kind.0 != "squared" && kind.1 != Some(HeadKind::Labels);
        Case {
            settings: Settings {
                solver: Solver::Newton,
                penalty,
                tolerance: 1e-5,
                bias: random.below(4) > 0,
                nonnegative: random.below(3) == 0,
                ..Settings::default()
            },
            load: Load {
                declared: Declared { base: Some(1), count: None },
                weights: (random.below(2) == 0).then(|| SampleWeights::read(&weights).unwrap()),
                as_f32: true,
                scale: [Scale::None, Scale::MaxAbs, Scale::Std][random.below(3) as usize],
                ..Load::default()
            },
            class_weight: (classes && random.below(2) == 0).then_some(ClassWeight::Balanced),
            factors: (random.below(2) == 0).then(|| PenaltyFactors::read(&factors).unwrap()),
        }
    }

    fn task(&self, file: &Path, (loss, heads): (&str, Option<HeadKind>), load: &Load) -> Task {
        let (data, weights) = Dataset::load(file, load).unwrap();
        let builder = Task::builder(data).loss(loss::parse(loss).unwrap()).heads(heads);
        builder.sample_weights(weights).class_weight(self.class_weight.clone()).build().unwrap()
    }

    fn train(&self, task: &Task) -> (Trained, Model) {
        let factors = self.factors.as_ref().map(|factors| Arc::new(factors.on(&task.data.features).0));
        let settings = Settings { factors, ..self.settings.clone() };
        let trained = train(task, None, &settings, &mut |_| {}).unwrap();
        let model = Model::new(task, &settings, trained.clone());
        (trained, model)
    }

    /// The certificates of the weights of a model file on a task in memory: one, or one per head.
    fn in_memory(&self, model: &Model, task: &Task) -> Vec<objective::Certificate> {
        let names = task.targets.heads().map_or(&[][..], |heads| heads.names);
        let (start, lost) = start_of(model, &task.data.features, names);
        assert_eq!(lost, 0);
        let factors = self.factors.as_ref().map(|factors| factors.on(&task.data.features).0);
        let Settings { penalty, nonnegative, bias, .. } = self.settings;
        let weighted_penalty =
            WeightedPenalty { penalty, factors: factors.as_deref(), nonnegative, bounds: None };
        let (rows, weights) = (task.data.rows.borrow(), task.weights.as_deref());
        let one = |examples: Examples, of: &[f64], own: f64| {
            objective::certify(examples, &*task.loss, weighted_penalty, of, bias.then_some(own))
        };
        match task.targets.heads() {
            None => vec![one(task.examples(), &start.weights, start.bias)],
            Some(heads) if heads.kind == HeadKind::Softmax => {
                let problem =
                    SoftmaxProblem { rows, classes: &heads.sets.ids, weights, weighted_penalty, bias };
                vec![objective::certify_softmax(&problem, &start.heads)]
            }
            Some(heads) => {
                let head = |(k, head): (usize, &lazyglm::Head)| {
                    let sign = |i: usize| if heads.sets.has(i, k) { 1.0 } else { -1.0 };
                    let targets: Vec<f64> = (0..task.len()).map(sign).collect();
                    one(
                        Examples::new(rows, &targets, weights).unwrap(),
                        &head.dense(rows.columns()),
                        head.bias,
                    )
                };
                start.heads.iter().enumerate().map(head).collect()
            }
        }
    }

    fn certify(&self) -> Certify {
        Certify {
            penalty: self.settings.penalty,
            factors: self.factors.clone(),
            nonnegative: self.settings.nonnegative,
            scale: self.load.scale,
            sample_weights: self.load.weights.clone(),
            class_weight: self.class_weight.clone(),
            ..Certify::default()
        }
    }
}

/// The largest violation of some certificates.
fn largest(certificates: &[objective::Certificate]) -> f64 {
    certificates.iter().map(|one| one.kkt).fold(0.0, f64::max)
}

fn near(a: f64, b: f64, to: f64) -> bool {
    (a - b).abs() <= to * a.abs().max(b.abs()).max(1e-3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_file_proves_what_training_reported(seed in any::<u64>(), kind in 0..KINDS.len()) {
        let (mut random, folder, kind) = (Random::new(seed), Folder::new(), KINDS[kind]);
        let case = Case::draw(&mut random, &folder, kind);
        let file = folder.write("data.svm", text(&mut random, kind));
        let (trained, model) = case.train(&case.task(&file, kind, &case.load));
        let proved = case.certify().run(&model, &file).unwrap();
        let (report, proof) = (&trained.report, proved.certificate);
        prop_assert!(near(proof.objective, report.objective, 1e-9), "{proof:?} {}", report.objective);
        let expected = case.in_memory(&model, &case.task(&file, kind, &case.load));
        // Scaling rounds weights, which may move a score from one side of a kink to the other: the slope then jumps.
        let violation = match kind.0 == "hinge" && case.load.scale != Scale::None {
            true => largest(&expected),
            false => report.violation,
        };
        prop_assert!((proof.kkt - violation).abs() <= 1e-9 + 1e-6 * violation, "{proof:?} {violation}");
        let (dual, of_solver) = (proof.dual.unwrap(), report.dual.unwrap());
        let in_memory: f64 = expected.iter().map(|one| one.dual.unwrap()).sum();
        prop_assert!(near(dual, in_memory, 1e-7), "{dual} {in_memory}");
        // A model file has the point only; Newton's last model may prove more. Near kinks, dual ascent may end at another
        // bound after one rounding.
        let as_good = of_solver >= dual || near(dual, of_solver, 1e-7);
        prop_assert!(kind.0 == "hinge" || as_good, "{dual} {of_solver}");
        prop_assert!(of_solver <= proof.objective * (1.0 + 1e-9), "{of_solver} {proof:?}");
        prop_assert_eq!(proved.rows, report.rows);
        prop_assert_eq!(proved.heads.len(), trained.heads.len());
        let each: f64 = proved.heads.iter().map(|(_, head)| head.objective).sum();
        prop_assert!(proved.heads.is_empty() || near(each, proof.objective, 1e-9), "{each} {proof:?}");
    }

    #[test]
    fn features_of_one_side_only_count_as_on_all_columns(seed in any::<u64>(), kind in 0..KINDS.len()) {
        let (mut random, folder, kind) = (Random::new(seed), Folder::new(), KINDS[kind]);
        let mut case = Case::draw(&mut random, &folder, kind);
        case.load.scale = Scale::None;
        // Each file has half of the indices for itself, and the rest in common.
        let mut only = |drop: usize| {
            let line = |line: &str| {
                let dropped = |pair: &&str| pair.split_once(':').is_none_or(|(j, _)| j.parse::<usize>().unwrap() % 4 != drop);
                line.split(' ').filter(dropped).collect::<Vec<_>>().join(" ") + "\n"
            };
            text(&mut random, kind).lines().map(line).collect::<String>()
        };
        let [learnt, other] = [("learnt.svm", only(1)), ("other.svm", only(2))].map(|(name, text)| folder.write(name, text));
        let (_, model) = case.train(&case.task(&learnt, kind, &case.load));
        let proved = case.certify().run(&model, &other).unwrap().certificate;

        let all = Load { declared: Declared { base: Some(1), count: Some(COLUMNS) }, ..case.load.clone() };
        let task = case.task(&other, kind, &all);
        let expected = case.in_memory(&model, &task);
        let sum = |of: fn(&objective::Certificate) -> f64| expected.iter().map(of).sum::<f64>();
        prop_assert!(near(proved.objective, sum(|one| one.objective), 1e-10), "{proved:?} {expected:?}");
        prop_assert!(near(proved.dual.unwrap(), sum(|one| one.dual.unwrap()), 1e-9), "{proved:?} {expected:?}");
        prop_assert!(near(proved.kkt, largest(&expected), 1e-9), "{proved:?} {expected:?}");
    }
}

#[test]
fn a_class_that_the_model_does_not_have_is_an_error_with_its_place() {
    let folder = Folder::new();
    for ((loss, heads), stranger, what) in [
        (("logistic", None), "maybe 1:1\n", ": the target 'maybe' is none of the classes 'no' and 'yes'"),
        (("logistic", Some(HeadKind::Ovr)), "d 1:1\n", ": the target 'd' is none of the 3 classes"),
        (("logistic", Some(HeadKind::Softmax)), "d 1:1\n", ": the target 'd' is none of the 3 classes"),
        (("logistic", Some(HeadKind::Labels)), "l0,new 1:1\n", ": the label 'new' is none of those"),
    ] {
        let mut random = Random::new(1);
        let rows = text(&mut random, (loss, heads));
        let file = folder.write("data.svm", rows.clone());
        let case = Case::draw(&mut random, &folder, (loss, heads));
        let case = Case { load: Load { weights: None, ..case.load }, ..case };
        let (_, model) = case.train(&case.task(&file, (loss, heads), &case.load));
        let file = folder.write("more.svm", rows + stranger);
        let error = case.certify().run(&model, &file).unwrap_err().to_string();
        assert!(error.contains(&format!("more.svm:{}{what}", ROWS + 1)), "{error}");
    }
    let (kind, mut random) = (("logistic", Some(HeadKind::Ovr)), Random::new(2));
    let rows = text(&mut random, kind);
    let file = folder.write("data.svm", rows.clone());
    let mut case = Case::draw(&mut random, &folder, kind);
    (case.load.weights, case.class_weight) = (None, Some(ClassWeight::Balanced));
    let (_, model) = case.train(&case.task(&file, kind, &case.load));
    let fewer: String =
        rows.lines().filter(|line| !line.starts_with('b')).map(|line| line.to_string() + "\n").collect();
    let proved = case.certify().run(&model, &folder.write("fewer.svm", fewer)).unwrap();
    assert!(
        proved.heads.len() == 3 && proved.certificate.relative_gap.is_some(),
        "a class without rows is no error"
    );
}
