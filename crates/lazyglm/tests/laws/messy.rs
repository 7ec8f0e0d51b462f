//! Laws of tables as people have them: units far apart, numbers written as text, other delimiters and endings.

use crate::common::reading::{Read, error, read, spec};
use lazyglm::data::dataset;
use lazyglm::data::format::{ColumnKind, FormatSpec, Parsed, ReadOptions};
use lazyglm::train::scaled_numbers_if_better;
use lazyglm::util::random::Random;
use lazyglm::{Dataset, Declared, Load, Model, Scale, Scorer, Settings, Solver, Task, train};

fn plain(text: &str, file: &str) -> Read {
    read(text.as_bytes(), file, &ReadOptions::default()).unwrap()
}

/// Ages tell the class, incomes are a thousand times as large and tell nothing.
fn people() -> String {
    let mut dice = Random::new(3);
    let row = |_| {
        let (age, income) = (20 + dice.below(60), 1000 * dice.below(90) + dice.below(1000));
        format!("{age},{income},{}\n", u8::from(age + dice.below(20) > 60))
    };
    "age,income,y\n".to_string() + &(0..400).map(row).collect::<String>()
}

#[test]
fn numbers_in_units_far_apart_are_scaled_if_that_predicts_better() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("people.csv");
    std::fs::write(&file, people()).unwrap();
    let task = Task::builder(Dataset::read(&file, Declared::default()).unwrap()).build().unwrap();
    let settings = Settings { solver: Solver::Auto, choose_penalty: true, ..Settings::default() };
    let found = scaled_numbers_if_better(&task, None, &settings, &mut |_| {}).unwrap();
    let (scaled, _) = found.expect("the penalty would keep incomes and leave out ages");
    assert!(
        scaled.notes.iter().any(|note| note.starts_with("numbers are divided by their standard deviation"))
    );
    let trained = train(&scaled, None, &settings, &mut |_| {}).unwrap();
    assert!(trained.report.loss < 0.8 * trained.report.baseline, "ages tell the class");
    // The model scores rows as written.
    let (weights, bias) = (trained.weights.clone(), trained.bias);
    let model = Model::new(&scaled, &settings, trained);
    let (mut scorer, mut row) = (Scorer::new(&model), 0);
    dataset::for_each_block(&file, &ReadOptions::default(), Some(&model.reading), |block| {
        scorer.set_block(block)?;
        for i in 0..block.rows.len() {
            let known = scaled.data.rows.borrow().dot(row, &weights) + bias;
            assert!(
                (scorer.score(block.rows.borrow(), i) - known).abs() < 1e-5,
                "the rows that were learnt are in f32"
            );
            row += 1;
        }
        Ok(())
    })
    .unwrap();
    let given = Settings { choose_penalty: false, ..settings.clone() };
    assert!(
        scaled_numbers_if_better(&task, None, &given, &mut |_| {}).unwrap().is_none(),
        "a penalty is given"
    );
    let load = Load { scale: Scale::MaxAbs, ..Load::default() };
    let task = Task::builder(Dataset::load(&file, &load).unwrap().0).build().unwrap();
    assert!(
        scaled_numbers_if_better(&task, None, &settings, &mut |_| {}).unwrap().is_none(),
        "scaled already"
    );
}

#[test]
fn numbers_in_quotes_are_numbers_among_numbers_in_json() {
    let line = |k: usize| match k {
        _ if k.is_multiple_of(5) => format!("{{\"age\":\"{k}\",\"code\":\"{k}\",\"city\":5,\"y\":1}}\n"),
        _ => format!("{{\"age\":{k},\"code\":\"{k}\",\"city\":\"Oslo\",\"y\":0}}\n"),
    };
    let lines: String = (1..40).map(line).collect();
    let json = plain(&lines, "t.jsonl");
    assert_eq!(json.features(4), [("age", 5.0), ("city=5", 1.0), ("code=5", 1.0)]);
    assert_eq!(json.features(5), [("age", 6.0), ("city=Oslo", 1.0), ("code=6", 1.0)]);
}

#[test]
fn each_of_thousands_of_columns_counts_its_own_words() {
    let (columns, rows) = (3_000, 6);
    let header: String = (0..columns).map(|k| format!(",c{k}")).collect();
    // Column k has a word in every second row, or in every third.
    let is_word = |k: usize, row: usize| (k + row).is_multiple_of(2 + k % 2);
    let cell = |k: usize, row: usize| if is_word(k, row) { ",NaN" } else { ",1" };
    let row = |row: usize| format!("{}{}\n", row % 2, (0..columns).map(|k| cell(k, row)).collect::<String>());
    let body: String = (0..rows).map(row).collect();
    let opened =
        spec(format!("y{header}\n{body}").as_bytes(), "a.csv", &ReadOptions::default(), None).unwrap();
    let (mut parser, mut parsed) = (opened.parser(), Parsed::default());
    for block in [&body, &body] {
        parser.parse(block.as_bytes(), "a.csv".as_ref(), &mut parsed).unwrap();
    }
    let words = |k: usize| (0..rows).filter(|row| is_word(k, *row)).count() as u64;
    let mut counts: Vec<(String, u64)> = (0..columns).map(|k| (format!("c{k}"), 2 * words(k))).collect();
    let mut found: Vec<(String, u64)> =
        parsed.dirty.iter().map(|cells| (cells.column.clone(), cells.count)).collect();
    counts.retain(|(_, count)| *count > 0);
    counts.sort();
    found.sort();
    assert_eq!(found, counts);
}

#[test]
fn a_text_file_with_a_header_between_tabs_and_a_file_with_bars_are_tables() {
    for (text, file) in [
        ("age\tcity\ty\n31\tOslo\t1\n40\tBergen\t0\n", "t.txt"),
        ("age|city|y\n31|Oslo|1\n40|Bergen|0\n", "t.csv"),
    ] {
        assert_eq!(plain(text, file).features(0), [("age", 31.0), ("city=Oslo", 1.0)], "{file}");
    }
    let text = "label\tone two\nspam\ttwo words\tand more\n";
    let opened = spec(text.as_bytes(), "t.txt", &ReadOptions::default(), None).unwrap();
    assert!(matches!(opened, FormatSpec::Text(_)), "two cells are a label and its text");
}

#[test]
fn utf_16_is_named() {
    let bytes: Vec<u8> = "\u{feff}a,y\n1,1\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let told = error(&bytes, "t.csv", &ReadOptions::default());
    assert!(told.contains("it seems to be UTF-16: iconv -f UTF-16"), "{told}");
}

#[test]
fn a_column_of_as_many_categories_as_rows_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.csv");
    let row = |k: usize| format!("{k},5;\"{k},5\";c{};{}\n", k % 3, k % 2);
    std::fs::write(&file, "price;cost;kind;y\n".to_string() + &(10..60).map(row).collect::<String>())
        .unwrap();
    let notes = Dataset::read(&file, Declared::default()).unwrap().notes;
    let warned: Vec<&String> = notes.iter().filter(|note| note.contains("categories in")).collect();
    assert_eq!(warned.len(), 2, "{notes:?}");
    assert!(warned[0].contains("column 'cost' has 50 categories in 50 rows, such as '10,5'"), "{warned:?}");
    let kinds = |text: &str| match spec(text.as_bytes(), "t.csv", &ReadOptions::default(), None).unwrap() {
        FormatSpec::Csv(csv) => csv.columns[0].kind,
        _ => panic!("a table"),
    };
    assert_eq!(
        [kinds("at,y\n13:05,1\n09:30,0\n"), kinds("at,y\n13:05,1\nnoon,0\n")],
        [ColumnKind::Clock, ColumnKind::Category]
    );
}
