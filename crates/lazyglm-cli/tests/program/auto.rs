//! `train` with nothing said of how: what it chooses, what it does, and what it says.

use crate::common::{Folder, classes, text};
use lazyglm::util::random::Random;
use std::process::Stdio;
use std::time::{Duration, Instant};

fn folder() -> Folder {
    Folder::with("a.svm", text(&classes(600, 40, 1)))
}

#[test]
fn without_a_penalty_it_chooses_one_by_held_out_loss_and_minimises() {
    let folder = folder();
    let report = folder.json("train a.svm -o m --json --quiet");
    assert_eq!(
        (report["solver"].as_str(), report["stop"].as_str()),
        (Some("newton"), Some("gap")),
        "{report}"
    );
    let tried = report["tried"].as_array().unwrap();
    let chosen: Vec<_> = tried.iter().filter(|point| point["chosen"] == true).collect();
    assert_eq!(chosen.len(), 1);
    assert_eq!((&chosen[0]["l1"], &chosen[0]["l2"]), (&report["l1"], &report["l2"]));
    let lowest = tried.iter().map(|point| point["loss"].as_f64().unwrap()).fold(f64::INFINITY, f64::min);
    assert!(tried.len() > 5 && chosen[0]["loss"].as_f64().unwrap() <= 1.006 * lowest, "{report}");
    // The model says which penalty it has, and the proof is for that one.
    let inspected = folder.json("inspect m --json");
    assert_eq!(inspected["training"]["l1"], report["l1"], "{inspected}");
    assert!(folder.json("certify m a.svm --json")["relative_gap"].as_f64() <= Some(1e-3));
    assert!(report["relative_gap"].as_f64() <= Some(1e-3), "{report}");
    let again = folder.json("train a.svm --json --quiet");
    assert_eq!(
        (&again["l1"], &again["objective"]),
        (&report["l1"], &report["objective"]),
        "the same each time"
    );
    let said = folder.ok("train a.svm").stderr;
    assert!(said.contains("auto: l1 ") && said.contains("tried on held-out rows"), "{said}");
}

#[test]
fn other_units_of_the_features_change_the_weights_alone() {
    let rows = classes(400, 30, 2);
    let folder = Folder::with("a.svm", text(&rows));
    let scaled: Vec<_> = rows
        .iter()
        .map(|(target, row)| (*target, row.iter().map(|(j, x)| (*j, 1024.0 * x)).collect::<Vec<_>>()))
        .collect();
    folder.write("b.svm", text(&scaled));
    let [a, b] =
        ["a", "b"].map(|name| folder.json(&format!("train {name}.svm --json --quiet --tolerance 1e-8")));
    let [fa, fb] = [&a, &b].map(|report| report["loss"].as_f64().unwrap());
    assert!((fa - fb).abs() < 1e-3 * fa, "{a}\n{b}");
}

#[test]
fn with_a_penalty_it_minimises_and_what_is_said_of_steps_means_online() {
    let folder = folder();
    let report = folder.json("train a.svm --l1 1e-3 --json --quiet");
    assert_eq!((report["solver"].as_str(), report["l1"].as_f64()), (Some("newton"), Some(1e-3)), "{report}");
    assert!(report.get("tried").is_none());
    let flags = [
        "--epochs 5",
        "--eta0 0.1",
        "--order sequential",
        "--update dense",
        "--schedule cosine",
        "--method fobos",
    ];
    for flag in flags {
        let report = folder.json(&format!("train a.svm {flag} --json --quiet"));
        assert_eq!((report["solver"].as_str(), report["l1"].as_f64()), (Some("sgd"), Some(1e-6)), "{flag}");
    }
    let [asked, silent] = ["--solver online", "--epochs 5"]
        .map(|flag| folder.json(&format!("train a.svm {flag} --json --quiet")));
    assert_eq!(asked["objective"], silent["objective"]);
}

#[test]
fn a_loss_with_kinks_goes_to_the_optimum_for_the_best_penalty_of_a_grid() {
    let folder = folder();
    let report = folder.json("train a.svm --loss hinge --json --quiet");
    assert_eq!(report["solver"].as_str(), Some("newton"));
    assert!(report["tried"].as_array().unwrap().len() > 10, "{report}");
    assert!(report["relative_gap"].as_f64() <= Some(1e-3), "{report}");
    let said = folder.ok("train a.svm --loss hinge --l1 1e-3 --l2 1e-3").stderr;
    assert!(said.contains("the optimum to a tolerance of 0.0001, by Newton's method"), "{said}");
    let said = folder.ok("train a.svm --loss hinge --l1 0 --l2 0").stderr;
    assert!(said.contains("since the loss has kinks and there is no penalty"), "{said}");
    let said = folder.ok("train a.svm --loss perceptron --l1 1e-4").stderr;
    assert!(said.contains("since the loss is zero without weights"), "{said}");
}

#[test]
fn rows_on_disk_get_exact_zeros_and_a_lower_objective() {
    let folder = Folder::with("a.svm", text(&classes(30_000, 3_000, 3)));
    let flags = "--memory 40M --l1 3e-4 --l2 1e-4 --json --quiet";
    let online = folder.json(&format!("train a.svm --solver online {flags}"));
    let tested = folder.json(&format!("train a.svm {flags}"));
    let [few, many] = [&tested, &online].map(|report| report["nonzeros"].as_u64().unwrap());
    assert!(few < many && tested["objective"].as_f64() < online["objective"].as_f64(), "{online}\n{tested}");
    let newton = folder.json("train a.svm --solver newton --l1 3e-4 --l2 1e-4 --json --quiet");
    assert!(tested["objective"].as_f64() >= newton["dual"].as_f64(), "{newton}");
}

#[test]
fn too_few_rows_to_hold_some_out_are_no_reason_to_fail() {
    let folder = Folder::with("a.svm", "1 1:1\n-1 2:1\n1 1:2\n");
    let report = folder.json("train a.svm --json --quiet");
    assert!(report["objective"].as_f64() <= report["baseline"].as_f64(), "{report}");
    folder.write("b.svm", "1 1:1\n-1 1:1\n".repeat(50)); // a feature that says nothing
    assert_eq!(folder.json("train b.svm --json --quiet")["nonzeros"].as_u64(), Some(0));
    folder.write("c.svm", "1 1:1 2:1\n-1 1:1 3:1\n".repeat(50)); // told apart without an error; a column that is constant
    assert!(folder.json("train c.svm --json --quiet")["loss"].as_f64() < Some(0.5));
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_what_it_has_learnt() {
    let folder = Folder::with("a.svm", text(&classes(20_000, 300, 4)));
    let line = "train a.svm -o m --epochs 1000000 --eta0 0.01";
    let mut child = folder.command(line).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(3));
    assert!(
        std::process::Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = child.kill();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let model = folder.json("inspect m --json");
    assert_eq!(model["training"]["report"]["stop"].as_str(), Some("interrupted"), "{model}");
    folder.ok("predict m a.svm");
}

#[test]
fn where_nothing_can_be_learnt_there_are_no_weights_and_it_says_so() {
    // Targets that have nothing to do with the features: what is best on held-out rows is best by chance, here one in 20 times.
    let noise = |seed: u64| {
        let mut random = Random::new(seed);
        let mut row = || {
            let target = if random.below(2) == 0 { "yes" } else { "no" };
            format!("{target} {}:1 {}:1\n", 1 + random.below(50), 51 + random.below(50))
        };
        Folder::with("noise.svm", (0..400).map(|_| row()).collect::<String>())
    };
    let mut with_weights = 0;
    for folder in (1..=8).map(noise) {
        let report = folder.json("train noise.svm --json");
        let tried = report["tried"].as_array().unwrap();
        let chosen = tried.iter().find(|point| point["chosen"] == true).unwrap();
        if report["nonzeros"] != 0 {
            with_weights += 1;
            continue;
        }
        assert_eq!((&chosen["nonzeros"], &chosen["l1"]), (&0.into(), &report["l1"]));
        let told = folder.ok("train noise.svm").stderr;
        assert!(told.contains("is significantly better") && told.contains("give --l1"), "{told}");
        assert!(!told.contains("worse than the bias") && !told.contains("is not below"), "{told}");
        folder.write("free.tsv", "1\t0\n");
        let told = folder.ok("train noise.svm --penalty-factor free.tsv").stderr;
        assert!(!told.contains("is significantly better"), "a weight without a penalty is one: {told}");
    }
    assert!(with_weights <= 1, "{with_weights} of 8");
}

#[test]
fn a_penalty_that_is_not_given_is_zero_if_the_other_one_is() {
    let folder = folder();
    for solver in ["", "--solver newton", "--solver sgd"] {
        for (flag, l1, l2) in [("--l1 1e-3", 1e-3, 0.0), ("--l2 1e-3", 0.0, 1e-3)] {
            let report = folder.json(&format!("train a.svm {flag} {solver} --json --quiet"));
            assert_eq!(
                (report["l1"].as_f64(), report["l2"].as_f64()),
                (Some(l1), Some(l2)),
                "{flag} {solver}"
            );
        }
    }
    let said = folder.ok("train a.svm --l1 1e-3").stderr;
    assert!(said.contains("l1 0.001 and l2 0.0, as given"), "{said}");
    let help = folder.ok("train --help").stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in ["If only --l2 is given, --l1 is 0.", "If only --l1 is given, --l2 is 0."] {
        assert!(help.contains(text), "{help}");
    }
}

#[test]
fn the_help_of_a_search_has_the_defaults_of_a_search() {
    let folder = folder();
    for (verb, folds, ratios) in [
        ("tune", "[default: 5; none with --validation]", "[default: 0.1,1]"),
        ("path", "[default: none]", "[default: 1]"),
    ] {
        let help = folder.ok(&format!("{verb} --help")).stdout;
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for own in [
            folds,
            ratios,
            "from λ₁_max down to 1e-5·λ₁_max",
            "by --l1-ratio; for --solver sgd 1e-6, or 0 if --l1 is given",
            "[default: newton; sgd if",
        ] {
            assert!(words.contains(own), "{verb} {own}: {help}");
        }
        for other in [
            "--early-stop",
            "--table-budget",
            "--adaptive",
            "chosen by --solver auto",
            "svrg: up to 100",
            "1e-3 if auto",
        ] {
            assert!(!words.contains(other), "{verb} {other}: {help}");
        }
    }
}

#[test]
fn separable_classes_without_a_penalty_are_said_to_have_no_minimum() {
    let rows: String = (0..40).map(|k| if k % 2 == 0 { "1 1:1\n" } else { "-1 2:1\n" }).collect();
    let folder = Folder::with("a.svm", rows);
    let run = folder.ok("train a.svm --solver newton --l1 0 --l2 0");
    assert!(
        run.stderr.contains("linearly separable") && run.stderr.contains("--l1 or --l2"),
        "{}",
        run.stderr
    );
    assert!(!run.stdout.contains("at the tolerance"), "{}", run.stdout);
    let report = folder.json("train a.svm --l1 0 --json --quiet");
    assert_eq!((report["stop"].as_str(), report["epochs"].as_u64() < Some(50)), (Some("no-minimum"), true));
}

#[test]
fn a_loss_below_zero_gets_a_penalty_like_any_other() {
    let folder = Folder::with("count.svm", "1 1:1\n9 1:3\n".repeat(20)); // counts whose log-likelihood is positive
    let report = folder.json("train count.svm -o m --loss poisson --json");
    let number = |key: &str| report[key].as_f64().unwrap();
    assert!(number("objective") < 0.0 && number("l1") >= 0.0 && number("l2") >= 0.0, "{report}");
    let tried = report["tried"].as_array().unwrap();
    let loss = |tried: &serde_json::Value| tried["loss"].as_f64().unwrap();
    let lowest = tried.iter().map(loss).fold(f64::INFINITY, f64::min);
    let chosen = tried.iter().find(|tried| tried["chosen"] == true).map(loss).unwrap();
    assert!(chosen <= lowest + 2e-3 * lowest.abs(), "{chosen} of {lowest}: {report}");
}
