//! Laws of renumbering: columns are in the order of frequency, rows have the same features and values by name, and what is
//! learnt is the same model, to the rounding of sums in another order, under the same names.

use lazyglm::data::format::ReadOptions;
use lazyglm::stats::stats;
use lazyglm::util::random::Random;
use lazyglm::{
    CacheMode, Dataset, Load, Model, Precision, Scale, Settings, Task, Windows, WindowsOptions, train,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Rows whose features are the likelier the higher their number: what is frequent comes last in the file's own order.
fn made(random: &mut Random, format: &str) -> String {
    let mut text = String::new();
    for row in 0..20 + random.below(60) {
        let _ = write!(text, "{}", if random.below(3) == 0 { "b" } else { "a" });
        if format == "vw" {
            text += " |n";
        }
        let mut before = 0;
        for _ in 0..random.below(8) {
            before += 1 + random.below(1 + 40 / (1 + before / 20));
            let value = (1 + random.below(400)) as f64 / 100.0;
            let _ = match format {
                "svm" => write!(text, " {}:{value}", before * if row % 7 == 0 { 16_000_000 } else { 1 }),
                _ => write!(text, " f{before}:{value}"),
            };
        }
        text.push('\n');
    }
    match format {
        "svm" => text + "a 5:1 90:0\nb 5:2\n",
        _ => text + "a |n z\nb |n z:2 y:0\n",
    }
}

fn load(source: &Path, renumber: bool, hash_bits: Option<u32>, cache: CacheMode, scale: Scale) -> Dataset {
    let asked = ReadOptions { renumber, hash_bits, ..ReadOptions::default() };
    Dataset::load(source, &Load { asked, cache, scale, ..Load::default() }).unwrap().0
}

/// The rows by name, every bit of their values.
fn by_name(data: &Dataset) -> Vec<(String, BTreeMap<String, u64>)> {
    let row = |i: usize| {
        let mut pairs = BTreeMap::new();
        data.rows.borrow().for_each(i, |j, x| _ = pairs.insert(data.features.name(j), x.to_bits()));
        (format!("{} {}", data.place(i), data.labels.name(i)), pairs)
    };
    (0..data.rows.len()).map(row).collect()
}

fn counts(data: &Dataset) -> Vec<usize> {
    let mut counts = vec![0; data.features.columns()];
    data.rows.ids().iter().for_each(|&column| counts[column as usize] += 1);
    counts
}

fn settings() -> Settings {
    // A rate at which steps do not magnify what was rounded.
    Settings { precision: Precision::F64, eta0: Some(0.01), ..Settings::default() }
}

fn learnt(data: Dataset) -> Model {
    let task = Task::builder(data).build().unwrap();
    let trained = train(&task, None, &settings(), &mut |_| {}).unwrap();
    Model::new(&task, &settings(), trained)
}

fn learnt_by_windows(source: &Path, renumber: bool, hash_bits: Option<u32>, scale: Scale) -> Model {
    let asked = ReadOptions { renumber, hash_bits, ..ReadOptions::default() };
    let options = WindowsOptions { asked, memory: 1 << 28, scale, ..WindowsOptions::default() };
    let stream = Windows::open(source, &options, &settings()).unwrap();
    let trained = train(&stream, None, &settings(), &mut |_| {}).unwrap();
    Model::new(&stream, &settings(), trained)
}

fn the_same_model(plain: &Model, renumbered: &Model) -> Result<(), TestCaseError> {
    prop_assert_eq!(&plain.features, &renumbered.features);
    prop_assert_eq!(&plain.words, &renumbered.words);
    prop_assert_eq!(&plain.seen, &renumbered.seen);
    prop_assert_eq!(plain.counting, renumbered.counting);
    prop_assert_eq!(&plain.reading, &renumbered.reading);
    let largest = plain.weights.iter().fold(0.0f64, |most, w| most.max(w.abs()));
    for (a, b) in plain.weights.iter().zip(&renumbered.weights) {
        prop_assert!((a - b).abs() <= 1e-12 * largest, "{a} {b}");
    }
    prop_assert!((plain.bias - renumbered.bias).abs() <= 1e-12);
    let of = |model: &Model| model.training.report.clone();
    prop_assert_eq!(of(plain).features, of(renumbered).features);
    let (a, b) = (of(plain), of(renumbered));
    for (a, b) in [(a.objective, b.objective), (a.violation, b.violation), (a.l1_max, b.l1_max)] {
        prop_assert!((a - b).abs() <= 1e-12 * a.abs().max(1.0), "{a} {b}");
    }
    Ok(())
}

fn source(folder: &tempfile::TempDir, format: &str, text: &str) -> PathBuf {
    let source = folder.path().join(format!("data.{format}"));
    std::fs::write(&source, text).unwrap();
    source
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn renumbered_rows_give_the_same_model_under_the_same_names(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let format = ["svm", "vw"][random.below(2) as usize];
        let hash_bits = [None, None, Some(6)][random.below(3) as usize];
        let scale = [Scale::None, Scale::Std][random.below(2) as usize];
        let folder = tempfile::tempdir().unwrap();
        let source = source(&folder, format, &made(&mut random, format));

        let plain = load(&source, false, hash_bits, CacheMode::Off, scale);
        let expected = by_name(&plain);
        let modes = [CacheMode::Off, CacheMode::Auto, CacheMode::Auto, CacheMode::Only];
        for mode in modes {
            let data = load(&source, true, hash_bits, mode, scale);
            prop_assert_eq!(&by_name(&data), &expected);
            prop_assert!(counts(&data).is_sorted_by(|a, b| a >= b), "{:?}", counts(&data));
            for column in 0..data.features.columns() {
                prop_assert_eq!(data.features.column(data.features.index(column)), Some(column as u32));
            }
        }
        let cache = folder.path().join(format!("data.{format}.lazyglm-cache"));
        let given = Dataset::load(&cache, &Load { scale, ..Load::default() }).unwrap().0;
        prop_assert_eq!(by_name(&given).len(), expected.len(), "a renumbered cache is data as well");

        let (plain, renumbered) = (learnt(plain), learnt(load(&source, true, hash_bits, CacheMode::Only, scale)));
        the_same_model(&plain, &renumbered)?;
        the_same_model(&plain, &learnt(given))?;
        if format != "svm" || hash_bits.is_some() {
            let [plain, renumbered] = [false, true].map(|renumber| learnt_by_windows(&source, renumber, hash_bits, scale));
            the_same_model(&plain, &renumbered)?;
        }
    }

    #[test]
    fn what_is_in_a_renumbered_cache_is_what_is_in_its_source(seed in any::<u64>()) {
        let folder = tempfile::tempdir().unwrap();
        let source = source(&folder, "vw", &made(&mut Random::new(seed), "vw"));
        load(&source, true, None, CacheMode::Auto, Scale::None);
        let told = |path: &Path| serde_json::to_string(&stats(path, &ReadOptions::default()).unwrap()).unwrap();
        prop_assert_eq!(told(&folder.path().join("data.vw.lazyglm-cache")), told(&source));
    }
}

#[test]
fn a_cache_with_other_numbers_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(&folder, "svm", &made(&mut Random::new(3), "svm"));
    for (renumber, again) in [(false, "wrote"), (true, "other settings"), (false, "other settings")] {
        let notes = load(&source, renumber, None, CacheMode::Auto, Scale::None).notes.join("\n");
        assert!(notes.contains(again), "{notes}");
    }
}

#[test]
fn what_occurs_most_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(&folder, "svm", "1 4000000000:1\n2 7:1 4000000000:1\n1 3:1 7:1 4000000000:2\n");
    let data = load(&source, true, None, CacheMode::Off, Scale::None);
    assert_eq!((0..3).map(|column| data.features.name(column)).collect::<Vec<_>>(), ["4000000000", "7", "3"]);
    assert_eq!(data.rows.ids(), [0, 0, 1, 0, 1, 2]);
    assert_eq!((data.features.count, data.features.column(4)), (4_000_000_000, None));
}
