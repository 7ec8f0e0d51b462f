//! What is shown of files and to whom: no file steers the terminal or floods it, and output that cannot be
//! delivered is a failure.

use crate::common::{Folder, Output, classes, finish, text};

/// No control character but line ends and tabs, and no more text than a person reads.
#[track_caller]
fn harmless(line: &str, output: &Output) {
    for (stream, text) in [("standard output", &output.stdout), ("standard error", &output.stderr)] {
        let steers = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(!text.contains(steers), "lazyglm {line}: {stream}: {:?}", text.get(..500).unwrap_or(text));
        assert!(text.len() < 10_000, "lazyglm {line}: {stream}: {} bytes", text.len());
    }
    assert!(!output.stderr.contains("panicked"), "{}", output.stderr);
}

fn folder() -> Folder {
    let folder = Folder::with("data.svm", text(&classes(60, 20, 1)));
    folder.ok("train data.svm -o m --cache off");
    folder
}

/// What a terminal obeys: an escape sequence, and the same begun by one character of C1.
const STEER: &str = "\x1b[31mred\u{9b}2J";

#[test]
fn errors_show_escape_codes_of_files_as_text() {
    let folder = folder();
    folder.write("names.csv", "a,y\n1,0\n2,1\n");
    folder.ok("train names.csv -o named --cache off");
    for (name, content, shown) in [
        ("pair.svm", format!("1 1:1\n1 {STEER}:1\n"), "\\u{1b}[31mred\\u{9b}2J"),
        ("value.svm", format!("1 1:{STEER}\n"), "\\u{1b}"),
        ("target.svm", format!("{STEER} 1:1\n"), "\\u{1b}"),
        ("c1.svm", "a\u{9b} 1:1\na\u{9b} 2:1\n".into(), "\\u{9b}"),
        ("value.vw", format!("1 |a b:1{STEER}\n"), "\\u{1b}"),
        ("label.vw", format!("1 2 0 4{STEER} |a b\n"), "\\u{1b}"),
        (
            "cell.csv",
            format!("a,y\n1,1\n{STEER},1\n{STEER}2,0\n").replace("1,1\n", &"1,1\n".repeat(400_000)),
            "\\u{1b}",
        ),
        ("column.csv", format!("{STEER},{STEER}\n1,1\n"), "\\u{1b}"),
        ("target.csv", format!("{STEER},b\n1,1\n"), "\\u{1b}"),
        ("value.jsonl", "{\"y\": 1, \"a\": \u{9b}x}\n".into(), "is not a JSON value"),
        ("key.jsonl", "{\"y\": 1, \"a\\u001b\": 1, \"a\\u001b\": 1}\n".into(), "\\u{1b}"),
        ("keys.jsonl", "{\"a\\u001b\": 1}\n".into(), "\\u{1b}"),
    ] {
        folder.write(name, content);
        let line = format!("train {name} --cache off");
        let output = folder.run(&line);
        assert!(output.code == 1 || output.code == 2, "{line}: {}", output.stderr);
        assert!(output.stderr.contains(shown), "{line}: {}", output.stderr);
        harmless(&line, &output);
    }
    for line in
        ["predict named column.csv", "predict m pair.svm", "evaluate m c1.svm", "predict m gone\x1b[2J"]
    {
        let output = folder.run(line);
        assert_eq!(output.code, 1, "{line}: {}", output.stderr);
        harmless(line, &output);
    }
}

#[test]
fn tables_and_notes_show_escape_codes_of_names_as_text() {
    let folder = Folder::new();
    folder.write("two.vw", "a\u{9b} |f \u{1b}[2J:1 x:1\nb |f x:1 z:2\n".repeat(20));
    folder.write("three.vw", "a\u{9b} |f \u{1b}[2J:1\nb |f x:1\nc |f y\n".repeat(20));
    folder.write("new.vw", "b |f \u{1b}[3J:1\n".repeat(3));
    for line in [
        "train two.vw -o two --cache off --l1 1e-3",
        "train three.vw -o three --cache off",
        "inspect two",
        "inspect two --tsv",
        "inspect three",
        "inspect three --tsv",
        "stats two.vw",
        "evaluate three three.vw",
        "evaluate two new.vw",
        "certify two two.vw",
    ] {
        let output = folder.ok(line);
        harmless(line, &output);
    }
    let strict = folder.run("predict two new.vw --strict");
    assert!(strict.code == 1 && strict.stderr.contains("\\u{1b}[3J"), "{}", strict.stderr);
    harmless("predict --strict", &strict);
    let exact = folder.ok("predict two two.vw --as target").stdout;
    assert!(exact.starts_with("a\u{9b}\n"), "data for programs stay as they are: {exact:?}");
}

#[test]
fn errors_quote_the_start_of_a_long_value_and_its_length() {
    let folder = folder();
    let long = "x".repeat(3_000_000);
    for (name, content) in [
        ("pair.svm", format!("1 1:1\n1 {long}\n")),
        ("value.svm", format!("1 1:1\n1 2:{long}\n")),
        ("index.svm", format!("1 1:1\n1 {}:1\n", "9".repeat(3_000_000))),
        ("infinite.svm", format!("1 1:1\n1 1:{}\n", "9".repeat(3_000_000))),
        ("target.svm", format!("{}9 1:1\n", "9".repeat(3_000_000))),
        ("class.svm", format!("{long} 1:1\n{long} 2:1\n")),
        ("value.vw", format!("1 |a b\n1 |a b:1{long}\n")),
        ("label.vw", format!("1 |a b\n1 2 3 {long} 'a |a b\n")),
        ("cell.csv", format!("a,y\n{}{long},0\n", "1,1\n".repeat(400_000))),
        ("column.csv", format!("{long},{long}\n1,1\n")),
        (
            "columns.csv",
            format!("{}a,b\n1,1\n", (0..9999).map(|k| format!("column{k},")).collect::<String>()),
        ),
        ("keys.jsonl", format!("{{\"{long}\": 1}}\n")),
        ("value.jsonl", format!("{{\"y\": 1, \"a\": {long}}}\n")),
        ("key.jsonl", format!("{{\"y\": 1, \"{long}\" 1}}\n")),
    ] {
        folder.write(name, content);
        let line = format!("train {name} --cache off");
        let output = folder.run(&line);
        assert!(output.code == 1 || output.code == 2, "{line}: {}", output.stderr);
        harmless(&line, &output);
        assert!(output.stderr.len() < 3_000, "{line}: {} bytes", output.stderr.len());
    }
    folder.refuses("train pair.svm --cache off", 1, &["pair.svm:2:3", "xxx… (3000000 bytes)"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_closed_standard_output_is_a_failure_of_every_verb_that_prints() {
    let folder = folder();
    for line in [
        "train data.svm -o new --quiet",
        "tune data.svm --l1 0.1 --quiet",
        "path data.svm --l1 0.1 --quiet",
        "predict m data.svm",
        "predict m data.svm -o -",
        "evaluate m data.svm",
        "certify m data.svm",
        "inspect m",
        "stats data.svm",
        "convert data.svm - --to vw",
        "demo",
        "bench paper --rows 100",
        "--help",
        "train --help",
        "--version",
    ] {
        let output = finish(&mut folder.command_under("exec >&-", line));
        assert_eq!(output.code, 1, "{line}: {}", output.stderr);
        assert!(output.stderr.contains("standard output: it is closed"), "{line}: {}", output.stderr);
    }
    assert!(!folder.path("new").exists(), "nothing was started");
    for line in ["predict m data.svm -o out", "convert data.svm out.vw"] {
        let output = finish(&mut folder.command_under("exec >&-", line));
        assert_eq!(output.code, 0, "{line}, which prints nothing: {}", output.stderr);
    }
    let discarded = finish(&mut folder.command_under("exec >/dev/null", "predict m data.svm"));
    assert_eq!(discarded.code, 0, "{}", discarded.stderr);
}

#[cfg(unix)]
#[test]
fn help_that_cannot_be_written_is_a_failure_and_a_reader_that_leaves_is_none() {
    let folder = folder();
    for line in ["--help", "--version", "stats data.svm", "convert data.svm - --to vw", "certify m data.svm"]
    {
        let full = finish(&mut folder.command_under("exec >/dev/full", line));
        assert_eq!(full.code, 1, "{line}: {}", full.stderr);
        assert!(full.stderr.contains("standard output"), "{line}: {}", full.stderr);
    }
    let program = env!("CARGO_BIN_EXE_lazyglm");
    let script = format!("{{ {program} predict m data.svm; echo $? >code; }} | true");
    let mut shell = std::process::Command::new("sh");
    finish(shell.arg("-c").arg(script).current_dir(folder.0.path()));
    assert_eq!(folder.read("code"), b"0\n", "as under `| head`");
}
