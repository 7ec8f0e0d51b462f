//! `lazyglm convert`: what is written, where, and what is refused.

use crate::common::{Folder, classes, text};
use std::io::Read;

/// A folder with data that have indices and data that have names.
fn folder() -> Folder {
    let folder = Folder::with("a.svm", "+1 2:0.50 7:1e0 # a word\n-1\n\n-1 1:-3 4294967295:1e-7\n");
    folder.write(
        "a.jsonl",
        "{\"y\": \"no\", \"age\": 31, \"city\": \"New York\"}\n{\"y\": \"yes\", \"tab\\tbed\": 1}\n",
    );
    folder
}

fn written(folder: &Folder, name: &str) -> String {
    String::from_utf8(folder.read(name)).expect("text")
}

#[test]
fn each_format_is_written_as_it_is_read() {
    let folder = folder();
    for (name, expected) in [
        ("b.svm", "1 2:0.5 7:1\n-1\n-1 1:-3 4294967295:1e-7\n"),
        ("b.vw", "1 | 2:0.5 7\n-1 |\n-1 | 1:-3 4294967295:1e-7\n"),
        (
            "b.jsonl",
            "{\"target\":1,\"2\":0.5,\"7\":1}\n{\"target\":-1}\n{\"target\":-1,\"1\":-3,\"4294967295\":1e-7}\n",
        ),
        ("b.csv", "target,1,2,7,4294967295\n1,0,0.5,1,0\n-1,0,0,0,0\n-1,-3,0,0,1e-7\n"),
    ] {
        let told = folder.ok(&format!("convert a.svm {name}"));
        assert_eq!((written(&folder, name).as_str(), told.stdout.as_str()), (expected, ""));
        assert!(told.stderr.contains("wrote 3 rows as ") && told.stderr.contains(name), "{}", told.stderr);
    }
    assert_eq!(folder.ok("convert a.svm b.svm --quiet").stderr, "");
    assert!(!folder.names().contains(&"b.svm.names".to_string()), "indices need no list");
}

#[test]
fn names_become_indices_with_a_list_of_them() {
    let folder = folder();
    let told = folder.ok("convert a.jsonl b.svm");
    assert_eq!(written(&folder, "b.svm"), "no 1:31 2:1\nyes 3:1\n");
    assert_eq!(written(&folder, "b.svm.names"), "1\tage\n2\tcity=New York\n3\ttab\\tbed\n");
    assert!(told.stderr.contains("b.svm.names"), "{}", told.stderr);
    folder.ok("convert a.jsonl hashed.svm --hash-bits 8");
    assert!(!folder.names().contains(&"hashed.svm.names".to_string()), "buckets are indices");
}

#[test]
fn output_is_compressed_by_its_name_and_named_by_to() {
    let folder = folder();
    folder.ok("convert a.svm plain --to svmlight");
    folder.ok("convert a.svm b.svm.gz");
    folder.ok("convert a.svm b.vw.zst --to svmlight");
    let plain = folder.read("plain");
    let mut unpacked = Vec::new();
    let packed = folder.read("b.svm.gz");
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).expect("gzip");
    assert_eq!(unpacked, plain);
    assert_eq!(zstd::decode_all(&folder.read("b.vw.zst")[..]).expect("zstd"), plain);
}

#[test]
fn standard_input_and_output_are_used_if_asked() {
    let folder = folder();
    let expected = written_by(&folder, "convert a.svm b.vw", "b.vw");
    assert_eq!(folder.ok("convert a.svm - --to vw").stdout, expected);
    assert_eq!(folder.run_on(&folder.read("a.svm"), "convert - - --to vw").stdout, expected);
    assert_eq!(folder.ok("convert a.jsonl - --to jsonl").stdout.lines().count(), 2);
    folder.refuses("convert a.svm -", 2, &["--to"]);
    folder.refuses("convert a.svm - --to cache", 2, &["cache", "standard output"]);
    folder.refuses("convert a.jsonl - --to svmlight", 2, &["features have names", "vw or jsonl"]);
    let piped = folder.run_on(&folder.read("a.svm"), "convert - c.csv");
    assert_eq!(piped.code, 2);
    assert!(piped.stderr.contains("cannot be read twice"), "{}", piped.stderr);
    assert!(!folder.names().contains(&"c.csv".to_string()));
}

fn written_by(folder: &Folder, line: &str, name: &str) -> String {
    folder.ok(line);
    written(folder, name)
}

#[test]
fn a_model_of_converted_data_is_the_same_model() {
    let folder = Folder::with("a.svm", text(&classes(500, 40, 3)));
    folder.ok("convert a.svm a.svm.lazyglm-cache");
    folder.ok("convert a.svm b.svm.zst");
    folder.ok("train a.svm -o direct --cache off --quiet");
    folder.ok("train a.svm -o cached --cache only --quiet");
    folder.ok("train b.svm.zst -o other --cache off --quiet");
    assert_eq!(folder.weights("cached"), folder.weights("direct"));
    assert_eq!(folder.weights("other"), folder.weights("direct"));
}

#[test]
fn weights_that_are_lost_are_spoken_of() {
    let folder = Folder::with("a.vw", "1 2 | a\n0 | b\n");
    let told = folder.ok("convert a.vw b.svm").stderr;
    assert!(
        told.contains("warning: 1 row has a weight of its own, which svmlight cannot hold: it is lost"),
        "{told}"
    );
    assert!(!folder.ok("convert a.vw b.vw").stderr.contains("lost"));
    assert_eq!(written(&folder, "b.vw"), "1 2 | a\n0 | b\n");
}

#[test]
fn wrong_input_is_refused_with_its_place_and_nothing_is_left() {
    let folder = folder();
    folder.write("bad.svm", "1 1:1\n1 2:x\n");
    for to in ["b.svm", "b.vw.gz", "b.jsonl", "b.csv", "b.lazyglm-cache"] {
        folder.refuses(&format!("convert bad.svm {to}"), 1, &["bad.svm:2:5", "'2:x' has no valid number"]);
        folder.refuses(&format!("convert gone.svm {to}"), 1, &["gone.svm"]);
    }
    folder.write("empty.svm", "# nothing\n");
    for to in ["b.svm", "b.csv", "b.lazyglm-cache"] {
        folder.refuses(&format!("convert empty.svm {to}"), 1, &["empty.svm", "there are no rows"]);
    }
    folder.write("prose.svm", "hello\n");
    folder.refuses("convert prose.svm b.vw", 1, &["no row has a feature"]);
    folder.refuses("convert a.jsonl b.vw", 1, &["a.jsonl:1: ", "'city=New York'", "jsonl or svmlight"]);
}

#[test]
fn wrong_calls_are_refused() {
    let folder = folder();
    folder.refuses("convert a.svm b", 2, &["does not say which format", "--to"]);
    folder.refuses("convert a.svm b.svm --to svmlite", 2, &["no format 'svmlite' to write", "svmlight"]);
    folder.refuses("convert a.svm b.svm --format svmlite", 2, &["no format 'svmlite'", "svmlight"]);
    folder.refuses("convert a.svm b.txt --to text", 2, &["cannot be turned back"]);
    folder.refuses("convert a.svm b.lazyglm-cache.gz", 2, &["cannot be compressed"]);
    folder.refuses("convert a.svm", 2, &["OUT"]);
    folder.refuses("convert a.svm nowhere/b.svm", 1, &["nowhere"]);
}

#[test]
fn the_data_are_never_replaced() {
    let folder = folder();
    for line in ["convert a.svm a.svm", "convert a.svm ./a.svm", "convert a.svm a.svm --to vw"] {
        folder.refuses(line, 2, &["a.svm", "would replace the data"]);
    }
    folder.write("b.svm.names", "1 1:1\n");
    folder.refuses("convert b.svm.names b.svm", 2, &["b.svm.names", "would replace the data"]);
}

#[test]
fn a_table_of_too_many_columns_is_refused() {
    let pairs: String = (1..=10_000).map(|index| format!(" {index}:1")).collect();
    let folder = Folder::with("a.svm", format!("1{pairs}\n"));
    folder.ok("convert a.svm fits.csv");
    folder.write("a.svm", format!("1{pairs}\n1 10001:1\n"));
    folder.refuses("convert a.svm b.csv", 1, &["more than 10,000 features", "svmlight"]);
}
