//! Data that swallow rows, fill the memory or leave the numbers: refused with the place, never learnt from in silence.

use crate::common::{FORMATS, Folder, classes, finish, in_format};
use std::fmt::Write;

#[test]
fn a_quote_that_is_not_closed_is_refused_where_it_opens() {
    for (file, delimiter) in [("data.csv", ','), ("data.tsv", '\t'), ("semi.csv", ';')] {
        let mut table = format!("x{delimiter}y\n");
        for row in 0..101_000 {
            let quote = if row == 1000 { "\"" } else { "" };
            let _ = writeln!(table, "{quote}{}{delimiter}{}", row % 7, row % 2);
        }
        let folder = Folder::with(file, &table);
        for flags in ["", "--cache off", "--threads 1 --cache off", "--memory 64M"] {
            let line = format!("train {file} -o m --epochs 1 {flags}");
            folder.refuses(&line, 1, &[&format!("{file}:1002:1"), "is not closed"]);
        }
        folder.refuses(&format!("stats {file}"), 1, &["1002:1", "is not closed"]);
        folder.refuses(&format!("convert {file} out.svm"), 1, &["1002:1", "is not closed"]);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut gzip, table.as_bytes()).expect("memory");
        folder.write("packed.csv.gz", gzip.finish().expect("memory"));
        folder.refuses("stats packed.csv.gz --format csv", 1, &["packed.csv.gz:1002:1", "is not closed"]);
    }
}

#[test]
fn a_stray_pair_of_quotes_does_not_swallow_the_rows_between() {
    let mut table = "a,b,y\n".to_string();
    for row in 0..5000 {
        let quote = if row == 1000 || row == 4000 { "\"" } else { "" };
        let _ = writeln!(table, "{},{quote}v{},{}", row % 5, row % 7, row % 2);
    }
    let folder = Folder::with("data.csv", &table);
    folder.refuses("train data.csv --epochs 1", 1, &["data.csv:1002:3", "closes after 3000 line ends"]);
    folder.write(
        "fine.csv",
        "a,b,y\n1,\"two\nlines\" ,0\n2,\"a \"\"b\"\"\n\",1\n".to_string() + &"3,c,1\n".repeat(9),
    );
    folder.ok("train fine.csv --epochs 1 --cache off");
}

/// Text of a format whose first row has a name of so many bytes, and then some ordinary rows.
fn with_long_first_row(format: &str, long: usize) -> String {
    let (name, rest) = ("n".repeat(long), in_format(&classes(30, 20, 1), format));
    match format {
        "svmlight" => format!("1 1:1{}\n{rest}", " 2:0".repeat(long / 4)),
        "vw" => format!("1 | {name}:1\n{rest}"),
        "jsonl" => format!("{{\"target\": 1, \"{name}\": 1}}\n{rest}"),
        "csv" => {
            let wide = |cell: &str, line: &str| format!("{cell},{line}\n");
            rest.lines().enumerate().map(|(k, line)| wide(if k == 0 { &name } else { "1" }, line)).collect()
        }
        "text" => format!("1\t{name}\n{rest}"),
        _ => unreachable!("{format}"),
    }
}

#[test]
fn a_first_record_of_megabytes_is_read_like_any_other() {
    for (format, file) in FORMATS {
        let folder = Folder::with(file, with_long_first_row(format, 2_500_000));
        let report = folder.json(&format!("train {file} -o m --epochs 1 --json --quiet"));
        assert_eq!(report["rows"], if format == "csv" { 30 } else { 31 }, "{file}");
        assert_eq!(
            folder.ok(&format!("predict m {file}")).stdout.lines().count() as u64,
            report["rows"],
            "{file}"
        );
        // Without an ending that tells, the same format is recognised.
        std::fs::rename(folder.path(file), folder.path("data")).expect("a file");
        if format != "csv" {
            let stats = folder.json("stats data --json --quiet");
            assert_eq!(stats["format"], format, "{file}");
        }
    }
}

#[test]
fn a_blank_line_before_a_long_record_hides_no_keys_and_a_header_may_have_long_lines_in_quotes() {
    let long = "x".repeat(1_500_000);
    let folder = Folder::with(
        "a.jsonl",
        format!("\n{{\"label\": 1, \"a\": \"{long}\"}}\n{{\"label\": 0, \"b\": 1}}\n"),
    );
    assert_eq!(folder.json("train a.jsonl --epochs 1 --json --quiet")["rows"], 2);
    folder.write("a.csv", format!("\"a\n{long}\n{long}\",y\nred,1\nblue,0\n"));
    assert_eq!(
        folder.json("train a.csv --epochs 1 --json --quiet")["features"],
        2,
        "the column is of categories"
    );
    folder.write("open.csv", format!("\"a\n{long}\n{long},y\nred,1\nblue,0\n"));
    folder.refuses("train open.csv", 1, &["open.csv:1:1", "is not closed"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_record_that_memory_cannot_hold_is_refused_with_its_line() {
    for (format, file) in FORMATS {
        let good = in_format(&classes(50, 20, 1), format);
        let lines = good.lines().count();
        let long = with_long_first_row(format, 30_000_000);
        let long = if format == "csv" { format!("1,{}\n", "1".repeat(30_000_000)) } else { long };
        let folder = Folder::with(file, good + &long);
        let place = format!("{file}:{}", lines + 1);
        let line = format!("train {file} -o m --memory 100M");
        folder.refuses(&line, 1, &[&place, "does not end within", "raise --memory"]);
        folder.write(file, long);
        folder.refuses(&line, 1, &[&format!("{file}:1"), "does not end within"]);
        let limited = finish(&mut folder.command_under("ulimit -v 400000", &line));
        assert_eq!(limited.code, 1, "{file}: {}", limited.stderr);
    }
}

/// A zstd file whose window has 2^log bytes: a frame of one block of text as it is.
fn zstd_with_window(log: u8, text: &str) -> Vec<u8> {
    let (magic, flags, window) = ([0x28, 0xb5, 0x2f, 0xfd], 0, (log - 10) << 3);
    let block = ((text.len() as u32) << 3 | 1).to_le_bytes(); // the last one
    [&magic[..], &[flags, window], &block[..3], text.as_bytes()].concat()
}

#[cfg(target_os = "linux")]
#[test]
fn a_zstd_file_may_name_a_window_that_tools_write_and_none_beyond_the_memory() {
    let rows = crate::common::text(&classes(60, 20, 1));
    let folder = Folder::with("data.svm", &rows);
    for log in [13, 20, 23, 27] {
        folder.write("data.svm.zst", zstd_with_window(log, &rows));
        assert_eq!(folder.json("stats data.svm.zst --json --quiet")["rows"], 60, "2^{log}");
    }
    for log in [28, 31, 40] {
        folder.write("data.svm.zst", zstd_with_window(log, &rows));
        for line in ["stats data.svm.zst", "train data.svm.zst -o m", "convert data.svm.zst out.vw"] {
            folder.refuses(
                line,
                1,
                &["data.svm.zst", "its window of zstd is too large", "with a window of 8 MB"],
            );
        }
    }
    // A limit of memory is one of windows, too: levels up to 19 need 8 MB.
    for (log, memory, fits) in [(23, "40M", true), (24, "40M", false), (27, "40M", false), (27, "8G", true)] {
        folder.write("data.svm.zst", zstd_with_window(log, &rows));
        let line = format!("train data.svm.zst -o m --memory {memory} --cache off --threads 1");
        match fits {
            true => drop(folder.ok(&line)),
            false => folder.refuses(&line, 1, &["its window of zstd is too large", "--memory also limits"]),
        }
        let _ = std::fs::remove_file(folder.path("m"));
    }
    // The memory of a window is used only as far as there is text: with much less, nothing is reserved, or the run ends in order.
    folder.write("data.svm.zst", zstd_with_window(27, &rows));
    let limited = finish(&mut folder.command_under("ulimit -v 100000", "stats data.svm.zst --threads 1"));
    assert!(
        limited.code == 0 || limited.code == 1 && limited.stderr.contains("error:"),
        "{}",
        limited.stderr
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_without_an_end_is_refused_before_it_fills_the_memory() {
    let folder = Folder::with("data.svm", crate::common::text(&classes(60, 20, 1)));
    folder.ok("train data.svm -o m --cache off");
    for (line, part) in [
        ("inspect /dev/zero", "it is not a lazyglm model"),
        ("predict /dev/urandom data.svm", "it is not a lazyglm model"),
        ("train data.svm --start /dev/zero --cache off", "it is not a lazyglm model"),
        ("train data.svm --sample-weights /dev/zero --cache off", "does not end within"),
        ("train data.svm --offset /dev/zero --cache off", "does not end within"),
        ("train data.svm --penalty-factor /dev/zero --cache off", "does not end within"),
        ("train data.svm --solver newton --lower /dev/zero --cache off", "does not end within"),
        ("stats /dev/zero", "does not end within"),
    ] {
        let output = finish(&mut folder.command_under("ulimit -v 2000000", line));
        assert!([1, 2].contains(&output.code) && output.stderr.contains(part), "{line}: {}", output.stderr);
    }
}

#[test]
fn the_end_of_a_file_is_no_long_record() {
    // With little memory, a record may have a megabyte. The first megabyte is looked at, and the rest is less than another.
    for rows in [30_000, 45_000, 60_000] {
        let folder = Folder::with("data.svm", crate::common::text(&classes(rows, 60, 1)));
        for memory in ["27M", "40M"] {
            let line = format!(
                "train data.svm -o m --solver sgd --epochs 1 --memory {memory} --cache off --json --quiet"
            );
            assert_eq!(folder.json(&line)["rows"], rows, "{memory}");
        }
    }
}

#[test]
fn a_prediction_that_is_no_number_is_a_failure() {
    let folder = Folder::with("data.svm", "1 1:1 2:-1\n-1 1:-1 2:1\n".repeat(20));
    folder.ok("train data.svm -o m --cache off --epochs 3 --eta0 1 --l1 0 --l2 0");
    folder.write("many.svm", "a 1:1\nb 2:1\nc 3:1\n".repeat(20));
    folder.ok("train many.svm -o many --cache off --epochs 20 --eta0 5 --l1 0 --l2 0");
    folder.write("count.svm", "1 1:1\n9 1:3\n".repeat(20));
    folder.ok("train count.svm -o count --cache off --loss poisson");
    folder.write("nan.svm", "1 1:1\n\n1 1:1e308 2:1e308\n-1 1:1.7e308 2:-1.7e308\n");
    folder.write("all.svm", "a 1:1\n".repeat(3) + "a 1:1.7e308\n");
    folder.write("exp.svm", "1 1:1\n1 1:1e6\n");
    let weights = folder.weights("m").1;
    assert!(weights.iter().all(|(_, w)| w.abs() > 1.1), "the test needs weights above one: {weights:?}");
    for what in ["probability", "score", "target"] {
        folder.refuses(&format!("predict m nan.svm --as {what} -o out"), 1, &["nan.svm:3", "prediction"]);
    }
    folder.refuses("evaluate m nan.svm", 1, &["nan.svm:3", "prediction"]);
    folder.refuses("predict count exp.svm -o out", 1, &["exp.svm:2", "inf"]);
    folder.refuses("evaluate count exp.svm", 1, &["exp.svm", "loss is inf"]);
    for line in
        ["predict many all.svm --as score -o out", "predict many all.svm -o out", "evaluate many all.svm"]
    {
        folder.refuses(line, 1, &["all.svm:4", "prediction"]);
    }
}

#[test]
fn a_cache_given_as_data_is_called_a_cache() {
    let folder = Folder::with("data.svm", crate::common::text(&classes(60, 20, 1)));
    folder.ok("train data.svm -o m");
    let cache = "data.svm.lazyglm-cache";
    for line in [
        format!("evaluate m {cache}"),
        format!("predict m {cache} -o out"),
        format!("convert {cache} out.vw"),
        format!("train data.svm --validation {cache} --cache off"),
    ] {
        folder.refuses(&line, 1, &[cache, "is a cache", "give the data"]);
    }
    folder.ok(&format!("train {cache}"));
    folder.ok(&format!("certify m {cache}")); // on the rows that were learnt
}

#[cfg(unix)]
#[test]
fn paths_need_not_be_utf8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let name = |bytes: &[u8]| folder.0.path().join(OsStr::from_bytes(bytes));
    let (data, cache, model, out) = (name(b"d\xff.svm"), name(b"c\xfe"), name(b"m\xff"), name(b"o\xff.vw"));
    let text = crate::common::text(&classes(60, 20, 1));
    std::fs::write(&data, &text).expect("a file");
    std::fs::write(name(b"v\xff.svm"), &text).expect("a file");
    let run = |args: &[&OsStr]| {
        let output = finish(folder.command("").args(args));
        assert_eq!(output.code, 0, "{args:?}: {}", output.stderr);
    };
    let word = OsStr::new;
    let held = name(b"v\xff.svm");
    let (cache, model, data) = (cache.as_os_str(), model.as_os_str(), data.as_os_str());
    run(&[
        word("train"),
        data,
        word("--cache"),
        cache,
        word("-o"),
        model,
        word("--validation"),
        held.as_os_str(),
    ]);
    assert!(std::path::Path::new(cache).exists());
    run(&[word("train"), data, word("--cache"), cache, word("--start"), model]);
    run(&[word("predict"), model, data, word("-o"), name(b"p\xff").as_os_str()]);
    run(&[word("evaluate"), model, data]);
    run(&[word("certify"), model, data]);
    run(&[word("inspect"), model]);
    run(&[word("stats"), data]);
    run(&[word("convert"), data, out.as_os_str()]);
    run(&[
        word("path"),
        data,
        word("--l1"),
        word("0.1"),
        word("--coefficients"),
        name(b"co\xff").as_os_str(),
    ]);
    run(&[word("tune"), data, word("--l1"), word("0.1"), word("-o"), name(b"tuned\xff").as_os_str()]);
}
