//! Laws of rows that cannot be read: one error names all of a file, whatever the format, and one attempt is enough.

use crate::common::reading::{error, read_in_blocks, spec};
use lazyglm::data::format::ReadOptions;
use lazyglm::{Dataset, Load};

/// The error of a file whose first rows decide what the columns are.
fn refused(first: &str, rest: &str, file: &str) -> String {
    let (all, asked) = (first.to_string() + rest, ReadOptions::default());
    let opened = spec(first.as_bytes(), file, &asked, None).unwrap();
    read_in_blocks(all.as_bytes(), file, &opened, all.len()).unwrap_err().to_string()
}

/// A table with numbers in both columns.
fn numbers() -> String {
    "a,b,y\n".to_string() + &(0..100).map(|k| format!("{k},{},{}\n", k % 7, k % 2)).collect::<String>()
}

#[test]
fn wrong_cells_of_all_columns_are_reported_at_once() {
    let rest = "x1,y1,1\n5,y2,0\nx3,6,1\nx4,5\n7,y5,1\n";
    assert_eq!(
        refused(&numbers(), rest, "t.csv"),
        "t.csv:102:1: 'x1' in the number column 'a' is not a finite number; \
         also t.csv:102:4: 'y1' in the number column 'b' is not a finite number; \
         t.csv:103:3: 'y2' in the number column 'b' is not a finite number; \
         t.csv:104:1: 'x3' in the number column 'a' is not a finite number; \
         t.csv:105:1: the row has 2 cells, the header 3 cells; and 1 more, the last in line 106; \
         mend or empty the cell, or train with categorical = a; \
         mend or empty the cell, or train with categorical = b; \
         put double quotes around a cell that has ',' or a line end in it"
    );
    let line = |k: usize| format!("{{\"a\":{k},\"b\":{},\"y\":{}}}\n", k % 7, k % 2);
    let rest = "{\"a\":\"x1\",\"b\":\"y1\",\"y\":1}\n{\"a\":1,}\n";
    let said = refused(&(0..100).map(line).collect::<String>(), rest, "t.jsonl");
    for part in ["t.jsonl:101:6: 'x1'", "t.jsonl:101:15: 'y1'", "t.jsonl:102:8: a key in quotes is due"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn one_wrong_row_is_reported_as_before() {
    assert_eq!(
        refused(&numbers(), "x1,3,1\n", "t.csv"),
        "t.csv:102:1: 'x1' in the number column 'a' is not a finite number; mend or empty the cell, or train with categorical = a"
    );
}

#[test]
fn formats_of_lines_report_all_wrong_lines() {
    for (text, file, second) in [
        ("1 1:1\n0 x:1\n1 2:1\n0 3:y\n", "t.svm", "t.svm:4"),
        ("1 |a b\n0 a b\n1 |a b\n0 a b\n", "t.vw", "t.vw:4"),
        ("a\tone two\nno label\nb\tone two\nnone here\n", "t.txt", "t.txt:4"),
    ] {
        let said = error(text.as_bytes(), file, &ReadOptions::default());
        assert!(
            said.starts_with(&format!("{file}:2")) && said.contains(&format!("; also {second}")),
            "{said}"
        );
    }
}

#[test]
fn a_stray_quote_ends_the_search_since_nobody_knows_where_rows_begin() {
    let said = refused(&numbers(), "x1,3,1\n\"4,3,1\n5,3,1\n", "t.csv");
    assert!(said.contains("; also t.csv:103:1: the quote that opens here is not closed"), "{said}");
    assert!(!said.contains("more, the last"), "{said}");
}

/// Columns that go wrong only in later blocks, read by one thread and by several.
#[test]
fn wrong_cells_of_later_blocks_are_reported_with_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.csv");
    let many: String = (0..200_000).map(|k| format!("{k},{},{}\n", k % 7, k % 2)).collect();
    std::fs::write(&file, format!("a,b,y\n{many}x,1,1\n{many}1,z,0\n{many}")).unwrap();
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let said = pool.install(|| Dataset::load(&file, &Load::default()).unwrap_err().to_string());
        assert!(said.contains("t.csv:200002:1: 'x' in the number column 'a'"), "{said}");
        assert!(said.contains("t.csv:400003:3: 'z' in the number column 'b'"), "{said}");
    }
}

#[test]
fn all_unknown_columns_are_named_at_once() {
    let asked = ReadOptions {
        drop: vec!["agee".into(), "city".into()],
        categorical: vec!["heigth".into()],
        ..ReadOptions::default()
    };
    let csv = error(b"age,height,city,y\n1,2,x,1\n", "t.csv", &asked);
    assert_eq!(
        csv,
        "there are no columns 'agee' (drop), 'heigth' (categorical); did you mean 'age', 'height'? There are: age, height, city, y"
    );
    let json = error(b"{\"age\":1,\"height\":2,\"city\":\"x\",\"y\":1}\n", "t.jsonl", &asked);
    assert!(
        json.starts_with(
            "t.jsonl: no keys 'agee', 'heigth' occur in the first lines; did you mean 'age', 'height'?"
        ),
        "{json}"
    );
}
