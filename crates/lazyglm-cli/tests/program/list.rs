//! `lazyglm list`: the tables of the library, as the program prints them.

use crate::common::{Folder, classes, text};
use lazyglm::{SOLVERS, loss, schedule};

#[test]
fn every_entry_of_every_table_is_listed() {
    let folder = Folder::new();
    let solvers = folder.ok("list solvers").stdout;
    for row in SOLVERS {
        assert_eq!(solvers.matches(&format!("\n  {} ", row.solver)).count(), 2, "{}: {solvers}", row.solver);
    }
    let losses = folder.ok("list losses").stdout;
    assert!(loss::TABLE.iter().all(|entry| losses.contains(&format!("  {} (", entry.name))), "{losses}");
    let schedules = folder.ok("list schedules").stdout;
    assert!(
        schedule::TABLE.iter().all(|entry| schedules.contains(&format!("  {} ", entry.name))),
        "{schedules}"
    );
    let formats = folder.ok("list formats").stdout;
    assert!(["svmlight", "csv", "cache"].iter().all(|name| formats.contains(name)), "{formats}");
    folder.refuses("list solver", 2, &["'solvers'"]);
}

/// A row of the table of capabilities: the solver, whether it is the row of several models, and its cells by the names of the columns.
type Capability = (String, bool, Vec<(String, String)>);

/// The rows of the table of capabilities.
fn capabilities(text: &str) -> Vec<Capability> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("  solver "));
    let head = lines.next().unwrap();
    let names: Vec<&str> = head.split("  ").map(str::trim).filter(|name| !name.is_empty()).collect();
    let starts: Vec<usize> = names.iter().map(|name| head.find(&format!("  {name}")).unwrap() + 2).collect();
    let (mut solver, mut found) = (String::new(), Vec::new());
    for line in lines {
        let cell = |k: usize| {
            let end = starts.get(k + 1).copied().unwrap_or(line.len()).min(line.len());
            line[starts[k]..end].trim().to_string()
        };
        let many = cell(0).is_empty();
        if !many {
            solver = cell(0);
        }
        found.push((
            solver.clone(),
            many,
            (0..names.len()).map(|k| (names[k].to_string(), cell(k))).collect(),
        ));
    }
    found
}

#[test]
fn every_printed_cell_says_what_train_does() {
    let folder = Folder::with("two.svm", text(&classes(60, 10, 1)));
    folder.write("three.svm", "a 1:1 2:1\nb 2:2\nc 3:1\na 1:2\nb 2:1 3:1\nc 3:2\n".repeat(6));
    folder.write("factors", "1\t0.5\n");
    let wide = (0..40_000).map(|k| format!("{} {}:1 {}:1\n", k % 2, 1 + k % 3, 4 + k * 7 % 300));
    folder.write("disk.svm", wide.collect::<String>());
    folder.ok("train two.svm -o start-two --l2 0.1 --quiet");
    folder.ok("train three.svm -o start-three --l2 0.1 --quiet");
    let rows = capabilities(&folder.ok("list solvers").stdout);
    assert_eq!(rows.len(), SOLVERS.len() + SOLVERS.iter().filter(|row| row.targets.len() > 1).count());
    for (solver, many, cells) in rows {
        let data = if many { "three" } else { "two" };
        let run = |flags: &str| folder.run(&format!("train {data}.svm --solver {solver} --l2 0.1 {flags}"));
        for (name, cell) in &cells {
            let place = format!("{solver}, {data}, {name}: {cell}");
            let flags = match name.as_str() {
                "rows on disk" if many => continue, // the law of the library: all rows must be in memory
                "rows on disk" => {
                    let line = format!("train disk.svm --solver {solver} --l1 0.01 --memory 30M --epochs 1");
                    let done = folder.run(&line);
                    assert_eq!(done.code == 0, cell == "yes", "{place}: {}", done.stderr);
                    continue;
                }
                "start" => format!("--start start-{data}"),
                "factors" => "--penalty-factor factors".to_string(),
                "bounds" => "--lower -1 --upper 1".to_string(),
                "runs" => "--runs 2".to_string(),
                "tolerance" => "--tolerance 0.01".to_string(),
                _ => continue,
            };
            let done = run(&flags);
            let idle = done.stderr.contains("--tolerance has no");
            let able = done.code == 0 && !idle;
            assert_eq!(able, cell == "yes", "{place}: {}", done.stderr);
            assert!(able || idle || done.code == 2, "{place}: {}", done.stderr);
        }
        let (_, steps) = cells.last().unwrap();
        for (name, flags) in [
            ("method", "--method sgd"),
            ("schedule", "--schedule constant"),
            ("update", "--update table"),
            ("average", "--average"),
        ] {
            let done = run(flags);
            let flag = format!("--{name} has no meaning");
            let said = match (done.code, done.stderr.contains(&flag)) {
                (0, true) => "ignored",
                (0, false) => name,
                (code, _) => {
                    assert_eq!(code, 2, "{solver} {flags}: {}", done.stderr);
                    "none"
                }
            };
            let listed = steps.split(", ").any(|one| one == name);
            let expected = if listed {
                name
            } else if steps == "ignored" {
                "ignored"
            } else {
                "none"
            };
            assert_eq!(said, expected, "{solver}, {data}: {steps}: {}", done.stderr);
        }
    }
}

#[test]
fn what_the_table_does_not_allow_is_refused_before_the_data_are_read() {
    let folder = Folder::new(); // there are no data at all
    for (flags, parts) in [
        ("--solver svrg --loss hinge", ["without kinks", "--solver auto or --solver sgd"]),
        ("--solver svrg --loss poisson", ["bounded curvature", "--solver auto or --solver sgd"]),
        ("--solver ftrl --multiclass softmax", ["more than two classes", "--solver auto or --solver sgd"]),
        ("--solver ftrl --multilabel", ["labels", "--solver auto or --solver sgd"]),
        (
            "--multiclass ovr --solver sgd --upper 1",
            [
                "--upper is not for more than two classes",
                "leave --upper out, or use --solver auto or --solver newton",
            ],
        ),
        (
            "--multiclass ovr --solver sgd --start m",
            [
                "--start is not for more than two classes",
                "leave --start out, or use --solver auto or --solver newton",
            ],
        ),
        (
            "--multilabel --solver sgd --nonnegative",
            ["--nonnegative is not for labels", "leave --nonnegative out"],
        ),
        ("--multilabel --average", ["--average is not for labels", "leave --average out"]),
        ("--multiclass ovr --update table", ["--update is not for more than", "leave --update out"]),
        ("--multiclass softmax --thresholds tuned", ["--thresholds is for labels", "--multilabel"]),
        ("--solver svrg --schedule power", ["--schedule is not for --solver svrg", "use --solver sgd"]),
        ("--solver newton --runs 3", ["--runs", "--solver adagrad or --solver ftrl"]),
    ] {
        folder.refuses(&format!("train no-such-file.svm {flags}"), 2, &parts);
    }
}

#[test]
fn former_names_of_solvers_are_the_same_solvers() {
    let folder = Folder::with("a.svm", text(&classes(40, 10, 1)));
    for (former, present) in [("online", "sgd"), ("saga", "svrg")] {
        for name in [former, present] {
            folder.ok(&format!("train a.svm -o {name} --solver {name}"));
        }
        assert!(folder.read(former) == folder.read(present), "{former}");
    }
}
