//! `lazyglm certify`: the same figures as in training, from a model file and the data alone.

use crate::common::{Folder, classes, in_format, text};
use crate::memory::{LITTLE, many};
use serde_json::Value;

/// Counts of words, some of which speak for a class.
fn rows(count: usize) -> String {
    let mut text = String::new();
    let mut state = 7u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    for _ in 0..count {
        let class = draw(2);
        let first = 1 + class * 3 + draw(4);
        let second = 10 + draw(30);
        let value = 1 + draw(5);
        text += &format!("{} {first}:{value} {second}:1.5\n", if class == 1 { "yes" } else { "no" });
    }
    text
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} of {value}"))
}

fn near(a: f64, b: f64, to: f64) {
    assert!((a - b).abs() <= to * a.abs().max(1e-9), "{a} {b}");
}

#[test]
fn it_says_what_training_said_whatever_the_format_and_the_scale() {
    let folder = Folder::with("a.svm", rows(400));
    folder.ok("convert a.svm a.vw");
    let text: String = rows(300)
        .lines()
        .map(|line| format!("{}\n", line.replacen(' ', "\t", 1).replace(':', " ")))
        .collect();
    folder.write("a.txt", text);
    for flags in [
        "a.svm",
        "a.svm --scale std",
        "a.svm --scale maxabs --precision f64",
        "a.svm --hash-bits 4",
        "a.svm --class-weight yes=3",
        "a.svm --no-bias --loss squared-hinge",
        "a.vw --loss hinge",
        "a.txt",
        "a.txt --text idf=yes",
        "a.txt --text idf=yes,norm=none",
        "a.txt --text idf=yes,norm=none --scale maxabs",
    ] {
        let trained =
            folder.json(&format!("train {flags} --l1 1e-3 --l2 1e-3 --epochs 20 -o m --json --quiet"));
        let data = flags.split(' ').next().unwrap();
        let kept: Vec<&str> = ["--scale std", "--scale maxabs", "--class-weight yes=3"]
            .into_iter()
            .filter(|flag| flags.contains(flag))
            .collect();
        let proved = folder.json(&format!("certify m {data} {} --json --quiet", kept.join(" ")));
        near(number(&trained, "objective"), number(&proved, "objective"), 1e-7);
        near(number(&trained, "dual"), number(&proved, "dual"), 1e-6);
        near(number(&trained, "violation"), number(&proved, "kkt"), 1e-4);
        assert!(number(&trained, "relative_gap") < 0.9 || flags.contains("hinge"), "{flags}: {trained}");
    }
}

#[test]
fn weights_from_elsewhere_are_judged_by_the_same_rule() {
    let folder = Folder::with("a.svm", rows(300));
    folder.ok("train a.svm --l1 1e-2 -o m --quiet");
    let own = folder.json("certify m a.svm --json");
    folder.write("w.tsv", folder.ok("inspect m --tsv").stdout);
    assert_eq!(folder.json("certify m a.svm --weights w.tsv --json"), own);
    folder.write("none.tsv", "(bias)\t0\n");
    let none = folder.json("certify m a.svm --weights none.tsv --json");
    near(number(&none, "objective"), std::f64::consts::LN_2, 1e-12);
    assert!(number(&none, "dual") <= number(&own, "objective"));
    folder.write("far.tsv", "1\t5\n4000000000\t1\n");
    let far = folder.json("certify m a.svm --weights far.tsv --json");
    assert!(number(&far, "objective") > number(&own, "objective"));
    folder.refuses("certify m a.svm --weights a.svm", 1, &["a.svm:1", "no tab"]);
    folder.write("word.tsv", "spam\t1\n");
    folder.refuses("certify m a.svm --weights word.tsv", 1, &["word.tsv:1", "'spam' is not an index"]);
    folder.write("twice.tsv", "1\t1\n1\t2\n");
    folder.refuses("certify m a.svm --weights twice.tsv", 1, &["twice.tsv:2", "second time"]);
}

#[test]
fn sample_weights_and_other_penalties_are_part_of_the_problem() {
    let folder = Folder::with("a.svm", rows(200));
    let weights: String = (0..200).map(|k| format!("{}\n", k % 4)).collect();
    folder.write("weights", weights);
    let trained = folder.json("train a.svm --sample-weights weights --l1 1e-2 --l2 0 -o m --json --quiet");
    let proved = folder.json("certify m a.svm --sample-weights weights --json");
    near(number(&trained, "objective"), number(&proved, "objective"), 1e-7);
    // Without l2, the solver has a bound that the weights alone do not give.
    let [own, of_weights] = [&trained, &proved].map(|report| number(report, "dual"));
    assert!(own >= of_weights - 1e-9 && own <= number(&trained, "objective") + 1e-9, "{trained} {proved}");
    near(own, of_weights, 1e-4);
    assert!(folder.ok("certify m a.svm").stderr.contains("rows had weights in training"));
    let unpenalised = folder.json("certify m a.svm --l1 0 --l2 0 --json --quiet");
    assert_eq!((&unpenalised["dual"], &unpenalised["relative_gap"]), (&Value::Null, &Value::Null));
    assert!(number(&unpenalised, "kkt") > 0.0 && unpenalised["worst"].is_string());
    folder.write("few", "1\n2\n");
    folder.refuses("certify m a.svm --sample-weights few", 1, &["2 sample weights for the 200 rows"]);
    folder.refuses(
        "certify m a.svm --l1 -1",
        2,
        &["invalid --l1 '-1': expected a finite number, at least 0"],
    );
    assert!(folder.ok("certify m a.svm --quiet").stdout.contains("a lower bound on the objective"));
}

#[test]
fn heads_have_figures_of_their_own_and_those_of_all_are_the_sums() {
    let class = |i: usize| ["a", "b", "c"][(i + i / 7) % 3];
    let row = |i: usize| format!("{} {}:1 {}:0.5\n", class(i), 1 + i % 3, 4 + i % 5);
    let folder = Folder::with("three.svm", (0..120).map(row).collect::<String>());
    let labels = |i: usize| format!("{},{} {}:1 {}:0.5\n", class(i), class(i / 2), 1 + i % 3, 4 + i % 5);
    folder.write("labels.svm", (0..120).map(labels).collect::<String>());
    for (data, flags) in [
        ("three.svm", "--multiclass softmax"),
        ("three.svm", "--multiclass ovr"),
        ("three.svm", "--multiclass ovr --loss hinge"),
        ("labels.svm", "--multilabel"),
    ] {
        let trained = folder.json(&format!(
            "train {data} {flags} --solver newton --l1 1e-3 --l2 1e-3 --tolerance 1e-6 -o m --json --quiet"
        ));
        let proved = folder.json(&format!("certify m {data} --json"));
        near(number(&trained, "objective"), number(&proved, "objective"), 1e-7);
        // The solver's last model may prove more than the weights.
        let [of_solver, of_weights] = [&trained, &proved].map(|report| number(report, "dual"));
        near(of_solver, of_weights, 1e-4);
        assert!(
            of_solver >= of_weights * (1.0 - 1e-7)
                && of_solver <= number(&proved, "objective") * (1.0 + 1e-9)
        );
        let heads = proved["heads"].as_array().unwrap();
        assert_eq!(
            heads.iter().map(|head| head["name"].as_str().unwrap()).collect::<Vec<_>>(),
            ["a", "b", "c"]
        );
        near(heads.iter().map(|head| number(head, "objective")).sum(), number(&proved, "objective"), 1e-9);
        match flags.contains("softmax") {
            true => assert!(heads.iter().all(|head| head["dual"].is_null()), "one bound for all: {proved}"),
            false => near(heads.iter().map(|head| number(head, "dual")).sum(), number(&proved, "dual"), 1e-9),
        }
        let text = folder.ok(&format!("certify m {data}")).stdout;
        assert!(text.contains("  a: objective ") && text.contains("a lower bound"), "{text}");
    }
    folder.refuses("certify m three.svm --weights three.svm", 2, &["3 classes or labels"]);
    folder.write("more.svm", "a 1:1\nb 2:1\na,z 3:1\n");
    folder.refuses("certify m more.svm", 1, &["more.svm:3", "the label 'z' is none of those"]);
    folder.ok("train three.svm -o m --quiet");
    folder.refuses("certify m more.svm", 1, &["more.svm:3", "'a,z' is none of the 3 classes"]);
    folder.write("offsets", "1\n".repeat(120));
    folder.refuses("certify m three.svm --offset offsets", 2, &["--offset is not for more than two classes"]);
}

#[test]
fn no_certificate_leaves_out_the_lower_bound_and_nothing_else() {
    let folder = Folder::with("a.svm", text(&classes(300, 20, 1)));
    for solver in ["sgd", "newton", "adagrad"] {
        let run = format!("train a.svm --solver {solver} --l1 1e-3 --json --quiet");
        let (with, without) = (folder.json(&run), folder.json(&format!("{run} --no-certificate")));
        assert!(with["dual"].is_number() && with["relative_gap"].is_number());
        assert!(without["dual"].is_null() && without["relative_gap"].is_null(), "{solver}");
        for key in ["objective", "violation", "baseline", "l1_max", "nonzeros", "stop"] {
            assert_eq!(with[key], without[key], "{solver}: {key}");
        }
    }
    let told = folder.ok("train a.svm --solver sgd --no-certificate").stdout;
    assert!(!told.contains("lower bound"), "{told}");
}

/// Rows of which a window holds a part, with a row weight and a bias that matters.
fn on_disk() -> Folder {
    let rows = many(false);
    let folder = Folder::with("data.svm", text(&rows));
    let mut k = 0;
    let weighted: String = in_format(&rows, "vw")
        .lines()
        .map(|line| {
            k += 1;
            format!("{}\n", line.replacen(" |", &format!(" {} |", 1 + k % 3), 1))
        })
        .collect();
    folder.write("data.vw", weighted);
    folder
}

#[test]
fn rows_larger_than_memory_have_the_gap_of_rows_in_memory() {
    let folder = on_disk();
    for (data, trained, kept) in [
        ("data.svm", "--solver newton --l1 1e-3 --l2 1e-3", ""),
        ("data.svm", "--solver newton --l1 1e-3 --l2 0 --class-weight balanced", "--class-weight balanced"),
        ("data.svm", "--solver sgd --epochs 1 --l1 1e-3 --l2 0 --scale std", "--scale std"),
        ("data.svm", "--loss squared --l1 1e-3 --no-bias --precision f64", ""),
        ("data.vw", "--solver newton --l1 1e-3 --l2 1e-4 --tolerance 1e-6", ""),
    ] {
        folder.ok(&format!("train {data} {trained} -o m --cache off --quiet"));
        let whole = folder.json(&format!("certify m {data} {kept} --json --quiet"));
        let windows = folder.json(&format!("certify m {data} {kept} {LITTLE} --json --quiet"));
        near(number(&whole, "objective"), number(&windows, "objective"), 1e-9);
        near(number(&whole, "kkt"), number(&windows, "kkt"), 1e-6);
        assert_eq!((&whole["worst"], &whole["rows"]), (&windows["worst"], &windows["rows"]), "{trained}");
        let [all, streamed] = [&whole, &windows].map(|proved| number(proved, "relative_gap"));
        // Without l2, the bound in memory satisfies the constraints of columns one by one, and may be the better one.
        let close = !trained.contains("--l2 1e") || streamed <= 1.5 * all + 1e-9;
        assert!(close && all <= 1.5 * streamed + 1e-9, "{trained}: {all} {streamed}");
        assert!((1.0..=2.0).contains(&number(&windows, "passes")) && whole.get("passes").is_none());
    }
    assert!(folder.names().iter().all(|name| !name.contains("cache")), "temporary files have no name");
}

#[test]
fn a_bias_far_from_the_best_costs_a_second_pass_and_little_of_the_bound() {
    let folder = on_disk();
    folder.ok("train data.svm --solver newton --l1 1e-3 --l2 1e-3 --no-bias -o none --quiet");
    folder.ok("train data.svm --solver newton --l1 1e-3 --l2 1e-3 -o m --cache off --quiet");
    folder.write("w.tsv", folder.ok("inspect none --tsv --all").stdout);
    let line = "certify m data.svm --weights w.tsv --json --quiet";
    let [whole, windows] = [line.to_string(), format!("{line} {LITTLE}")].map(|line| folder.json(&line));
    assert_eq!(number(&windows, "passes"), 2.0, "{windows}");
    let [all, streamed] = [&whole, &windows].map(|proved| number(proved, "relative_gap"));
    assert!(streamed <= 1.5 * all && streamed < 0.2, "{whole} {windows}");
    let best = number(&folder.json("certify m data.svm --json --quiet"), "objective");
    assert!(number(&windows, "dual") <= best, "a lower bound on the optimum");
}

#[test]
fn a_cache_a_pipe_and_the_cache_beside_the_data_are_certified_as_the_data_are() {
    let folder = on_disk();
    folder.ok("train data.svm --solver newton --l1 1e-3 --l2 1e-3 --cache rows.cache -o m --quiet");
    let whole = folder.json("certify m data.svm --json --quiet");
    let windows = folder.json(&format!("certify m data.svm {LITTLE} --json --quiet"));
    assert_eq!(folder.json("certify m rows.cache --json --quiet"), whole);
    assert_eq!(folder.json(&format!("certify m rows.cache {LITTLE} --json --quiet")), windows);
    let piped = folder.run_on(&folder.read("data.svm"), &format!("certify m - {LITTLE} --json --quiet"));
    assert_eq!(serde_json::from_str::<Value>(&piped.stdout).unwrap(), windows, "{}", piped.stderr);
    let roomy = folder.json("certify m data.svm --memory 200M --json --quiet");
    assert_eq!(roomy, whole, "rows that fit are in memory");
    let told = folder.ok(&format!("certify m data.svm {LITTLE}"));
    assert!(
        told.stderr.contains("do not fit into --memory") && told.stderr.contains("one pass"),
        "{}",
        told.stderr
    );
    // The cache of other rows, and one that was made in another way.
    folder.ok("train data.svm --hash-bits 6 --l1 1e-3 --cache hashed.cache -o h --quiet");
    folder.refuses(&format!("certify m hashed.cache {LITTLE}"), 1, &["read in another way", "give the data"]);
}

#[test]
fn what_a_memory_limit_cannot_certify_is_refused_with_what_can() {
    let folder = on_disk();
    folder.ok("train data.svm --solver newton --l1 1e-3 -o m --cache off --quiet");
    folder.write("ones", "1\n".repeat(60_000));
    for (flag, words) in [
        ("--sample-weights", "put them into the data, as Vowpal Wabbit text has them"),
        ("--offset", "with offsets in the data (--offset-column)"),
    ] {
        let named = format!("{flag} with more rows than --memory holds");
        folder.refuses(&format!("certify m data.svm {flag} ones {LITTLE}"), 2, &[&named, words]);
        folder.ok(&format!("certify m data.svm {flag} ones --memory 200M --quiet"));
    }
    folder.refuses("certify m data.svm --memory 5M", 2, &["is too little for 200 features", "or more"]);
    // Three classes need all rows in memory, and the refusal says how much that is.
    let three: String = text(&many(false))
        .lines()
        .enumerate()
        .map(|(i, line)| format!("{} {}\n", ["a", "b", "c"][i % 3], line.split_once(' ').unwrap().1))
        .collect();
    folder.write("three.svm", three);
    folder.ok("train three.svm --solver sgd --epochs 1 --l1 1e-3 -o m --cache off --quiet");
    let refusal = folder.run(&format!("certify m three.svm {LITTLE}"));
    assert!(refusal.code == 1 && refusal.stderr.contains("more than two classes"), "{}", refusal.stderr);
    let least = refusal.stderr.split("give --memory ").last().unwrap().split(' ').next().unwrap();
    let whole = folder.json("certify m three.svm --json --quiet");
    assert_eq!(
        folder.json(&format!("certify m three.svm --memory {least} --json --quiet")),
        whole,
        "{least}"
    );
}
