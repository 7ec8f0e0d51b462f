//! Laws of classes and labels for rows on disk: SGD has the bits that it has in memory, reports say the same, and
//! certificates hold.

use lazyglm::util::random::Random;
use lazyglm::{
    ClassWeight, ElasticNet, HeadKind, Load, Order, Precision, Settings, Solver, Task, Windows,
    WindowsOptions, train,
};
use std::path::{Path, PathBuf};

/// Rows as Vowpal Wabbit or svmlight text, with the targets that `target` draws.
fn file(name: &str, rows: usize, features: u64, target: impl Fn(&mut Random, u64) -> String) -> PathBuf {
    let mut random = Random::new(11);
    let mut row = |_| {
        let mut ids: Vec<u64> = (0..30).map(|_| 1 + random.below(features)).collect();
        ids.sort_unstable();
        ids.dedup();
        let target = target(&mut random, ids[0]);
        let pairs: Vec<String> = ids.iter().map(|id| format!("{id}:{}", 1 + id % 3)).collect();
        format!("{target} {}\n", pairs.join(" "))
    };
    let text: String = (0..rows).map(&mut row).collect();
    let path = std::env::temp_dir().join(format!("lazyglm-law-{}-{name}.svm", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

/// One class per row, which the smallest feature tells.
fn class(random: &mut Random, first: u64) -> String {
    ["ant", "bee", "cat", "dog"][((first / 8 + random.below(2)) % 4) as usize].to_string()
}

/// Any number of labels per row; some rows have none.
fn labels(random: &mut Random, first: u64) -> String {
    let all: Vec<String> =
        (0..20).filter(|k| (first + k + random.below(3)).is_multiple_of(9)).map(|k| k.to_string()).collect();
    all.join(",")
}

fn settings(precision: Precision, eta0: Option<f64>) -> Settings {
    Settings {
        solver: Solver::Sgd,
        penalty: ElasticNet { l1: 1e-4, l2: 1e-4 },
        order: Order::Sequential,
        epochs: 2,
        precision,
        eta0,
        ..Settings::default()
    }
}

/// The rows on disk, and the same rows in memory.
fn both(path: &Path, options: &WindowsOptions, settings: &Settings) -> (Windows, Task) {
    let windows = Windows::open(path, options, settings).unwrap();
    let task = Task::builder(windows.load(&Load::default()).unwrap().0)
        .heads(options.heads)
        .class_weight(options.class_weight.clone());
    (windows, task.build().unwrap())
}

fn close(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() <= 1e-6 * b.abs(), "{what}: {a} on disk, {b} in memory");
}

#[test]
fn sgd_on_disk_has_the_bits_of_sgd_in_memory_and_reports_the_same() {
    let (classes, sets) = (file("classes", 6000, 300, class), file("labels", 6000, 300, labels));
    let kinds = [(&classes, HeadKind::Softmax), (&classes, HeadKind::Ovr), (&sets, HeadKind::Labels)];
    for ((path, kind), precision) in
        kinds.into_iter().flat_map(|k| [(k, Precision::F32), (k, Precision::F64)])
    {
        let balanced = (kind != HeadKind::Labels).then_some(ClassWeight::Balanced);
        for class_weight in [None, balanced] {
            let settings = settings(precision, Some(0.05));
            let options =
                WindowsOptions { memory: 32 << 20, heads: Some(kind), class_weight, ..Default::default() };
            let (windows, task) = both(path, &options, &settings);
            assert!(windows.count() > 1, "several windows");
            let disk = train(&windows, None, &settings, &mut |_| {}).unwrap();
            let memory = train(&task, None, &settings, &mut |_| {}).unwrap();
            match &options.class_weight {
                None => assert!(disk.heads == memory.heads, "{kind:?} {precision:?}: the same bits"),
                // The mean weight is summed by classes and not by rows, so its last bit may differ.
                Some(_) => disk.heads.iter().zip(&memory.heads).for_each(|(disk, memory)| {
                    close(disk.bias, memory.bias, "bias");
                }),
            }
            let (disk, memory) = (disk.report, memory.report);
            close(disk.objective, memory.objective, "objective");
            close(disk.baseline, memory.baseline, "baseline");
            close(disk.l1_max, memory.l1_max, "l1_max");
            close(disk.violation, memory.violation, "violation");
            assert_eq!((disk.rows, disk.nonzeros), (memory.rows, memory.nonzeros));
            let rows = |report: &lazyglm::Report| -> Vec<(String, usize)> {
                let heads = &report.heads.as_ref().unwrap().heads;
                heads.iter().map(|head| (head.name.clone(), head.rows)).collect()
            };
            assert_eq!(rows(&disk), rows(&memory), "{kind:?}");
        }
    }
    [classes, sets].iter().for_each(|path| std::fs::remove_file(path).unwrap());
}

#[test]
fn heads_that_do_not_fit_together_are_trained_one_group_after_another_with_the_same_bits() {
    let path = file("groups", 3000, 60_000, |random, first| {
        let drawn = (0..3).map(|k| ((first + 7 * k) % 100 + random.below(20)).to_string());
        drawn.collect::<Vec<_>>().join(",")
    });
    let settings = Settings {
        penalty: ElasticNet { l1: 1e-2, l2: 0.0 }, // the weights that are left need memory too
        ..settings(Precision::F32, Some(0.05))
    };
    let options = WindowsOptions { memory: 60 << 20, heads: Some(HeadKind::Labels), ..Default::default() };
    let (windows, task) = both(&path, &options, &settings);
    let mut epochs = 0;
    let disk = train(&windows, None, &settings, &mut |at| epochs += usize::from(at.epoch_ends)).unwrap();
    assert!(epochs > 2, "{epochs} epochs of groups");
    assert!(disk.heads == train(&task, None, &settings, &mut |_| {}).unwrap().heads);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn the_certificate_of_heads_on_disk_holds() {
    let (classes, sets) = (file("proof-classes", 2000, 100, class), file("proof-labels", 2000, 100, labels));
    for (path, kind) in [(&classes, HeadKind::Ovr), (&classes, HeadKind::Softmax), (&sets, HeadKind::Labels)]
    {
        let settings =
            Settings { penalty: ElasticNet { l1: 1e-2, l2: 1e-2 }, ..settings(Precision::F64, None) };
        let options = WindowsOptions { memory: 64 << 20, heads: Some(kind), ..Default::default() };
        let (windows, task) = both(path, &options, &settings);
        let report = train(&windows, None, &settings, &mut |_| {}).unwrap().report;
        let newton = Settings { solver: Solver::Newton, tolerance: 1e-6, ..settings };
        let optimum = train(&task, None, &newton, &mut |_| {}).unwrap().report;
        let dual = report.dual.unwrap();
        assert!(dual <= optimum.objective * (1.0 + 1e-9), "{kind:?}: {dual} is above {}", optimum.objective);
        assert!(report.objective >= optimum.dual.unwrap() * (1.0 - 1e-9), "{kind:?}");
        assert!(report.objective < 1.5 * optimum.objective, "{kind:?}: near the optimum");
        assert!(dual > 0.5 * optimum.objective, "{kind:?}: the bound {dual} is not empty");
    }
    [classes, sets].iter().for_each(|path| std::fs::remove_file(path).unwrap());
}

#[test]
fn by_default_the_penalty_is_chosen_on_some_rows_and_what_needs_all_rows_is_refused() {
    let path = file("default", 3000, 300, class);
    let sgd = settings(Precision::F32, None);
    let choose = Settings { solver: Solver::Auto, choose_penalty: true, epochs: 5, ..sgd };
    let options = WindowsOptions { memory: 32 << 20, ..Default::default() };
    let (windows, task) = both(&path, &options, &choose);
    let trained = train(&windows, None, &choose, &mut |_| {}).unwrap();
    assert!(trained.report.tried.len() > 3, "penalties were tried");
    assert!(trained.notes.iter().any(|note| note.contains("epochs of SGD")), "{:?}", trained.notes);
    let chosen = ElasticNet { l1: trained.report.l1, l2: trained.report.l2 };
    let newton =
        Settings { solver: Solver::Newton, penalty: chosen, choose_penalty: false, ..choose.clone() };
    let optimum = train(&task, None, &newton, &mut |_| {}).unwrap().report.objective;
    let objective = trained.report.objective;
    assert!(objective < 1.2 * optimum, "{objective} against {optimum} at the same penalty");
    let newton = Settings { solver: Solver::Newton, ..choose.clone() };
    let refusal = train(&windows, None, &newton, &mut |_| {}).err().unwrap().to_string();
    assert!(refusal.contains("in memory") && refusal.contains("solver = sgd"), "{refusal}");
    let start = Settings { nonnegative: true, ..choose };
    let refusal = train(&windows, None, &start, &mut |_| {}).err().unwrap().to_string();
    assert!(refusal.contains("do not fit into memory"), "{refusal}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn the_penalty_of_a_sample_is_weakened_for_all_rows() {
    let path = file("weakened", 12_000, 300, class);
    let choose =
        Settings { solver: Solver::Auto, choose_penalty: true, epochs: 1, ..settings(Precision::F32, None) };
    let options = WindowsOptions { memory: 28 << 20, ..Default::default() };
    let report = train(&both(&path, &options, &choose).0, None, &choose, &mut |_| {}).unwrap().report;
    let chosen = report.tried.iter().find(|tried| tried.chosen).unwrap();
    let sampled = (report.l1 / chosen.l1).powi(2) * 12_000.0; // rows: a penalty falls as 1/√n
    assert!((report.l2 * chosen.l1 - report.l1 * chosen.l2).abs() <= 1e-9 * report.l2 * chosen.l1, "both");
    let learnt = chosen.rows as f64; // of the sample, some rows are held out
    assert!(sampled < 11_000.0 && learnt < sampled && sampled < 2.0 * learnt, "{sampled} rows, {chosen:?}");
    std::fs::remove_file(path).unwrap();
}

/// The least memory for these rows, as the refusal names it, and the refusal.
fn least(path: &Path, settings: &Settings) -> (usize, String) {
    let options = WindowsOptions { memory: 20 << 20, ..Default::default() };
    let refusal = Windows::open(path, &options, settings).err().unwrap().to_string();
    let least = refusal.split("give ").nth(1).and_then(|rest| rest.split('M').next()).unwrap();
    (least.parse::<usize>().unwrap() << 20, refusal)
}

#[test]
fn the_refusal_of_too_little_memory_names_what_is_enough() {
    let settings = Settings { epochs: 1, ..settings(Precision::F32, Some(0.1)) };
    for classes in [10, 300] {
        let name = format!("large-{classes}");
        let path = file(&name, 2000, 60_000, |random, _| format!("c{}", random.below(classes)));
        let (memory, refusal) = least(&path, &settings);
        assert!(refusal.contains(&format!("and {classes} classes")), "{refusal}");
        let windows =
            Windows::open(&path, &WindowsOptions { memory, ..Default::default() }, &settings).unwrap();
        let choose = Settings { solver: Solver::Auto, choose_penalty: true, ..settings.clone() };
        let trained = train(&windows, None, &choose, &mut |_| {}).unwrap();
        // What is enough to train is too little for the search, which has more numbers per column and class.
        let warns = trained.notes.iter().any(|note| note.contains("too little to choose a penalty"));
        assert!(warns && trained.report.tried.is_empty(), "{classes}");
        std::fs::remove_file(path).unwrap();
    }
}
