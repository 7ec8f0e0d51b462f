//! Data larger than memory: --memory goes through the rows a window at a time.

use crate::common::{Dice, Folder, Row, classes, close, finish, in_format, text};
use std::fmt::Write;

/// Just above the least there is: several windows for the rows of [`many`].
pub(crate) const LITTLE: &str = "--memory 27M";

/// 60,000 rows of 20 non-zeros out of 200 features: some 10 MB in memory.
pub(crate) fn many(sorted: bool) -> Vec<Row> {
    let mut dice = Dice(7);
    let mut rows: Vec<Row> = (0..60_000)
        .map(|_| {
            let row: Vec<(u32, f64)> =
                (0..20).map(|k| (1 + 10 * k + dice.below(10) as u32, dice.value())).collect();
            let score: f64 = row.iter().map(|&(j, x)| x * ((j * 7919 % 13) as f64 - 6.0) / 6.0).sum();
            (if score + dice.value() > 0.4 { 1.0 } else { -1.0 }, row)
        })
        .collect();
    if sorted {
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    rows
}

pub(crate) fn figure(report: &serde_json::Value, name: &str) -> f64 {
    report[name].as_f64().unwrap_or_else(|| panic!("{name} in {report}"))
}

#[test]
fn a_model_learnt_window_by_window_is_as_good_as_one_learnt_in_memory() {
    let folder = Folder::with("data.svm", text(&many(false)));
    let whole = folder.json("train data.svm -o whole --json");
    let told = folder.ok(&format!("train data.svm -o windows {LITTLE}")).stderr;
    let windows: usize = told
        .lines()
        .find_map(|line| line.split("gone through in ").nth(1)?.split(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("no word on windows in\n{told}"));
    assert!(windows >= 4, "{told}");
    let report = folder.json(&format!("train data.svm -o windows {LITTLE} --json --quiet"));
    let (f, in_memory) = (figure(&report, "objective"), figure(&whole, "objective"));
    assert!(f < 1.04 * in_memory && f > 0.9 * in_memory, "{f} against {in_memory}");
    for name in ["rows", "features"] {
        assert_eq!(report[name], whole[name]);
    }
    // What does not depend on the weights learnt is the same; what does is what `evaluate` says of them.
    for name in ["l1_max", "baseline"] {
        let (a, b) = (figure(&report, name), figure(&whole, name));
        assert!(close(a / b, 1.0, 1e-9), "{name}: {a} against {b}");
    }
    let measured = folder.json("evaluate windows data.svm --json");
    let (said, loss) = (figure(&report, "loss"), figure(&measured, "loss"));
    assert!(close(said, loss, 1e-6), "{said} against {loss}"); // values were rounded to f32 in training
    let (_, weights) = folder.weights("windows");
    let (l1, l2) = (figure(&report, "l1"), figure(&report, "l2"));
    assert!((l1, l2) != (1e-6, 1e-6), "a penalty that was chosen: {report}");
    let penalty: f64 = weights.iter().map(|(_, w)| l1 * w.abs() + 0.5 * l2 * w * w).sum();
    assert!(close(figure(&report, "penalty") / penalty, 1.0, 1e-9));
    assert!(close(figure(&report, "objective"), said + penalty, 1e-9));
}

#[test]
fn the_judge_says_the_same_of_windows_and_of_all_rows() {
    // One step of a rate so small that nothing is learnt: the same weights, but for rounding, in any order.
    let folder = Folder::with("data.svm", text(&many(true)));
    for flags in [
        "--loss logistic",
        "--loss squared",
        "--loss hinge --class-weight balanced",
        "--loss logistic --class-weight 1=3 --no-bias",
        "--loss huber",
    ] {
        let run = |memory: &str| {
            folder.json(&format!(
                "train data.svm --json --quiet --precision f64 --epochs 1 --eta0 1e-300 --l1 0 {flags} {memory}"
            ))
        };
        let (windows, whole) = (run(LITTLE), run(""));
        for name in ["objective", "loss", "penalty", "violation", "l1_max", "baseline"] {
            let (a, b) = (figure(&windows, name), figure(&whole, name));
            assert!((a - b).abs() <= 1e-9 * b.abs().max(1e-3), "{flags}: {name} {a} against {b}");
        }
    }
}

#[test]
fn a_seed_gives_one_model_and_another_seed_another() {
    let folder = Folder::with("data.svm", text(&many(false)));
    let train = |flags: &str| {
        folder.ok(&format!("train data.svm -o m --quiet --epochs 2 {LITTLE} {flags}"));
        folder.read("m")
    };
    let first = train("");
    assert!(train("") == first && train("--seed 1 --threads 1") == first && train("--threads 8") == first);
    assert!(train("--cache off") == first, "a cache made for the run alone");
    assert!(train("--seed 2") != first);
    assert_eq!(folder.names(), ["data.svm", "data.svm.lazyglm-cache", "m"]);
}

#[test]
fn rows_sorted_by_target_are_learnt_as_well_as_shuffled_ones() {
    let folder = Folder::new();
    let (mut rows, mut held_out) = (many(false), many(false));
    held_out.drain(..50_000);
    rows.truncate(50_000);
    folder.write("check.svm", text(&held_out));
    folder.write("shuffled.svm", text(&rows));
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    folder.write("sorted.svm", text(&rows));
    let loss = |file: &str| {
        folder.ok(&format!("train {file} -o {file}.m --quiet --memory 28M"));
        figure(&folder.json(&format!("evaluate {file}.m check.svm --json")), "loss")
    };
    let (shuffled, sorted) = (loss("shuffled.svm"), loss("sorted.svm"));
    assert!(sorted < 1.05 * shuffled, "{sorted} against {shuffled}");
}

#[test]
fn with_enough_memory_the_result_is_that_of_a_run_without_a_limit() {
    let rows = classes(2000, 99, 1);
    for (format, file) in crate::common::FORMATS {
        let folder = Folder::with(file, in_format(&rows, format));
        for flags in ["", "--hash-bits 4", "--validation 0.2", "--class-weight balanced"] {
            folder.ok(&format!("train {file} -o without --cache off --quiet {flags}"));
            for memory in ["--memory 1G", "--memory 1G --cache off", "--memory 100MiB"] {
                folder.ok(&format!("train {file} -o with --quiet {memory} {flags}"));
                assert!(folder.read("with") == folder.read("without"), "{format} {memory} {flags}");
            }
        }
    }
}

#[test]
fn names_words_and_weights_pass_through_windows() {
    let mut data = String::new();
    for (k, (y, row)) in many(false).iter().enumerate() {
        let _ = write!(data, "{} {} |", if *y > 0.0 { "yes" } else { "no" }, 1 + k % 3);
        row.iter().for_each(|(j, x)| _ = write!(data, " x{j}:{x}"));
        data.push('\n');
    }
    let folder = Folder::with("data.vw", data);
    let whole = folder.json("train data.vw -o whole --json --quiet");
    let windows = folder.json(&format!("train data.vw -o windows --json --quiet {LITTLE}"));
    for name in ["l1_max", "baseline"] {
        assert!(close(figure(&windows, name) / figure(&whole, name), 1.0, 1e-9), "{name}");
    }
    let ratio = figure(&windows, "objective") / figure(&whole, "objective");
    assert!((0.9..1.04).contains(&ratio), "{ratio}");
    let (a, b) = (folder.json("inspect whole --json"), folder.json("inspect windows --json"));
    assert_eq!((&a["features"], &a["classes"]), (&b["features"], &b["classes"]));
    let said = figure(&windows, "loss");
    // A loss weighted by row is not that of `evaluate`, but not far from it where weights say nothing.
    let measured = figure(&folder.json("evaluate windows data.vw --json --strict"), "loss");
    assert!(close(said / measured, 1.0, 0.02), "{said} {measured}");
}

#[test]
fn held_out_rows_of_a_file_go_with_windows() {
    let folder = Folder::with("data.svm", text(&many(false)));
    folder.write("check.svm", text(&many(true)[25_000..35_000]));
    let report = folder
        .json(&format!("train data.svm -o m --json --quiet --validation check.svm --early-stop 1 {LITTLE}"));
    let held_out = figure(&report["validation"], "loss");
    let measured = figure(&folder.json("evaluate m check.svm --json"), "loss");
    assert!(close(held_out, measured, 1e-6), "{held_out} {measured}");
}

#[test]
fn a_damaged_or_stale_cache_is_made_again_before_windows_are_read_from_it() {
    let folder = Folder::with("data.svm", text(&many(false)));
    let run = "train data.svm -o m --epochs 1 --memory 27M";
    folder.ok(run);
    let (model, cache) = (folder.read("m"), folder.read("data.svm.lazyglm-cache"));
    for at in [40, cache.len() / 2, cache.len() - 100] {
        let mut bad = cache.clone();
        bad[at] ^= 1;
        folder.write("data.svm.lazyglm-cache", &bad);
        folder.refuses(&format!("{run} --cache only"), 1, &["data.svm.lazyglm-cache"]);
        let told = folder.ok(run).stderr;
        assert!(told.contains("checksum") && told.contains("made again"), "{told}");
        assert!(folder.read("m") == model && folder.read("data.svm.lazyglm-cache") == cache);
    }
    assert!(!folder.ok(run).stderr.contains("cache"));
}

#[test]
fn where_a_stale_cache_cannot_be_made_again_nothing_is_learnt_from_it() {
    let full = "trap '' XFSZ; ulimit -f 8"; // files of at most a few kilobytes, as on a full disk
    for flags in ["--memory 64M", "--memory 64M --renumber", "--memory 64M --cache c"] {
        let folder = Folder::with("data.svm", text(&classes(4_000, 50, 1)));
        folder.ok(&format!("train data.svm -o m {flags}"));
        let line = format!("train data.svm -o x {flags}");
        // No rows any more.
        folder.write("data.svm", "# nothing\n");
        folder.refuses(&line, 1, &["data.svm", "no rows"]);
        // Other rows, and no room for their cache.
        let rows: String = text(&classes(4_000, 50, 2)).lines().map(|row| format!("-{row}\n")).collect();
        folder.write("data.svm", rows.replace("--", ""));
        let output = finish(&mut folder.command_under(full, &line));
        assert_eq!(output.code, 1, "{flags}: {}", output.stderr);
        assert!(output.stderr.contains("error:") && !folder.path("x").exists(), "{flags}: {}", output.stderr);
    }
}

#[test]
fn a_feature_that_f32_would_lose_is_refused_in_windows_too() {
    let rows = |k: usize| format!("{} 1:{}e-300 2:0.{} 3:1e-50\n", [1, -1][k % 2], 1 + k % 9, 1 + k % 7);
    let folder = Folder::with("data.svm", (0..300).map(rows).collect::<String>() + "1 3:0.5\n");
    for flags in ["", "--memory 64M"] {
        let told = ["feature 1 ", "too small for f32", "--precision f64"];
        folder.refuses(&format!("train data.svm -o m --epochs 1 {flags}"), 1, &told);
        folder.ok(&format!("train data.svm -o m --epochs 1 --precision f64 {flags}"));
    }
}

#[test]
fn sizes_that_are_none_or_too_small_are_refused() {
    let folder = Folder::with("data.svm", text(&classes(50, 10, 1)));
    for size in ["2X", "-1", "0", "", "M", "1e99", "nan", "2G2", "-5M", "0.0001"] {
        let mut command = folder.command("train data.svm -o m");
        let output = finish(command.arg(format!("--memory={size}")));
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{size}: {}", output.stderr);
        assert!(output.stderr.contains("--memory"), "{size}: {}", output.stderr);
    }
    let mut command = folder.command("train data.svm -o m --memory -1");
    assert_eq!(finish(&mut command).code, 2);
    for size in ["1", "3", "1K", "1023K"] {
        let told = format!("invalid --memory '{size}': expected at least 1M");
        folder.refuses(&format!("train data.svm -o m --memory {size}"), 2, &[&told]);
    }
    for size in ["1M", "10M", "25M"] {
        let output = folder.run(&format!("train data.svm -o m --memory {size}"));
        assert_eq!(output.code, 2, "{size}: {}", output.stderr);
        assert!(
            output.stderr.contains("too little") && output.stderr.contains("or more"),
            "{}",
            output.stderr
        );
    }
    assert!(!folder.path("m").exists());
    // What the message says is enough is enough.
    let told = folder.run("train data.svm -o m --memory 1M").stderr;
    let least = told.split("give ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    folder.ok(&format!("train data.svm -o m --memory {least}"));
}

#[test]
fn what_needs_all_rows_at_once_is_refused_with_windows() {
    let folder = Folder::with("data.svm", text(&many(false)));
    folder.write("weights", "1\n2\n".repeat(30_000));
    folder.ok("train data.svm --epochs 1"); // makes the cache
    let refuses = |flags: &str, parts: &[&str]| {
        folder.refuses(&format!("train data.svm -o m {LITTLE} {flags}"), 2, parts)
    };
    refuses("--sample-weights weights", &["--sample-weights", "raise --memory"]);
    refuses("--validation 0.1", &["--validation", "raise --memory"]);
    folder.ok("train data.svm -o m --memory 200M --sample-weights weights --validation 0.1");
}

#[test]
fn bad_data_are_refused_with_windows_as_without() {
    let folder = Folder::with("data.svm", "1 1:1\n-1 2:x\n");
    folder.refuses("train data.svm -o m --memory 50M", 1, &["data.svm:2:6"]);
    folder.write("data.svm", "1 1:1\n1 2:1\n");
    folder.refuses("train data.svm -o m --memory 50M --cache off", 1, &["data.svm", "one class only"]);
    folder.write("data.svm", "");
    folder.refuses("train data.svm -o m --memory 50M", 1, &["data.svm"]);
    folder.refuses("train gone.svm -o m --memory 50M", 1, &["gone.svm"]);
}

#[test]
fn a_diverging_run_names_the_row_in_windows_too() {
    let folder = Folder::with("data.svm", format!("# a head\n{}", text(&many(false))));
    let run = "train data.svm --loss squared --eta0 30 --schedule constant --order sequential --quiet --l1 0 --l2 0";
    let (windows, whole) = (folder.run(&format!("{run} {LITTLE}")), folder.run(run));
    assert!(whole.code == 1 && whole.stderr.contains("data.svm:"), "{}", whole.stderr);
    assert_eq!(windows.stderr, whole.stderr);
}

#[test]
fn rows_in_the_order_of_the_file_give_the_same_model_in_windows() {
    let folder = Folder::with("data.svm", text(&many(false)));
    let run = "train data.svm --order sequential --eta0 0.1 --epochs 2 --quiet";
    folder.ok(&format!("{run} -o whole"));
    folder.ok(&format!("{run} -o windows {LITTLE}"));
    assert_eq!(folder.weights("whole"), folder.weights("windows"));
}

/// The most memory a run had, in bytes.
#[cfg(target_os = "linux")]
fn peak(folder: &Folder, line: &str) -> u64 {
    let mut child =
        folder.command(line).stdout(std::process::Stdio::null()).spawn().expect("the program starts");
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let found = text
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
        most = most.max(found.unwrap_or(0));
        if let Some(ended) = child.try_wait().expect("a child") {
            assert!(ended.success(), "{line}");
            return most << 10;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Rows that take about 240 MB in memory: 8 bytes a non-zero and 24 a row.
#[cfg(target_os = "linux")]
fn large() -> Folder {
    let (mut dice, mut data) = (Dice(3), String::new());
    for _ in 0..400_000u32 {
        data += if dice.below(2) == 0 { "1" } else { "-1" };
        (0..60).for_each(|k| _ = write!(data, " {}:{}", 1 + 30 * k + dice.below(30), 1 + dice.below(9)));
        data.push('\n');
    }
    Folder::with("data.svm", &data)
}

#[cfg(target_os = "linux")]
fn stays_within_60_megabytes(threads: u32) {
    let (folder, limit) = (large(), 60 << 20);
    for run in ["cold", "from the cache"] {
        let line = format!("train data.svm -o m --memory 60M --epochs 1 --quiet --json --threads {threads}");
        let most = peak(&folder, &line);
        assert!(most > limit / 4 && most < limit + limit / 100 * 15, "{run}: {} MB", most >> 20);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn memory_stays_within_what_was_given() {
    stays_within_60_megabytes(2);
}

#[test]
#[cfg(target_os = "linux")]
fn memory_stays_within_what_was_given_on_many_threads() {
    stays_within_60_megabytes(16);
}

#[test]
fn standard_input_can_be_read_with_a_limit() {
    let folder = Folder::new();
    let data = text(&classes(50, 10, 1));
    let output = folder.run_on(data.as_bytes(), "train - -o m --memory 1G");
    assert_eq!(output.code, 0, "{}", output.stderr);
}

#[test]
fn standard_input_gives_the_model_that_the_file_gives() {
    let rows = text(&classes(400, 30, 1));
    let folder = Folder::with("a.svm", rows.clone());
    // What fits is learnt in memory, with a penalty chosen and a certificate; what does not, a window at a time.
    for flags in ["--memory 60M", "--memory 60M --validation 0.2", "--memory 60M --solver online --eta0 0.1"]
    {
        let file = folder.ok(&format!("train a.svm -o file {flags} --cache off --quiet"));
        let input = folder.run_on(rows.as_bytes(), &format!("train - -o input {flags} --quiet"));
        assert_eq!(input.code, 0, "{}", input.stderr);
        let model = |name: &str| std::fs::read(folder.path(name)).unwrap();
        assert!(model("file") == model("input"), "{flags}\n{}\n{}", file.stdout, input.stdout);
    }
}

#[test]
fn more_rows_than_memory_holds_end_in_an_error_that_names_the_flag() {
    let row: String = (1..1000).map(|id| format!(" {id}:1")).collect();
    let rows: String = (0..6000).map(|i| format!("{}{row}\n", if i % 2 == 0 { "1" } else { "-1" })).collect();
    let folder = Folder::with("a.svm", rows);
    std::fs::write(folder.path("few.svm"), text(&classes(40, 5, 1))).unwrap();
    // 48 MB of rows, and as much again by columns.
    for kilobytes in [80_000, 130_000] {
        let limit = format!("ulimit -v {kilobytes}");
        let under = |line: &str| finish(&mut folder.command_under(&limit, line));
        let output = under("train a.svm --cache off --threads 1 -o m");
        assert!(output.code == 1 || output.code == 2, "{} {}", output.code, output.stderr);
        assert!(output.stderr.contains("do not fit into memory\nhelp: use --memory 2G"), "{}", output.stderr);
        assert!(!folder.path("m").exists());
        let output = under("train few.svm --cache off --threads 1");
        assert_eq!(output.code, 0, "{kilobytes}: {}", output.stderr);
    }
}

#[test]
fn a_small_model_takes_little_memory_however_many_buckets_it_claims() {
    let folder = Folder::with("a.vw", "1 | cheap pills\n-1 | dinner tomorrow\n".repeat(20));
    folder.ok("train a.vw --hash-bits 30 --l1 1e-3 --l2 0 -o m --cache off --quiet");
    for line in ["predict m a.vw", "evaluate m a.vw", "inspect m", "certify m a.vw"] {
        // Kilobytes: a quarter of what all buckets would take, and room for what every thread reserves.
        let output = finish(&mut folder.command_under("ulimit -v 1000000", line));
        assert_eq!(output.code, 0, "{line}: {}", output.stderr);
    }
}
