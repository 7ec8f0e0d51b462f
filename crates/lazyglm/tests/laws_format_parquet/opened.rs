//! Files as they are opened: recognised, their target found, read again from a cache, and for a model that knows its columns.

use super::tables::drawn::{WAYS, draw, written};
use super::tables::*;
use super::{asked, targets};
use arrow_array::*;
use arrow_schema::{DataType, Field};
use lazyglm::data::dataset::for_each_block;
use lazyglm::data::format::{FormatSpec, ReadOptions};
use lazyglm::util::random::Random;
use lazyglm::{Dataset, Declared, Load, ReadConfig};
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;

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
fn a_column_of_offsets_is_no_feature_and_may_be_missing_for_a_model() {
    let folder = Folder::new();
    let offsets: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.5), Some(-1.0), Some(0.0)]));
    let other: ArrayRef = Arc::new(Int32Array::from_iter_values(1..4));
    let path = folder.parquet(vec![targets(3), ("o", offsets), ("a", other.clone())]);
    let asked = ReadOptions { offset: Some("o".into()), ..ReadOptions::default() };
    let load = Load { asked: asked.clone(), ..Load::default() };
    let data = Dataset::load(&path, &load).unwrap().0;
    assert_eq!((data.offsets.clone().unwrap(), data.features.columns()), (vec![0.5, -1.0, 0.0], 1));
    let without = folder.parquet(vec![targets(3), ("a", other)]);
    assert_eq!(Dataset::read_like(&without, &data).unwrap().offsets, None);
    let holes: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.5), None]));
    let path = folder.parquet(vec![targets(2), ("o", holes), ("a", Arc::new(Int32Array::from(vec![1, 2])))]);
    let told = Dataset::load(&path, &load).unwrap_err().to_string();
    assert!(told.contains(".parquet:2: the row has no offset"), "{told}");
    let words: ArrayRef = Arc::new(StringArray::from(vec!["much"]));
    let path = folder.parquet(vec![targets(1), ("o", words), ("a", Arc::new(Int32Array::from(vec![1])))]);
    assert!(opened(&path, &asked, None).unwrap_err().contains("the offset 'o' is Utf8; offsets are numbers"));
}

#[test]
fn the_target_is_as_asked_or_the_first_usual_name() {
    let folder = Folder::new();
    let one: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let path = folder.parquet(vec![("y", one.clone()), ("label", one.clone()), ("prize", one.clone())]);
    let target = |asked| match opened(&path, &asked, None) {
        Ok(FormatSpec::Parquet { target, columns, .. }) => Ok((target, columns.len())),
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
    let both = "the column 'y' is the target and is to be left out; take it off drop, or name another target";
    assert_eq!(target(asked(Some("y"), &["y"], &[])).unwrap_err(), both);
    let path = folder.parquet(vec![("a", one.clone()), ("b", one)]);
    assert_eq!(
        opened(&path, &ReadOptions::default(), None).unwrap_err(),
        "a.parquet: no column is called target, label, y, class; set target to the name of the target; there are: a, b"
    );
}

#[test]
fn tables_are_recognised_by_their_first_bytes_before_all_else() {
    let folder = Folder::new();
    let one: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let bytes = parquet_bytes(&batch(vec![("y", one.clone()), ("a", one)]), WriterProperties::default());
    for name in ["a.svm", "a.jsonl", "a", "a.parquet"] {
        assert_eq!(
            opened(&folder.file(name, &bytes), &ReadOptions::default(), None).unwrap().name(),
            "parquet"
        );
    }
    let no = "a.feather: this is no Parquet file and no Arrow file: it does not begin with PAR1 or ARROW1; ";
    assert!(
        opened(&folder.file("a.feather", "FEA1"), &ReadOptions::default(), None).unwrap_err().starts_with(no)
    );
    assert!(
        opened(&folder.file("a.feather", ""), &ReadOptions::default(), None).unwrap_err().starts_with(no)
    );
    for packed in [zstd::bulk::compress(&bytes, 1).unwrap(), gzip(&bytes)] {
        let error = read(&folder.file("a.parquet.gz", packed), &ReadOptions::default(), None).unwrap_err();
        assert!(error.contains("Parquet cannot be read out of gzip or zstd"), "{error}");
    }
    let asked = ReadOptions { format: Some("parquet".into()), ..ReadOptions::default() };
    let opening =
        lazyglm::data::format::Opening { first: &bytes, file: Path::new("-"), asked: &asked, known: None };
    let error = lazyglm::data::format::open(&opening).unwrap_err().to_string();
    assert!(error.starts_with("standard input: Parquet cannot be read from a stream"), "{error}");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

#[test]
fn a_models_columns_are_found_by_name() {
    let folder = Folder::new();
    let whole = || Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef;
    let decimal = || Arc::new(Float64Array::from(vec![1.0, 2.0])) as ArrayRef;
    let words = || Arc::new(StringArray::from(vec!["v", "w"])) as ArrayRef;
    let odd = || Arc::new(BinaryArray::from(vec![&b"1"[..], b"2"])) as ArrayRef;
    let path =
        folder.parquet(vec![("a", whole()), ("b", words()), ("y", whole()), ("code", whole()), ("d", odd())]);
    let spec = opened(&path, &asked(None, &["d"], &["code"]), None).unwrap();
    let text = serde_json::to_string(&spec).unwrap();
    assert_eq!(serde_json::from_str::<FormatSpec>(&text).unwrap(), spec);
    let trained = read(&path, &asked(None, &["d"], &["code"]), None).unwrap();
    let known = |columns| read(&folder.arrow(columns), &ReadOptions::default(), Some(&spec));
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

#[test]
fn a_table_is_read_like_the_csv_file_that_a_model_learnt_from_and_its_cells_are_copied() {
    let folder = Folder::new();
    let csv = "id,age,city,zip,y\np1,31.5,Oslo,501,no\np2,,Vik,7000,yes\np3,0,Oslo,501,no\np4,-2,,7000,yes\n";
    let csv = folder.file("people.csv", csv);
    let drop_id = asked(None, &["id"], &["zip"]);
    let known = opened(&csv, &drop_id, None).unwrap();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("zip", Arc::new(Int64Array::from(vec![501, 7000, 501, 7000]))),
        ("city", Arc::new(StringArray::from(vec![Some("Oslo"), Some("Vik"), Some("Oslo"), None]))),
        ("y", Arc::new(StringArray::from(vec!["no", "yes", "no", "yes"]))),
        ("id", Arc::new(StringArray::from(vec!["p1", "p2", "p3", "p4"]))),
        ("age", Arc::new(Float64Array::from(vec![Some(31.5), None, Some(0.0), Some(-2.0)]))),
    ];
    let expected = read(&csv, &ReadOptions::default(), Some(&known)).unwrap();
    for path in [folder.parquet(columns.clone()), folder.arrow(columns)] {
        assert_eq!(read(&path, &ReadOptions::default(), Some(&known)).unwrap(), expected);
        let asked = ReadOptions {
            copy: ["age", "id", "target"].map(String::from).to_vec(),
            ..ReadOptions::default()
        };
        let (mut cells, reading) = (Vec::new(), ReadConfig { spec: known.clone(), ..ReadConfig::default() });
        for_each_block(&path, &asked, Some(&reading), |block| {
            cells.extend(block.copied.clone());
            Ok(())
        })
        .unwrap();
        assert_eq!(cells.concat(), "31.5p1nop2yes0p3no-2p4yes");
        let asked = ReadOptions { copy: vec!["town".into()], ..ReadOptions::default() };
        let told = read(&path, &asked, Some(&known)).unwrap_err();
        assert!(told.contains("no column 'town' to copy"), "{told}");
    }
}

#[test]
fn the_index_of_pandas_is_dropped_with_a_note() {
    let folder = Folder::new();
    let number = || Arc::new(Int32Array::from(vec![7, 8])) as ArrayRef;
    let columns = vec![("a", number()), ("id", number()), ("__index_level_0__", number()), targets(2)];
    let file = folder.parquet(columns);
    let asked = ReadOptions { drop: vec!["id".into()], ..ReadOptions::default() };
    let load = lazyglm::Load { asked, cache: lazyglm::CacheMode::Off, ..Default::default() };
    let (data, _) = lazyglm::Dataset::load(&file, &load).unwrap();
    let note = "columns: 1 number (a), 2 dropped (id, __index_level_0__: the index of pandas)";
    assert_eq!(data.notes[0], note);
    assert_eq!(data.features.count, 1);
}

/// A pipe with a name, through which these bytes come once.
#[cfg(unix)]
fn pipe(folder: &Folder, name: &str, bytes: Vec<u8>) -> std::path::PathBuf {
    let path = folder.0.path().join(name);
    let _ = std::fs::remove_file(&path); // the pipe of an earlier call
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let to = path.clone();
    std::thread::spawn(move || std::fs::write(to, bytes));
    path
}

#[test]
#[cfg(unix)]
fn streams_have_the_rows_of_files() {
    let folder = Folder::new();
    let columns = || -> Vec<(&str, ArrayRef)> {
        vec![
            ("a", Arc::new(Int32Array::from_iter_values(0..500))),
            ("b", Arc::new(StringArray::from_iter_values((0..500).map(|k| format!("w{}", k % 7))))),
            targets(500),
        ]
    };
    let file = folder.parquet(columns());
    let expected = read(&file, &ReadOptions::default(), None).unwrap();
    let mut stream = Vec::new();
    let table = batch(columns());
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(&mut stream, &table.schema()).unwrap();
    (0..5).for_each(|k| writer.write(&table.slice(100 * k, 100)).unwrap());
    writer.finish().unwrap();
    drop(writer);
    let parquet = std::fs::read(&file).unwrap();
    let arrow = std::fs::read(folder.arrow(columns())).unwrap();
    for bytes in [stream.clone(), parquet.clone(), arrow, gzip(&stream), gzip(&parquet)] {
        let path = pipe(&folder, "pipe", bytes);
        assert_eq!(read(&path, &ReadOptions::default(), None).unwrap(), expected);
    }
    let asked = ReadOptions { copy: vec!["b".into(), "a".into()], ..ReadOptions::default() };
    let mut copied = Vec::new();
    lazyglm::data::dataset::for_each_block(&pipe(&folder, "pipe", stream.clone()), &asked, None, |block| {
        copied.extend(block.copied.clone());
        Ok(())
    })
    .unwrap();
    assert_eq!((copied.len(), &copied[14..18]), (1000, &["w0", "7", "w1", "8"].map(String::from)[..]));
    stream.truncate(stream.len() / 2);
    let error = read(&pipe(&folder, "pipe", stream), &ReadOptions::default(), None).unwrap_err();
    assert!(error.starts_with("pipe: the file cannot be read: it is cut short"), "{error}");
}

#[test]
fn dates_times_and_fields_of_structs_are_copied_as_text() {
    let folder = Folder::new();
    let fields = vec![Field::new("n", DataType::Int32, true), Field::new("w", DataType::Utf8, true)];
    let parts: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(vec![Some(4), None, Some(9)])),
        Arc::new(StringArray::from(vec!["x", "y", "under a null"])),
    ];
    let of = StructArray::try_new(fields.into(), parts, Some(vec![true, true, false].into())).unwrap();
    let columns = || -> Vec<(&str, ArrayRef)> {
        vec![
            ("of", Arc::new(of.clone())),
            ("day", Arc::new(Date32Array::from(vec![Some(19_935), None, Some(-1)]))),
            (
                "at",
                Arc::new(
                    TimestampMicrosecondArray::from(vec![1_722_431_100_250_000, 0, -1]).with_timezone("UTC"),
                ),
            ),
            ("since", Arc::new(TimestampSecondArray::from(vec![60, 0, -1]))),
            ("lists", lists(&[Some(vec![Some("a")]), None, None])),
            targets(3),
        ]
    };
    let expected = [
        ["4", "x", "2024-07-31", "2024-07-31T13:05:00.25Z", "1970-01-01T00:01:00"],
        ["", "y", "", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00"],
        ["", "", "1969-12-31", "1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59"],
    ];
    for file in [folder.parquet(columns()), folder.arrow(columns())] {
        let names = ["of.n", "of.w", "day", "at", "since"].map(String::from);
        let asked = ReadOptions { copy: names.to_vec(), ..ReadOptions::default() };
        let mut copied = Vec::new();
        lazyglm::data::dataset::for_each_block(&file, &asked, None, |block| {
            copied.extend(block.copied.clone());
            Ok(())
        })
        .unwrap();
        assert_eq!(copied, expected.concat());
        // Structs and lists as JSON, as from JSON Lines; the name of a column goes before that of a struct.
        let asked = ReadOptions { copy: vec!["of".into(), "lists".into()], ..ReadOptions::default() };
        let mut copied = Vec::new();
        lazyglm::data::dataset::for_each_block(&file, &asked, None, |block| {
            copied.extend(block.copied.clone());
            Ok(())
        })
        .unwrap();
        assert_eq!(copied, [r#"{"n":4,"w":"x"}"#, r#"["a"]"#, r#"{"n":null,"w":"y"}"#, "", "", ""]);
    }
}
