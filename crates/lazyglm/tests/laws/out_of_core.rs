//! Laws of the optimum for rows on disk: it is that of rows in memory, with a certificate, in few passes.

use crate::common::{log_uniform, sign};
use lazyglm::loss::{self, Admits};
use lazyglm::problem::source::{About, Batch, Pooled, See, Sequence};
use lazyglm::util::random::Random;
use lazyglm::{
    Dataset, ElasticNet, Features, Labels, Place, Problem, Report, Rows, RowsRef, Settings, Solver, Source,
    Stop, Task, Trained, ValuesRef, objective, train,
};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A task that shows its rows a few at a time, as if they were on disk.
pub(crate) struct OnDisk {
    task: Task,
    window: usize,
    spare: usize,
    passes: AtomicUsize,
}

impl OnDisk {
    fn show(&self, from: usize, order: &[u32], see: &mut See) -> lazyglm::Result<()> {
        let all = self.task.examples();
        let to = (from + self.window).min(all.len());
        let span = all.rows.offsets()[from]..all.rows.offsets()[to];
        let offsets: Vec<usize> = all.rows.offsets()[from..=to].iter().map(|at| at - span.start).collect();
        let values = match all.rows.values() {
            ValuesRef::F32(values) => ValuesRef::F32(&values[span.clone()]),
            ValuesRef::F64(values) => ValuesRef::F64(&values[span.clone()]),
        };
        see(&Batch {
            rows: RowsRef::new(&offsets, &all.rows.ids()[span], values, all.rows.columns())?,
            targets: lazyglm::problem::task::TargetsRef::Numbers(&all.targets[from..to]),
            weights: all.weights.map(|weights| &weights[from..to]),
            offsets: all.offsets.map(|offsets| &offsets[from..to]),
            order,
            place: &|_| Place::default(),
            number: &|i| (from + i) as u64,
        })
    }
}

impl Source for OnDisk {
    fn rows(&self) -> usize {
        self.task.len()
    }

    fn epoch(&self, sequence: Sequence, epoch: u64, see: &mut See) -> lazyglm::Result<()> {
        for from in (0..self.task.len()).step_by(self.window) {
            let rows = self.window.min(self.task.len() - from);
            self.show(from, &sequence.rows(rows, epoch), see)?;
        }
        Ok(())
    }

    fn pass(&self, see: &mut See) -> lazyglm::Result<()> {
        self.passes.fetch_add(1, Ordering::Relaxed);
        (0..self.task.len()).step_by(self.window).try_for_each(|from| self.show(from, &[], see))
    }
}

impl Problem for OnDisk {
    fn about(&self) -> About<'_> {
        self.task.about()
    }
    fn occurring(&self) -> Cow<'_, [bool]> {
        self.task.occurring()
    }
    fn nonzeros(&self) -> usize {
        self.task.nonzeros()
    }
    fn pooled(&self) -> Vec<Pooled> {
        self.task.pooled()
    }
    fn beginning(&self, sequence: Sequence, see: &mut See) -> lazyglm::Result<()> {
        self.show(0, &sequence.rows(self.window.min(self.task.len()), 0), see)
    }
    fn file(&self) -> Place {
        Place::default()
    }
    fn spare_memory(&self) -> usize {
        self.spare
    }
}

pub(crate) const ROWS: usize = 4000;
pub(crate) const COLUMNS: usize = 600;

/// Rows whose columns are frequent and rare, with targets that some columns explain.
pub(crate) fn made(random: &mut Random, loss: &str, weighted: bool) -> Task {
    let loss = loss::parse(loss).unwrap();
    let truth: Vec<f64> = (0..COLUMNS)
        .map(|j| if j % 7 == 0 { sign(random) * log_uniform(random, 0.1, 1.0) } else { 0.0 })
        .collect();
    let (mut rows, mut targets) = (Rows::new(), Vec::new());
    for _ in 0..ROWS {
        let id = |random: &mut Random| {
            ((COLUMNS as f64).powf(random.uniform()) as u32 - 1).min(COLUMNS as u32 - 1)
        };
        let mut ids: Vec<u32> = (0..2 + random.below(12)).map(|_| id(random)).collect();
        ids.sort_unstable();
        ids.dedup();
        let row: Vec<(u32, f64)> =
            ids.into_iter().map(|id| (id, 1.0 + random.below(3) as f64 / 2.0)).collect();
        let score: f64 =
            row.iter().map(|(id, x)| x * truth[*id as usize]).sum::<f64>() + random.uniform() - 0.5;
        targets.push(match loss.admits() {
            Admits::Classes => {
                if score > 0.2 {
                    1.0
                } else {
                    -1.0
                }
            }
            Admits::Reals => score,
            Admits::NonNegative => (1.5 * score.clamp(-2.0, 2.0).exp()).round(),
            Admits::Positive => 1.5 * score.clamp(-2.0, 2.0).exp(),
        });
        rows.push(&row).unwrap();
    }
    rows.declare_columns(COLUMNS);
    let data = Dataset::made(rows, Labels::Numbers(targets), Features::columns_from(1, COLUMNS));
    let weights = weighted.then(|| (0..ROWS).map(|_| log_uniform(random, 0.2, 5.0)).collect::<Vec<f64>>());
    Task::builder(data).loss(loss).sample_weights(weights).build().unwrap()
}

pub(crate) fn on_disk(task: &Task, spare: usize) -> OnDisk {
    OnDisk { task: task.clone(), window: 300, spare, passes: AtomicUsize::new(0) }
}

pub(crate) fn l1_max(task: &Task, bias: bool) -> f64 {
    objective::l1_max(task.examples(), &*task.loss, bias.into())
}

/// Whether the figures of a report are those of its weights, and its lower bound is one.
pub(crate) fn is_true(task: &Task, settings: &Settings, trained: &Trained, optimum: f64) {
    let Report { objective: f, violation, dual, relative_gap, .. } = trained.report;
    let bias = settings.bias.then_some(trained.bias);
    let judged =
        objective::certify(task.examples(), &*task.loss, settings.weighted_penalty(), &trained.weights, bias);
    assert!((f / judged.objective - 1.0).abs() < 1e-12, "{f} {}", judged.objective);
    assert!((violation - judged.kkt).abs() < 1e-7, "{violation} {}", judged.kkt);
    if let (Some(dual), Some(gap)) = (dual, relative_gap) {
        let rounding = 1e-9 * f.abs();
        assert!(dual <= optimum + rounding && dual <= f + rounding, "{dual} {optimum} {f}");
        assert!((gap - ((f - dual) / f.abs()).max(0.0)).abs() < 1e-12, "{gap}");
    }
}

#[test]
fn the_optimum_of_rows_on_disk_is_that_of_rows_in_memory_in_few_passes() {
    let mut random = Random::new(11);
    for (case, name) in
        ["logistic", "squared", "poisson", "gamma", "tweedie"].into_iter().cycle().take(40).enumerate()
    {
        let (bias, weighted, factors, nonnegative) =
            (case & 1 == 0, case & 2 > 0, case & 4 > 0, case % 7 == 4);
        let range = |j: usize| [[-0.2, 0.3], [0.0, 0.1], [-0.1, f64::INFINITY], [0.0, 0.0]][j % 4];
        let bounds = (case % 7 == 2).then(|| Arc::new((0..COLUMNS).map(range).collect()));
        let task = made(&mut random, name, weighted);
        let l1 = l1_max(&task, bias) * log_uniform(&mut random, 3e-3, 0.2);
        let l2 = if case & 8 > 0 { 0.0 } else { l1 };
        let factors = factors.then(|| Arc::new((0..COLUMNS).map(|j| 0.5 + (j % 4) as f64 / 2.0).collect()));
        // Without λ₂ the gap is the root of the distance: f64 has no digits for a smaller one.
        for tolerance in [1e-3, if l2 == 0.0 { 1e-6 } else { 1e-8 }] {
            let settings = Settings {
                solver: Solver::Newton,
                penalty: ElasticNet { l1, l2 },
                tolerance,
                bias,
                factors: factors.clone(),
                nonnegative,
                bounds: bounds.clone(),
                ..Settings::default()
            };
            let finely = Settings { tolerance: 1e-11, ..settings.clone() };
            let whole = train(&task, None, &finely, &mut |_| {}).unwrap();
            let disk = on_disk(&task, 64 << 20);
            let trained = train(&disk, None, &settings, &mut |_| {}).unwrap();
            let (report, cell) = (&trained.report, format!("{case} {name} {tolerance} {settings:?}"));
            let optimum = whole.report.objective;
            is_true(&task, &settings, &trained, optimum);
            assert_eq!((report.stop, report.solver), (Stop::Gap, Solver::Newton), "{cell}");
            assert!(report.relative_gap.unwrap() <= tolerance, "{cell}");
            assert!(report.objective <= optimum + tolerance * optimum.abs() + 1e-12, "{cell}");
            let passes = disk.passes.into_inner() as u64;
            assert!(report.passes == Some(passes) && passes <= 8, "{passes} passes: {cell}");
            if tolerance < 1e-3 {
                for (a, b) in whole.weights.iter().zip(&trained.weights) {
                    let noise = if l2 == 0.0 { 1e-4 } else { 0.0 };
                    assert!((*a == 0.0) == (*b == 0.0) || (a - b).abs() < noise, "{a} {b}: {cell}");
                }
                assert_eq!(report.l1_max, whole.report.l1_max, "{cell}");
            }
        }
    }
}

#[test]
fn weights_without_a_penalty_and_ridge_are_solved_as_in_memory() {
    let mut random = Random::new(5);
    for (name, l1, zero) in [("logistic", 1e-2, true), ("logistic", 0.0, false), ("squared", 0.0, false)] {
        let task = made(&mut random, name, false);
        let factors =
            zero.then(|| Arc::new((0..COLUMNS).map(|j| (j % 100 + 1).min(2) as f64 - 1.0).collect()));
        let settings = Settings {
            solver: Solver::Newton,
            penalty: ElasticNet { l1, l2: 1e-3 },
            factors,
            tolerance: 1e-6,
            ..Settings::default()
        };
        let finely = Settings { tolerance: 1e-11, ..settings.clone() };
        let optimum = train(&task, None, &finely, &mut |_| {}).unwrap().report.objective;
        let trained = train(&on_disk(&task, 64 << 20), None, &settings, &mut |_| {}).unwrap();
        is_true(&task, &settings, &trained, optimum);
        let stop = if zero { Stop::PredictedDecrease } else { Stop::Gap };
        assert_eq!(trained.report.stop, stop, "{name} {l1}");
        assert!(trained.report.objective <= optimum * (1.0 + 1e-6), "{name} {l1}");
    }
}

#[test]
fn too_little_memory_is_another_solver_and_a_note_says_so() {
    let mut random = Random::new(3);
    let task = made(&mut random, "logistic", false);
    let l1 = 0.02 * l1_max(&task, true);
    let settings = Settings {
        solver: Solver::Newton,
        penalty: ElasticNet { l1, l2: l1 },
        tolerance: 1e-3,
        ..Settings::default()
    };
    let optimum = train(&task, None, &settings, &mut |_| {}).unwrap().report.objective;
    let learn = |spare: usize| {
        let trained = train(&on_disk(&task, spare), None, &settings, &mut |_| {}).unwrap();
        let by_newton = trained.report.solver == Solver::Newton;
        assert_eq!(trained.report.passes.is_some(), by_newton, "{spare}");
        let told = if by_newton { "which fit into memory" } else { "do not fit into memory" };
        assert!(trained.notes.iter().any(|note| note.contains(told)), "{:?}", trained.notes);
        trained.report
    };
    let none = learn(0); // the sums of svrg are then made one after the other
    assert!(none.solver == Solver::Svrg && none.objective < 1.002 * optimum, "{none:?}");
    // From enough for the rows alone to enough for all columns: the columns of the first pass, of the second, …
    let mut solvers = Vec::new();
    for spare in (0..8).map(|k| 17 * ROWS + (k << 15)) {
        let report = learn(spare);
        assert!(report.objective < 1.002 * optimum, "{spare}: {} {optimum}", report.objective);
        solvers.push(report.solver);
    }
    assert!(solvers.is_sorted_by_key(|solver| *solver == Solver::Newton), "{solvers:?}");
    assert!(solvers[0] == Solver::Svrg && solvers[7] == Solver::Newton, "{solvers:?}");
    let bounded = Settings { nonnegative: true, ..settings.clone() };
    let trained = train(&on_disk(&task, 17 * ROWS), None, &bounded, &mut |_| {}).unwrap();
    assert_eq!(trained.report.solver, Solver::Svrg);
    assert!(trained.weights.iter().all(|w| *w >= 0.0));
}

#[test]
fn an_interrupted_run_returns_the_best_model_of_its_passes() {
    let task = made(&mut Random::new(8), "logistic", true);
    let l1 = 0.003 * l1_max(&task, true);
    let penalty = ElasticNet { l1, l2: l1 };
    let (mut models, mut looks) = (0, 0);
    let optimum = {
        let settings = Settings { solver: Solver::Newton, penalty, tolerance: 1e-9, ..Settings::default() };
        train(&on_disk(&task, 64 << 20), None, &settings, &mut |_| looks += 1).unwrap().report.objective
    };
    for at in 1..=looks {
        let (flag, mut seen) = (Arc::new(AtomicBool::new(false)), 0);
        let interrupt = Some(flag.clone());
        let settings =
            Settings { solver: Solver::Newton, penalty, tolerance: 1e-9, interrupt, ..Settings::default() };
        let trained = train(&on_disk(&task, 64 << 20), None, &settings, &mut |_| {
            seen += 1;
            flag.store(seen >= at, Ordering::Relaxed);
        });
        match trained {
            Ok(trained) => {
                is_true(&task, &settings, &trained, optimum);
                assert!(trained.report.stop == Stop::Interrupted || at >= looks - 1, "{at} of {looks}");
                models += 1;
            }
            Err(error) => assert!(models == 0 && error.to_string().contains("interrupt"), "{at}: {error}"),
        }
    }
    assert!(models > looks / 2, "{models} of {looks}");
}

#[test]
fn auto_with_a_penalty_is_newton_on_disk_and_a_start_is_used() {
    let task = made(&mut Random::new(9), "squared", false);
    let l1 = 0.02 * l1_max(&task, true);
    let settings = Settings {
        solver: Solver::Auto,
        penalty: ElasticNet { l1, l2: l1 },
        tolerance: 1e-6,
        ..Settings::default()
    };
    let disk = on_disk(&task, 64 << 20);
    let cold = train(&disk, None, &settings, &mut |_| {}).unwrap();
    assert_eq!((cold.report.solver, cold.report.stop), (Solver::Newton, Stop::Gap));
    let start = Some(Arc::new(lazyglm::Start::one(cold.weights.clone(), cold.bias)));
    let warm = train(&disk, None, &Settings { start, ..settings.clone() }, &mut |_| {}).unwrap();
    assert!(warm.report.passes <= Some(2) && warm.report.epochs <= 1, "{:?}", warm.report);
}

#[test]
fn a_loss_with_kinks_is_minimised_on_disk_as_in_memory_with_a_certificate() {
    let losses = ["hinge", "quantile:tau=0.3", "absolute", "epsilon-insensitive:epsilon=0.2"];
    for (loss, seed) in losses.into_iter().zip(9..) {
        let task = made(&mut Random::new(seed), loss, seed % 2 == 0);
        let l1 = 0.02 * l1_max(&task, true);
        for (solver, l2) in [(Solver::Auto, l1), (Solver::Newton, l1), (Solver::Newton, 0.1 * l1)] {
            let penalty = ElasticNet { l1, l2 };
            let settings = Settings { solver, penalty, tolerance: 1e-3, ..Settings::default() };
            let optimum = train(&task, None, &Settings { tolerance: 1e-6, ..settings.clone() }, &mut |_| {});
            let optimum = optimum.unwrap().report.objective;
            let trained = train(&on_disk(&task, 64 << 20), None, &settings, &mut |_| {}).unwrap();
            let report = &trained.report;
            is_true(&task, &settings, &trained, optimum);
            // Where many rows lie on a kink at the optimum, the last digits of the bound need multipliers.
            let most = if loss == "hinge" { 1e-3 } else { 5e-3 };
            let gap = report.relative_gap.unwrap();
            assert!(report.solver == Solver::Newton && gap <= most, "{loss} {l2}: {report:?}");
            assert_eq!(report.stop == Stop::Gap, gap <= 1e-3, "{loss} {l2}: {report:?}");
            assert!(
                report.objective <= (1.0 + most) * optimum,
                "{loss} {l2}: {} {optimum}",
                report.objective
            );
            assert!(report.passes.unwrap() <= 60, "{loss} {l2}: {report:?}");
        }
    }
    // Without memory for columns, and without a penalty, it is not for Newton's method.
    let hinge = made(&mut Random::new(9), "hinge", false);
    let settings = Settings { solver: Solver::Auto, ..Settings::default() };
    let solver = |spare: usize, settings: &Settings| {
        train(&on_disk(&hinge, spare), None, settings, &mut |_| {}).unwrap().report.solver
    };
    assert_eq!(solver(0, &settings), Solver::Sgd);
    let none = Settings { penalty: ElasticNet { l1: 0.0, l2: 0.0 }, ..settings };
    assert_eq!(solver(64 << 20, &none), Solver::Sgd);
    let newton = Settings { solver: Solver::Newton, ..none };
    let refusal = train(&on_disk(&hinge, 64 << 20), None, &newton, &mut |_| {}).unwrap_err().to_string();
    assert!(refusal.contains("needs a penalty"), "{refusal}");
}

#[test]
fn interrupted_on_kinks_it_returns_a_model_or_says_so() {
    let task = made(&mut Random::new(9), "hinge", false);
    let l1 = 0.02 * l1_max(&task, true);
    let penalty = ElasticNet { l1, l2: l1 };
    let settings = Settings { solver: Solver::Newton, penalty, tolerance: 1e-3, ..Settings::default() };
    let mut looks = 0;
    train(&on_disk(&task, 64 << 20), None, &settings, &mut |_| looks += 1).unwrap();
    let mut models = 0;
    for at in (1..looks).step_by((looks / 12).max(1)) {
        let (flag, mut seen) = (Arc::new(AtomicBool::new(false)), 0);
        let settings = Settings { interrupt: Some(flag.clone()), ..settings.clone() };
        let trained = train(&on_disk(&task, 64 << 20), None, &settings, &mut |_| {
            seen += 1;
            flag.store(seen >= at, Ordering::Relaxed);
        });
        match trained {
            Ok(trained) => {
                assert_eq!(trained.report.stop, Stop::Interrupted, "{at} of {looks}");
                is_true(&task, &settings, &trained, f64::INFINITY);
                models += 1;
            }
            Err(error) => assert!(error.to_string().contains("interrupt"), "{at}: {error}"),
        }
    }
    assert!(models > 0);
}
