//! Bad data in each format: exit 1 with the place, or 2 where the call is at fault; every file stays as it was.

use crate::common::{FORMATS, Folder, bad_line, classes, in_format};
use std::io::Write;

/// A folder with good data of a format and a model of them.
fn folder(format: &str, file: &str) -> Folder {
    let folder = Folder::with(file, in_format(&classes(60, 20, 1), format));
    folder.ok(&format!("train {file} -o m --cache off"));
    folder
}

fn bad_name(file: &str) -> String {
    file.replace("data", "bad")
}

/// Every verb that reads data refuses these.
fn refused_by_all(folder: &Folder, file: &str, bad: impl AsRef<[u8]>, parts: &[&str]) {
    let name = bad_name(file);
    folder.write(&name, bad);
    for line in [
        format!("train {name} -o new"),
        format!("train {name} -o new --loss squared --cache off"),
        format!("train {name} -o new --hash-bits 8"),
        format!("train {file} --validation {name} -o new --cache off"),
        format!("evaluate m {name} --json"),
        format!("predict m {name} -o new"),
    ] {
        folder.refuses(&line, 1, &[&[name.as_str()], parts].concat());
    }
}

#[test]
fn a_bad_line_is_refused_with_its_place_by_every_verb_and_format() {
    for (format, file) in FORMATS {
        if format == "text" {
            continue; // a line without a label is a fine line to predict
        }
        let (folder, name) = (folder(format, file), bad_name(file));
        let good = in_format(&classes(30, 20, 2), format);
        let lines = good.lines().count();
        for blank in [0, 3] {
            let bad =
                [good.as_bytes(), "\n".repeat(blank).as_bytes(), bad_line(format), good.as_bytes()].concat();
            refused_by_all(&folder, file, bad, &[&format!("{name}:{}:", lines + blank + 1)]);
        }
    }
    let folder = folder("text", "data.txt");
    folder.write("bad.txt", "spam\tbuy\n\nspam without a tab\n");
    folder.refuses("train bad.txt -o new", 1, &["bad.txt:3:1", "no label"]);
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    for (format, file) in FORMATS {
        let folder = folder(format, file);
        let good = in_format(&classes(30, 20, 2), format);
        let line = format!("{}:{}:", bad_name(file), good.lines().count() + 1);
        for bytes in [&b"\xff\xfe"[..], b"caf\xe9", b"\xc3"] {
            let bad = [good.as_bytes(), bytes, b"\n", good.as_bytes()].concat();
            refused_by_all(&folder, file, bad, &[&line, "0x"]);
        }
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        refused_by_all(&folder, file, png, &[]);
    }
}

#[test]
fn files_without_rows_are_refused() {
    for (format, file) in FORMATS {
        let folder = folder(format, file);
        for empty in ["", "\n", "\r\n\n\n"] {
            refused_by_all(&folder, file, empty, &[]);
        }
        if format == "csv" {
            let header = in_format(&[], format);
            refused_by_all(&folder, file, &header, &["no rows"]);
            refused_by_all(&folder, file, header.trim_end(), &["no rows"]);
            refused_by_all(&folder, file, format!("{header}\n\r\n"), &["no rows"]);
        }
    }
}

#[test]
fn a_target_that_training_never_saw_is_named_with_its_line() {
    for (format, file) in FORMATS {
        let (folder, name) = (folder(format, file), bad_name(file));
        let mut rows = classes(30, 20, 2);
        rows[20].0 = 3.0;
        folder.write(&name, in_format(&rows, format));
        let line = if format == "csv" { 22 } else { 21 };
        let place = format!("{name}:{line}");
        let told = folder.ok(&format!("evaluate m {name}")).stderr;
        assert!(told.contains("warning:") && told.contains(&format!("'3' at {place}")), "{told}");
        folder.refuses(&format!("train {file} --validation {name} -o new --cache off"), 1, &[&place, "'3'"]);
        folder.ok(&format!("predict m {name}"));
    }
}

#[test]
fn rows_without_a_target_can_be_predicted_and_nothing_else() {
    for (file, bad, line) in [
        ("data.vw", "|f x1:1\n", 1),
        ("data.jsonl", "{\"x1\": 1}\n", 1),
        ("data.csv", "x1\n1\n", 2),
        ("data.txt", "x1 x2\n", 1),
    ] {
        let format = FORMATS.iter().find(|(_, name)| *name == file).expect("a format").0;
        let columns = (2..100).map(|j| format!(",x{j}")).collect::<String>();
        let bad =
            if format == "csv" { format!("x1{columns}\n1{}\n", ",".repeat(98)) } else { bad.to_string() };
        let (folder, name) = (folder(format, file), bad_name(file));
        folder.write(&name, &bad);
        assert_eq!(folder.scores("m", &name).len(), 1);
        folder.refuses(&format!("evaluate m {name}"), 1, &[&format!("{name}:{line}"), "no target"]);
        let output = folder.run(&format!("train {name} -o new"));
        assert!(output.code == 1 || output.code == 2, "{name}: {}", output.stderr);
        assert!(output.stderr.contains(&name) && !output.stderr.contains("panicked"), "{}", output.stderr);
    }
}

#[test]
fn tables_that_are_no_tables_are_refused() {
    let folder = Folder::new();
    let refuses = |table: &str, flags: &str, code: i32, parts: &[&str]| {
        folder.write("bad.csv", table);
        folder.refuses(&format!("train bad.csv -o new --cache off {flags}"), code, parts);
    };
    refuses("a,b,label\n1,2,x\n1,2\n", "", 1, &["bad.csv:3:", "2 cells", "3 cells"]);
    refuses("a,b,label\n1,2,x\n1,2,y,4\n", "", 1, &["bad.csv:3:", "4 cells", "3 cells"]);
    refuses("a,b,label\n1,2,x\n\"1,2,y\n", "", 1, &["bad.csv:3"]);
    refuses("a,a,label\n1,2,x\n", "", 1, &["bad.csv:1:3", "'a'"]);
    refuses("a,,label\n1,2,x\n", "", 1, &["bad.csv:1:", "column 2 has no name"]);
    refuses("a,b\n1,2\n", "", 2, &["bad.csv", "--target"]);
    refuses("a,b,label,target\n1,2,3,4\n", "", 2, &["bad.csv", "'label' and 'target'"]);
    refuses("a,b,label\n1,2,x\n", "--target lable", 2, &["'lable'", "did you mean 'label'?"]);
    refuses("a,b,label\n1,2,x\n", "--drop c", 2, &["'c'", "--drop"]);
    refuses("a,b,label\n1,2,x\n", "--categorical c", 2, &["'c'", "--categorical"]);
    refuses("a,b,label\n1,2,x\n", "--drop label", 2, &["--target"]);
    refuses("a,b,label\n1,2,x\n", "--drop a --categorical a", 2, &["'a'"]);
    refuses("a,label\n1,x\n2,\n", "", 1, &["bad.csv:3", "no target"]);
    refuses("a,label\n1,x\n2,x\n", "", 1, &["bad.csv", "one class only"]);
    refuses("a,label\n1,x\n2,y\n3,z\n", "--loss squared", 1, &["bad.csv:2", "'x' is a word"]);
    refuses("a,label\n1,1\n2,inf\n", "", 1, &["bad.csv:3:3", "not finite"]);
    refuses("a,label\n1,1\ninf,2\n", "", 1, &["bad.csv:3:1", "inf"]);
}

#[test]
fn a_column_that_turns_out_to_have_words_far_down_is_refused_with_the_way_out() {
    let mut table = "a,label\n".to_string() + &"1,x\n2,y\n".repeat(200_000);
    table += "three,x\n";
    let folder = Folder::with("bad.csv", table);
    folder.refuses("train bad.csv -o new", 1, &["bad.csv:400002:1", "'three'", "--categorical a"]);
    folder.ok("train bad.csv -o m --categorical a --epochs 1");
}

#[test]
fn objects_that_are_no_objects_are_refused() {
    let folder = Folder::new();
    let refuses = |lines: &str, flags: &str, code: i32, parts: &[&str]| {
        folder.write("bad.jsonl", lines);
        folder.refuses(&format!("train bad.jsonl -o new --cache off {flags}"), code, parts);
    };
    refuses("{\"y\": 1, \"a\": 1}\n{\"y\": 0, \"a\": 1\n", "", 1, &["bad.jsonl:2:"]);
    refuses("{\"y\": 1, \"a\": 1}\n[1, 2]\n", "", 1, &["bad.jsonl:2:"]);
    refuses("{\"y\": 1, \"a\": 1}\n{\"y\": 0, \"a\": 1e999}\n", "", 1, &["bad.jsonl:2:"]);
    refuses("{\"y\": 1, \"a\": 1}\n{\"a\": 1}\n", "", 1, &["bad.jsonl:2", "no target"]);
    refuses("{\"a\": 1}\n", "", 2, &["bad.jsonl", "--target"]);
    refuses("{\"y\": 1, \"a\": 1}\n", "--target z", 2, &["'z'"]);
    refuses("{\"y\": 1, \"a\": 1}\n", "--drop z", 2, &["'z'"]);
    refuses("{\"y\": 1, \"a\": [{\"b\": [1]}]}\n", "", 1, &["bad.jsonl:1:", "--drop"]);
}

#[test]
fn flags_for_reading_that_are_no_flags_are_wrong_calls() {
    let folder = folder("text", "data.txt");
    folder.refuses("train data.txt -o new --text words=0", 2, &["words=0"]);
    folder.refuses("train data.txt -o new --text wrods=1", 2, &["did you mean 'words'?"]);
    folder.refuses("train data.txt -o new --text words=none", 2, &["neither words nor chars"]);
    folder.refuses("train data.txt -o new --format txet", 2, &["did you mean 'text'?"]);
    folder.refuses("predict m data.txt -o new --format txet", 2, &["did you mean 'text'?"]);
    folder.refuses("train data.txt -o new --interact a", 2, &["--interact"]);
}

#[test]
fn a_file_of_300_megabytes_without_a_line_end_is_refused_without_being_kept() {
    // A hole in a file reads as zeros and takes no room; the first line is fine.
    for (file, head) in
        [("bad.svm", "1 1:1\n"), ("bad.txt", "spam\tbuy now\n"), ("bad.csv", "a,label\n1,x\n")]
    {
        let folder = Folder::new();
        let mut hole = std::fs::File::create(folder.path(file)).expect("a file");
        hole.write_all(head.as_bytes()).expect("room");
        hole.set_len(300 << 20).expect("room");
        let output = folder.run(&format!("train {file} -o new"));
        assert_eq!(output.code, 1, "{}", output.stderr);
        let line = head.lines().count() + 1;
        assert!(output.stderr.contains(&format!("{file}:{line}")), "{}", output.stderr);
        assert_eq!(folder.names(), [file], "{}", output.stderr);
    }
}

#[test]
fn data_with_names_are_refused_by_a_model_of_indices_and_the_other_way_round() {
    let rows = classes(60, 20, 1);
    for (format, file) in FORMATS {
        let folder = folder(format, file);
        for (other, data) in FORMATS.map(|(other, file)| (other, file.replace("data", "other"))) {
            folder.write(&data, in_format(&rows, other));
            if (other == "svmlight") == (format == "svmlight") {
                continue;
            }
            let (here, there) = (format!("and these {other} data by"), format!("--format {format}"));
            for verb in ["predict", "evaluate"] {
                folder.refuses(&format!("{verb} m {data}"), 1, &[&data, &here, &there]);
            }
            folder.refuses(&format!("train {file} --validation {data} -o new --cache off"), 1, &[&here]);
        }
    }
    // A table with another target than the usual ones: nobody is asked for --target, which predict does not have.
    let folder = folder("svmlight", "data.svm");
    folder.write("new.csv", "age,bought\n3,1\n");
    folder.refuses(
        "predict m new.csv",
        1,
        &["new.csv: the model has features by number, and these csv data by name"],
    );
}
