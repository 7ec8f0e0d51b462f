//! Laws of Parquet and Arrow files: what each type of column becomes, what is refused and how, that a table has the rows
//! of the same table in JSON lines, and that a damaged file is rows or an error.
#![cfg(feature = "parquet")]

mod tables;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::*;
use lazyglm::format::{Asked, Holds, ParquetColumn, Recipe};
use lazyglm::random::Random;
use lazyglm::{Dataset, Declared, Load};
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tables::drawn::{WAYS, damage, draw, written};
use tables::*;

type Columns = Vec<(&'static str, ArrayRef)>;

fn asked(target: Option<&str>, drop: &[&str], categorical: &[&str]) -> Asked {
    let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    Asked {
        target: target.map(str::to_string),
        drop: owned(drop),
        categorical: owned(categorical),
        ..Asked::default()
    }
}

fn targets(rows: usize) -> (&'static str, ArrayRef) {
    ("y", Arc::new(Int32Array::from_iter_values(0..rows as i32)))
}

/// The features of the rows of a table, written both ways.
#[track_caller]
fn has(column: ArrayRef, categorical: bool, expected: &[&[(&str, f64)]]) {
    let folder = Folder::new();
    let asked = asked(None, &[], if categorical { &["c"] } else { &[] });
    let other: ArrayRef = Arc::new(Float64Array::from(vec![1.0; column.len()])); // so that pairs are not alone
    let columns = || vec![("c", column.clone()), targets(column.len()), ("one", other.clone())];
    for path in [folder.parquet(columns()), folder.arrow(columns())] {
        let rows = read(&path, &asked, None).unwrap();
        assert_eq!(rows.len(), expected.len());
        for (i, ((target, mut features), expected)) in rows.into_iter().zip(expected).enumerate() {
            assert_eq!((target, features.remove("one")), (Some(i.to_string()), Some(1.0)));
            let expected = expected.iter().map(|&(name, x)| (name.to_string(), x)).collect();
            assert_eq!(features, expected, "row {i} of {}", path.display());
        }
    }
}

#[test]
fn numbers_of_all_types_are_features() {
    macro_rules! whole {
        ($($array:ty),*) => {$(
            let column = <$array>::from(vec![Some(3), None, Some(0), Some(100), Some(7)]);
            has(Arc::new(column.clone()), false, &[&[("c", 3.0)], &[], &[], &[("c", 100.0)], &[("c", 7.0)]]);
            has(Arc::new(column), true, &[&[("c=3", 1.0)], &[], &[("c=0", 1.0)], &[("c=100", 1.0)], &[("c=7", 1.0)]]);
        )*};
    }
    whole!(Int8Array, Int16Array, Int32Array, Int64Array, UInt8Array, UInt16Array, UInt32Array, UInt64Array);
    let big = vec![u64::MAX, (1 << 53) + 1];
    has(
        Arc::new(UInt64Array::from(big.clone())),
        false,
        &[&[("c", u64::MAX as f64)], &[("c", 2f64.powi(53))]],
    );
    let apart: &[&[_]] = &[&[("c=18446744073709551615", 1.0)], &[("c=9007199254740993", 1.0)]];
    has(Arc::new(UInt64Array::from(big)), true, apart);
    has(Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])), false, &[&[("c", 1.0)], &[], &[]]);
}

#[test]
fn decimal_numbers_are_features_and_in_one_form_as_names() {
    let values = [Some(2.5), None, Some(0.0), Some(-0.0), Some(7.0)];
    let as_numbers: &[&[_]] = &[&[("c", 2.5)], &[], &[], &[], &[("c", 7.0)]];
    let as_names: &[&[_]] = &[&[("c=2.5", 1.0)], &[], &[("c=0", 1.0)], &[("c=0", 1.0)], &[("c=7", 1.0)]];
    let wide: ArrayRef = Arc::new(Float64Array::from_iter(values));
    let narrow: ArrayRef = Arc::new(Float32Array::from_iter(values.iter().map(|x| x.map(|x| x as f32))));
    for column in [wide, narrow] {
        has(column.clone(), false, as_numbers);
        has(column, true, as_names);
    }
    has(Arc::new(Float32Array::from(vec![0.1])), false, &[&[("c", f64::from(0.1f32))]]);
    has(Arc::new(Float32Array::from(vec![0.1])), true, &[&[("c=0.1", 1.0)]]);
}

#[test]
fn text_and_dictionaries_are_names() {
    let words = vec![Some("a b"), None, Some(""), Some("é=")];
    let expected: &[&[_]] = &[&[("c=a b", 1.0)], &[], &[("c=", 1.0)], &[("c=é=", 1.0)]];
    has(Arc::new(StringArray::from(words.clone())), false, expected);
    has(Arc::new(LargeStringArray::from(words.clone())), true, expected);
    has(Arc::new(StringViewArray::from(words.clone())), false, expected);
    has(Arc::new(DictionaryArray::<Int32Type>::from_iter(words)), false, expected);
    let keys = Int8Array::from(vec![Some(1), None, Some(0), Some(1)]);
    let numbers =
        DictionaryArray::<Int8Type>::try_new(keys, Arc::new(Int64Array::from(vec![30, 41]))).unwrap();
    has(Arc::new(numbers), false, &[&[("c=41", 1.0)], &[], &[("c=30", 1.0)], &[("c=41", 1.0)]]);
}

#[test]
fn lists_have_a_feature_for_each_item() {
    let rows = [Some(vec![Some("a"), Some("b"), Some("a"), None]), None, Some(vec![]), Some(vec![Some("")])];
    has(lists(&rows), false, &[&[("c=a", 2.0), ("c=b", 1.0)], &[], &[], &[("c=", 1.0)]]);
    let some: &[Pair] =
        &[Some((Some(7), Some(0.5))), None, Some((Some(-2), None)), Some((Some(7), Some(1.0)))];
    has(pairs(&[Some(some), None, Some(&[])]), false, &[&[("c^7", 1.5)], &[], &[]]);
}

#[test]
fn pairs_alone_are_indices_as_written() {
    let folder = Folder::new();
    let column = pairs(&[Some(&[Some((Some(4), Some(0.5))), Some((Some(2), Some(0.0)))]), Some(&[]), None]);
    let unused: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
    let empty: ArrayRef = Arc::new(NullArray::new(3));
    let columns =
        || vec![("x", column.clone()), targets(3), ("id", unused.clone()), ("empty", empty.clone())];
    for path in [folder.parquet(columns()), folder.arrow(columns())] {
        let asked = asked(None, &["id"], &[]);
        let columns = vec![ParquetColumn { name: "x".into(), holds: Holds::Indices }];
        assert_eq!(opened(&path, &asked, None).unwrap(), Recipe::Parquet { target: "y".into(), columns });
        let (data, _) = Dataset::load(&path, &Load { asked, ..Load::default() }).unwrap();
        assert_eq!((data.features.base, data.features.count, data.features.name(3)), (1, 4, "4".to_string()));
        assert_eq!((data.rows.len(), data.rows.nonzeros(), data.place(2).line), (3, 1, Some(3)));
    }
}

#[test]
fn targets_are_numbers_words_or_truth() {
    let folder = Folder::new();
    let one: ArrayRef = Arc::new(Int32Array::from(vec![1, 1, 1]));
    let some: [(ArrayRef, [Option<&str>; 3]); 6] = [
        (Arc::new(Int8Array::from(vec![Some(-1), Some(1), None])), [Some("-1"), Some("1"), None]),
        (Arc::new(Float64Array::from(vec![0.5, -0.0, 1e300])), [Some("0.5"), Some("0"), Some("1e300")]),
        (
            Arc::new(Float32Array::from(vec![1.5, 2.0, 0.1])),
            [Some("1.5"), Some("2"), Some("0.10000000149011612")],
        ),
        (Arc::new(StringArray::from(vec!["ham", "1.0", "x y"])), [Some("ham"), Some("1"), Some("x y")]),
        (
            Arc::new(BooleanArray::from(vec![Some(true), Some(false), None])),
            [Some("true"), Some("false"), None],
        ),
        (
            Arc::new(DictionaryArray::<Int32Type>::from_iter(["a", "b", "a"])),
            [Some("a"), Some("b"), Some("a")],
        ),
    ];
    for (target, expected) in some {
        let path = folder.parquet(vec![("price", target), ("a", one.clone())]);
        let rows = read(&path, &asked(Some("price"), &[], &[]), None).unwrap();
        let name =
            |text: Option<&str>| text.map(|text| text.parse().map_or(text.into(), |x: f64| x.to_string()));
        assert_eq!(rows.into_iter().map(|row| row.0).collect::<Vec<_>>(), expected.map(name));
    }
}

#[test]
fn rows_can_be_passed_over_and_a_cache_reads_the_same() {
    let folder = Folder::new();
    let path = folder.parquet(vec![targets(7), ("a", Arc::new(Int32Array::from_iter_values(1..8)))]);
    let weights = folder.file("weights", "1\n0\n1\n1\n0\n1\n2\n");
    let weights = Some(lazyglm::SampleWeights::read(&weights).unwrap());
    let (data, kept) = Dataset::load(&path, &Load { weights, ..Load::default() }).unwrap();
    assert_eq!((data.rows.len(), kept.unwrap().len(), data.place(3).line), (5, 5, Some(6)));
    let load = Load { cache: lazyglm::CacheMode::Auto, ..Load::default() };
    let [fresh, cached] = [0, 1].map(|_| Dataset::load(&path, &load).unwrap().0);
    assert_eq!((fresh.rows.ids(), fresh.labels), (cached.rows.ids(), cached.labels));
    assert_eq!(Dataset::read(&path, Declared::default()).unwrap().reading, cached.reading);
}

#[test]
fn the_target_is_as_asked_or_the_first_usual_name() {
    let folder = Folder::new();
    let one: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let path = folder.parquet(vec![("y", one.clone()), ("label", one.clone()), ("prize", one.clone())]);
    let target = |asked| match opened(&path, &asked, None) {
        Ok(Recipe::Parquet { target, columns }) => Ok((target, columns.len())),
        Ok(other) => panic!("{other:?}"),
        Err(e) => Err(e),
    };
    assert_eq!(target(asked(None, &[], &[])).unwrap(), ("label".to_string(), 2));
    assert_eq!(target(asked(Some("prize"), &["y"], &[])).unwrap(), ("prize".to_string(), 1));
    let unknown = "a.parquet: there is no column 'prise'; did you mean 'prize'? There are: prize, ";
    for asked in [asked(Some("prise"), &[], &[]), asked(None, &["prise"], &[]), asked(None, &[], &["prise"])]
    {
        assert!(target(asked).unwrap_err().starts_with(unknown));
    }
    let both =
        "the column 'y' is the target and is to be left out; take it off --drop, or name another --target";
    assert_eq!(target(asked(Some("y"), &["y"], &[])).unwrap_err(), both);
    let path = folder.parquet(vec![("a", one.clone()), ("b", one)]);
    assert_eq!(
        opened(&path, &Asked::default(), None).unwrap_err(),
        "a.parquet: no column is called target, label, y, class; name the target with --target NAME; there are: a, b"
    );
}

#[test]
fn tables_are_recognised_by_their_first_bytes_before_all_else() {
    let folder = Folder::new();
    let one: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let bytes = parquet_bytes(&batch(vec![("y", one.clone()), ("a", one)]), WriterProperties::default());
    for name in ["a.svm", "a.jsonl", "a", "a.parquet"] {
        assert_eq!(opened(&folder.file(name, &bytes), &Asked::default(), None).unwrap().name(), "parquet");
    }
    let no = "a.feather: this is no Parquet file and no Arrow file: it does not begin with PAR1 or ARROW1; ";
    assert!(opened(&folder.file("a.feather", "FEA1"), &Asked::default(), None).unwrap_err().starts_with(no));
    assert!(opened(&folder.file("a.feather", ""), &Asked::default(), None).unwrap_err().starts_with(no));
    for packed in [zstd::bulk::compress(&bytes, 1).unwrap(), gzip(&bytes)] {
        let error = read(&folder.file("a.parquet.gz", packed), &Asked::default(), None).unwrap_err();
        assert!(error.contains("Parquet cannot be read out of gzip or zstd"), "{error}");
    }
    let asked = Asked { format: Some("parquet".into()), ..Asked::default() };
    let opening =
        lazyglm::format::Opening { first: &bytes, file: Path::new("-"), asked: &asked, known: None };
    let error = lazyglm::format::open(&opening).unwrap_err().to_string();
    assert!(error.starts_with("standard input: Parquet cannot be read from a stream"), "{error}");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

#[track_caller]
fn refused(columns: Columns, asked: &Asked, expected: &str) {
    let folder = Folder::new();
    assert_eq!(
        read(&folder.arrow(columns.clone()), asked, None).unwrap_err().replace(".arrow", ".parquet"),
        expected
    );
    assert_eq!(read(&folder.parquet(columns), asked, None).unwrap_err(), expected);
}

#[test]
fn wrong_columns_are_refused_by_name() {
    let plain = Asked::default();
    let hint = "leave it out with --drop NAME, or write numbers, text, lists of text, or lists of struct<index, value>";
    let when = |name| vec![(name, Arc::new(Date32Array::from(vec![1])) as ArrayRef), targets(1)];
    let what = "a.parquet: the column 'when' is Date32, of which no features can be made; ";
    refused(when("when"), &plain, &format!("{what}{hint}"));
    refused(
        when("when"),
        &asked(None, &["y"], &[]),
        "the column 'y' is the target and is to be left out; take it off --drop, or name another --target",
    );
    refused(
        when("when"),
        &asked(Some("when"), &[], &[]),
        "a.parquet: the target 'when' is Date32; targets are numbers, text, true or false",
    );
    let alone = "a.parquet: no row has a feature: this does not look like parquet";
    let folder = Folder::new();
    let load = Load { asked: asked(None, &["when"], &[]), ..Load::default() };
    let error = Dataset::load(&folder.parquet(when("when")), &load).unwrap_err().to_string();
    assert!(error.contains(alone.trim_start_matches("a.parquet")), "{error}");
    refused(
        vec![targets(1), ("x", pairs(&[None]))],
        &asked(None, &[], &["x"]),
        "the column 'x' holds lists of index and value: those are no names; take it off --categorical",
    );
    let nul: Columns = vec![targets(1), ("a\0", targets(1).1)];
    let (what, rename) =
        ("the column 'a\\0' has a NUL character in its name", "rename it, or leave it out with --drop NAME");
    refused(nul, &plain, &format!("a.parquet: {what}; {rename}"));
    let twice = vec![targets(1), ("a", targets(1).1), ("a", targets(1).1)];
    refused(twice, &plain, &format!("a.parquet: the column 'a' stands twice in the file; {rename}"));
    let null: Columns = vec![("y", Arc::new(NullArray::new(3))), ("a", Arc::new(NullArray::new(3)))];
    refused(null, &plain, "a.parquet: no column is left to read; give it features and a target");
}

#[test]
fn wrong_values_are_refused_with_their_row() {
    let five = |array: ArrayRef| vec![targets(5), ("c", array)];
    let finite = "write null for a value that is not known";
    for (bad, shown) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")] {
        let column: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 1.0, 1.0, bad, 1.0]));
        let expected = format!("a.parquet:4: the value {shown} in 'c' is not finite; {finite}");
        refused(five(column.clone()), &Asked::default(), &expected);
        refused(five(column), &asked(None, &[], &["c"]), &expected);
    }
    let nul: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c", "d", "e\0"]));
    refused(
        five(nul),
        &Asked::default(),
        "a.parquet:5: the text in 'c' has a NUL character in it; take it out",
    );
    let one = |index, value| {
        vec![targets(1), ("c", pairs(&[Some(&[Some((Some(1), Some(1.0))), Some((index, value))])]))]
    };
    refused(
        one(None, Some(1.0)),
        &Asked::default(),
        "a.parquet:1: pair 2 of 'c' has no index; give it one, or take the pair out",
    );
    refused(
        one(Some(-1), None),
        &Asked::default(),
        "a.parquet:1: index -1 is negative; indices start at 0 or 1",
    );
    refused(
        one(Some(1), Some(f64::NAN)),
        &Asked::default(),
        &format!("a.parquet:1: the value NaN in 'c' is not finite; {finite}"),
    );
    let large = Some((Some(1), Some(f64::MAX)));
    refused(
        vec![targets(1), ("c", pairs(&[Some(&[large, large])]))],
        &Asked::default(),
        "a.parquet:1: the values of a feature sum to infinity; scale the values down",
    );
    let targets: Vec<(ArrayRef, &str)> = vec![
        (Arc::new(StringArray::from(vec!["a", ""])), "the target is empty"),
        (Arc::new(StringArray::from(vec!["a", "inf"])), "the target 'inf' is not finite"),
        (Arc::new(Float32Array::from(vec![0.0, f32::NAN])), "the target 'NaN' is not finite"),
    ];
    for (target, what) in targets {
        let columns = vec![("y", target), ("a", Arc::new(Int32Array::from(vec![1, 1])) as ArrayRef)];
        let hint = "targets are finite numbers, words, true or false";
        refused(columns, &Asked::default(), &format!("a.parquet:2: {what}; {hint}"));
    }
}

#[test]
fn a_models_columns_are_found_by_name() {
    let folder = Folder::new();
    let whole = || Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef;
    let decimal = || Arc::new(Float64Array::from(vec![1.0, 2.0])) as ArrayRef;
    let words = || Arc::new(StringArray::from(vec!["v", "w"])) as ArrayRef;
    let odd = || Arc::new(Date32Array::from(vec![1, 2])) as ArrayRef;
    let path =
        folder.parquet(vec![("a", whole()), ("b", words()), ("y", whole()), ("code", whole()), ("d", odd())]);
    let recipe = opened(&path, &asked(None, &["d"], &["code"]), None).unwrap();
    let text = serde_json::to_string(&recipe).unwrap();
    assert_eq!(serde_json::from_str::<Recipe>(&text).unwrap(), recipe);
    let trained = read(&path, &asked(None, &["d"], &["code"]), None).unwrap();
    let known = |columns| read(&folder.arrow(columns), &Asked::default(), Some(&recipe));
    let unlabelled: Vec<Row> = trained.into_iter().map(|(_, features)| (None, features)).collect();
    let other = || vec![("code", decimal()), ("id", odd()), ("b", words()), ("a", decimal())];
    assert_eq!(known(other()).unwrap(), unlabelled, "no target, other order, other types, more columns");
    let null: ArrayRef = Arc::new(NullArray::new(2));
    assert_eq!(known(vec![("a", whole()), ("b", null.clone()), ("code", null)]).unwrap()[0].1.len(), 1);
    assert_eq!(
        known(other()[1..].to_vec()).unwrap_err(),
        "a.arrow: the column 'code' is missing: the model learnt from it; add it; where nothing is known, null will do"
    );
    assert_eq!(
        known(vec![("a", words()), ("b", words()), ("code", whole())]).unwrap_err(),
        "a.arrow: the column 'a' is Utf8, but held numbers in training; write it as it was in training"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_table_has_the_rows_of_its_json_lines(seed in any::<u64>()) {
        let (mut random, folder) = (Random::new(seed), Folder::new());
        let (batch, text) = draw(&mut random);
        let asked = asked(Some("y"), &["count"], &["code"]);
        let expected = read(&folder.file("a.jsonl", text), &asked, None);
        let table = folder.file("a.parquet", written(&batch, random.below(WAYS)));
        match batch.num_rows() {
            0 => prop_assert_eq!(read(&table, &asked, None).unwrap(), vec![]),
            _ => prop_assert_eq!(read(&table, &asked, None).unwrap(), expected.unwrap()),
        }
    }
}

thread_local! { static QUIET: Cell<bool> = const { Cell::new(false) } }

/// Others' code panics on damaged files; that is caught, but said on standard error.
fn keep_quiet() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                before(panic)
            }
        }));
    });
    QUIET.set(true);
}

/// Reads damaged files, so many; how many were read without an error, and how long the slowest took.
fn read_damaged(seed: u64, cases: u64) -> (u64, Duration) {
    keep_quiet();
    let (mut random, folder, mut fine, mut slowest) = (Random::new(seed), Folder::new(), 0, Duration::ZERO);
    let asked = asked(Some("y"), &["count"], &["code"]);
    let mut whole: Vec<Vec<u8>> = Vec::new();
    for case in 0..cases {
        if case % 500 == 0 {
            whole = (0..WAYS).map(|k| written(&draw(&mut random).0, k)).collect();
        }
        let mut bytes = whole[random.below(WAYS) as usize].clone();
        damage(&mut random, &mut bytes);
        let (path, start) = (folder.file("a.parquet", bytes), Instant::now());
        fine += u64::from(read(&path, &asked, None).is_ok());
        if start.elapsed() > slowest {
            slowest = start.elapsed();
            assert!(slowest < Duration::from_secs(20), "seed {seed}, case {case}");
        }
    }
    QUIET.set(false);
    (fine, slowest)
}

/// The most memory this process ever had, in megabytes, where the system tells.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.trim().strip_suffix(" kB"))
        .map_or(0, |peak| peak.trim().parse::<u64>().unwrap_or(0) >> 10)
}

/// `CASES` raises the number of files, `SEED` makes them others: `make fuzz-parquet`.
#[test]
fn a_damaged_file_is_rows_or_an_error() {
    let number = |name, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (cases, seed): (u64, u64) = (number("CASES", 8_000), number("SEED", 1));
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let all = std::thread::scope(|scope| {
        let of = |k| scope.spawn(move || read_damaged(seed + 1000 * k, cases.div_ceil(threads)));
        let all: Vec<_> = (0..threads).map(of).collect();
        all.into_iter().map(|one| one.join().expect("no panic comes through")).collect::<Vec<_>>()
    });
    let fine: u64 = all.iter().map(|one| one.0).sum();
    println!(
        "{cases} damaged files, {fine} of them read all the same; slowest {:?}; {} MB",
        all.iter().map(|one| one.1).max(),
        peak_memory()
    );
    assert!(fine < cases / 2, "most damage shows");
    assert!(peak_memory() < 1000, "{} MB", peak_memory());
}
