//! The table of solvers is true: what it allows is learnt, and what it does not allow is refused with a way out.

use lazyglm::data::format::ReadOptions;
use lazyglm::loss::{self, Admits};
use lazyglm::{
    CacheMode, Dataset, Declared, Head, HeadKind, Kind, Losses, Method, Problem, Request, Result, SOLVERS,
    Settings, Solver, Start, TargetKind, Task, UpdateName, Windows, WindowsOptions, train,
};
use std::path::Path;
use std::sync::Arc;

/// Rows whose targets suit a loss.
fn file(folder: &Path, admits: Admits) -> std::path::PathBuf {
    let target = |k: usize| match admits {
        Admits::Classes => ["1", "-1"][k % 2].to_string(),
        Admits::NonNegative => (k % 4).to_string(),
        Admits::Positive => (1 + k % 4).to_string(),
        Admits::Reals => (0.5 * (k % 5) as f64 - 1.0).to_string(),
    };
    let row = |k: usize| format!("{} {}:1 {}:0.5 9:{}\n", target(k), 1 + k % 4, 5 + k % 3, 1 + k % 2);
    let path = folder.join(format!("{admits:?}.svm"));
    std::fs::write(&path, (0..120).map(row).collect::<String>()).unwrap();
    path
}

/// Learns in memory or through windows.
fn learn(file: &Path, settings: &Settings, loss: &str, on_disk: bool) -> Result<Solver> {
    let loss = Some(loss::parse(loss)?);
    if on_disk {
        let (asked, declared, cache) = (ReadOptions::default(), Declared::default(), CacheMode::Off);
        let options = WindowsOptions { asked, declared, cache, loss, memory: 64 << 20, ..Default::default() };
        let stream = Windows::open(file, &options, settings)?;
        return train(&stream, None, settings, &mut |_| {}).map(|trained| trained.report.solver);
    }
    let task = Task::builder(Dataset::read(file, Declared::default())?).loss(loss).build()?;
    train(&task, None, settings, &mut |_| {}).map(|trained| trained.report.solver)
}

#[test]
fn every_cell_of_the_table_is_true() {
    let folder = tempfile::tempdir().unwrap();
    let mut cells = 0;
    for row in SOLVERS {
        for entry in loss::TABLE {
            let loss = loss::parse(entry.name).unwrap();
            let file = file(folder.path(), loss.admits());
            for (on_disk, factors, bounds, runs) in
                (0..16).map(|k| (k & 1 > 0, k & 2 > 0, k & 4 > 0, k & 8 > 0))
            {
                let settings = Settings {
                    solver: row.solver,
                    epochs: 2,
                    eta0: (row.solver != Solver::Auto).then_some(0.01),
                    factors: factors.then(|| Arc::new(vec![1.0, 0.5, 0.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0])),
                    nonnegative: bounds,
                    bounds: bounds.then(|| Arc::new(vec![[-0.5, 0.1]; 9])),
                    runs: if runs { 2 } else { 1 },
                    ..Settings::default()
                };
                let wanted = Request {
                    loss: Some(&*loss),
                    on_disk,
                    factors,
                    nonnegative: bounds,
                    runs,
                    ..Request::default()
                };
                let allowed = row.solver.check(&wanted);
                let done = learn(&file, &settings, entry.name, on_disk);
                let cell = format!("{} {} {on_disk} {factors} {bounds} {runs}", row.solver, entry.name);
                match (&allowed, done) {
                    (Ok(()), Ok(_)) => {}
                    (Err(refusal), Err(told)) => {
                        assert!(matches!(told.kind(), Kind::Call { .. }), "{cell}: {told}");
                        assert_eq!(refusal.to_string(), told.to_string(), "{cell}");
                    }
                    (allowed, done) => panic!("{cell}: the table says {allowed:?}, and training {done:?}"),
                }
                cells += 1;
            }
        }
    }
    assert_eq!(cells, SOLVERS.len() * loss::TABLE.len() * 16);
}

/// One setting that a request and a run have in common, if it is on.
type Switch = (&'static str, fn(&mut Request), fn(&mut Settings));

/// A warm start of one model, and of two heads.
fn start() -> Start {
    Start { heads: vec![Head::of([0.1; 9].into_iter(), 0.0); 2], ..Start::one(vec![0.1; 9], 0.0) }
}

const SWITCHES: [Switch; 11] = [
    ("nothing", |_| {}, |_| {}),
    ("start", |r| r.start = true, |s| s.start = Some(Arc::new(start()))),
    ("factors", |r| r.factors = true, |s| s.factors = Some(Arc::new(vec![0.5; 9]))),
    ("nonnegative", |r| r.nonnegative = true, |s| s.nonnegative = true),
    ("bounds", |r| (r.lower, r.upper) = (true, true), |s| s.bounds = Some(Arc::new(vec![[-0.1, 0.1]; 9]))),
    ("adaptive", |r| r.adaptive = true, |s| s.adaptive = Some(1.0)),
    ("runs", |r| r.runs = true, |s| s.runs = 2),
    ("method", |r| r.method = true, |s| s.method = Method::Sgd),
    ("update", |r| r.update = true, |s| s.update = UpdateName::Table),
    ("average", |r| r.average = true, |s| s.average = Some(0)),
    ("thresholds", |r| r.thresholds = true, |s| s.tuned_thresholds = true),
];

#[test]
fn each_setting_is_learnt_or_refused_for_each_kind_of_targets_as_the_table_says() {
    let folder = tempfile::tempdir().unwrap();
    let kinds = [
        (None, ["1", "-1", "1"]),
        (Some(HeadKind::Ovr), ["a", "b", "c"]),
        (Some(HeadKind::Softmax), ["a", "b", "c"]),
        (Some(HeadKind::Labels), ["1", "2", "1,2"]),
    ];
    let mut refused = [0; 2];
    for (heads, targets) in kinds {
        let path = folder.path().join("a.svm");
        let row = |k: usize| format!("{} {}:1 9:{}\n", targets[k % 3], 1 + k % 4, 1 + k % 2);
        std::fs::write(&path, (0..120).map(row).collect::<String>()).unwrap();
        let data = Dataset::read(&path, Declared::default()).unwrap();
        let task = Task::builder(data).heads(heads).build().unwrap();
        let options = WindowsOptions { memory: 64 << 20, heads, ..Default::default() };
        let windows = Windows::open(&path, &options, &Settings::default()).unwrap();
        let problems: [(bool, &dyn Problem); 2] = [(false, &task), (true, &windows)];
        let switches = || SWITCHES.into_iter().flat_map(|switch| problems.map(|problem| (switch, problem)));
        for (row, ((name, ask, set), (on_disk, problem))) in
            SOLVERS.iter().flat_map(|row| switches().map(move |cell| (row, cell)))
        {
            let targets = Some(TargetKind::of(heads));
            let mut wanted =
                Request { targets, on_disk, loss: on_disk.then_some(&*task.loss), ..Request::default() };
            let mut settings = Settings { solver: row.solver, epochs: 2, ..Settings::default() };
            ask(&mut wanted);
            set(&mut settings);
            let allowed = row.solver.check(&wanted).map_err(|error| error.to_string());
            let done = train(problem, None, &settings, &mut |_| {}).map_err(|error| error.to_string());
            assert_eq!(done.map(|_| ()), allowed, "{} {heads:?} {name} on disk: {on_disk}", row.solver);
            refused[usize::from(on_disk)] += usize::from(allowed.is_err());
        }
    }
    // One model: thresholds 6, runs 4, steps 3 each of 3. Heads: all of 3 solvers, 9 of sgd, and runs and thresholds
    // of auto and newton; labels have thresholds.
    assert_eq!(refused[0], (6 + 4 + 3 * 3) + 2 * (3 * 11 + 9 + 2 * 2) + (3 * 11 + 8 + 2));
    // On disk, newton has no heads, auto what sgd has, and labels have no thresholds.
    assert_eq!(refused[1], (6 + 4 + 3 * 3) + 3 * (4 * 11 + 2 * 9));
}

#[test]
fn a_refusal_names_a_solver_that_can_do_it_if_there_is_one() {
    for row in SOLVERS {
        for entry in loss::TABLE {
            let loss = loss::parse(entry.name).unwrap();
            for (targets, runs, factors) in [
                (TargetKind::Single, false, false),
                (TargetKind::Single, true, false),
                (TargetKind::Single, true, true),
                (TargetKind::Classes, false, true),
                (TargetKind::Labels, false, false),
            ] {
                let wanted = Request {
                    loss: Some(&*loss),
                    targets: Some(targets),
                    runs,
                    factors,
                    ..Request::default()
                };
                let Err(refusal) = row.solver.check(&wanted) else { continue };
                let able = SOLVERS.iter().find(|other| other.solver.check(&wanted).is_ok());
                let text = refusal.to_string();
                match able {
                    Some(able) => assert!(text.contains(&format!("use solver = {}", able.solver)), "{text}"),
                    None => assert!(text.contains("no solver can do all of this"), "{text}"),
                }
            }
        }
    }
}

#[test]
fn every_solver_has_a_row_and_a_name_that_leads_back_to_it() {
    for row in SOLVERS {
        assert_eq!(row.solver.capabilities().solver, row.solver);
        assert_eq!(row.solver.name().parse::<Solver>().unwrap(), row.solver);
        let json = serde_json::to_string(&row.solver).unwrap();
        assert_eq!(
            (json.as_str(), serde_json::from_str::<Solver>(&json).unwrap()),
            (format!("\"{}\"", row.solver).as_str(), row.solver)
        );
        let smooth =
            loss::TABLE.iter().filter(|entry| row.losses.include(&*loss::parse(entry.name).unwrap()));
        assert_eq!(smooth.count() == loss::TABLE.len(), row.losses == Losses::Any, "{}", row.solver);
    }
    // As models and scripts of the first version call them.
    for (old, solver) in [("online", Solver::Sgd), ("saga", Solver::Svrg)] {
        assert_eq!(old.parse::<Solver>().unwrap(), solver);
        assert_eq!(serde_json::from_str::<Solver>(&format!("\"{old}\"")).unwrap(), solver);
    }
    assert!("newtn".parse::<Solver>().unwrap_err().to_string().contains("did you mean 'newton'"));
}

#[test]
fn weights_that_are_all_zero_are_the_same_error_on_disk_as_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.vw");
    let rows: String = (0..200).map(|k| format!("{} 0 | a:{k} b:1\n", [1, -1][k % 2])).collect();
    std::fs::write(&file, rows).unwrap();
    let settings = Settings::default();
    for on_disk in [false, true] {
        let error = learn(&file, &settings, "logistic", on_disk).unwrap_err().to_string();
        assert!(error.contains("all sample weights are 0"), "on disk {on_disk}: {error}");
    }
}
