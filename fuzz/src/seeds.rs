//! The first inputs of every target. Caches and models come from the program; each is kept as it is and taken apart.

use std::path::Path;
use std::process::Command;

/// Data of each kind: a name with the ending of its format, and rows.
const DATA: &[(&str, &str)] = &[
    ("binary.svm", "1 1:1 3:0.5 9:-2e-3\n-1 2:7 3:1\n1 1:2\n-1 2:1 4:1\n"),
    ("numbers.svm", "1.5 1:1 3:0.5 9:-2e-3\n-1.25 2:7 3:1\n1e3 1:2\n-4 2:1 4:1\n"),
    ("classes.svm", "a 1:1 3:0.5\nb 2:7\nc 1:2 4:1\na 1:1\nb 2:1\nc 4:2\n"),
    ("labels.svm", "1,4 3:1\n2 2:1 3:2\n1 1:1\n4,2 4:1\n"),
    ("names.vw", "1 2.0 'tag|a x:0.5 y |b:2 z:1e3\n-1 |a x y:3\n1 |b z\n-1 |a y\n"),
    ("table.csv", "age,city,y\n31,paris,yes\n,NA,no\n40,rome,yes\n22,paris,no\n"),
    (
        "lines.jsonl",
        "{\"y\":1,\"a\":0.5,\"b\":\"x\"}\n{\"y\":0,\"a\":2,\"b\":\"z\"}\n{\"y\":1,\"c\":[\"p\",\"q\"]}\n{\"y\":0}\n",
    ),
    ("mail.txt", "ham\tSee you at 5, don't be late\nspam\tWIN now\nham\tsee me\nspam\twin win\n"),
];

/// Texts of the formats, behind the bytes that choose options and a cut.
const TEXTS: &[(&str, &[&str])] = &[
    (
        "svmlight",
        &[
            "001 1:1 3:0.5 4294967295:-2e-3\n-1 qid:3 2:7 # word\n",
            "00spam 0:1\nham 5:0.000001 5:1\n",
            "0\u{7f}1,4 3:1\n 2:1\n",
        ],
    ),
    ("vw", &["001 2.0 'tag|a x:0.5 y |b:2 z:1e3 :4\n-1 |f 1:2 3\n", "0\u{7f}|a b c\n0.5 1 |x^y a:1\n"]),
    (
        "jsonl",
        &[
            "10{\"y\": 1, \"a\": 0.5, \"b\": \"x\\u00e9\\n\", \"c\": [\"p\", \"q\"], \"d\": true, \"e\": null}\n{\"y\":\"no\"}\n",
        ],
    ),
    (
        "csv",
        &[
            "10a,city,y\n31,\"pa\"\"ris\",yes\n,NA,no\n",
            "00a;b;y\r\n1;2;3\r\n",
            "4\u{7f}a\ty\n1\t\"a\nb\"\n",
            "60a,y\n2020-01-02,1\n,2\n",
        ],
    ),
    (
        "text",
        &[
            "00ham\tSee you at 5, don't be late\nspam\tWIN \u{e9}\u{130} \u{1f600} now\n",
            "3\u{7f}__label__a __label__b some words\n",
        ],
    ),
    (
        "strings",
        &[
            "0huber:delta=0.5",
            "0tweedie:p=1.5",
            "1power:p=0.75,t0=100",
            "1cosine",
            "2a=1,b=5",
            "3log_loss",
            "4newton",
            "51e-6..1e-3:10",
            "51e-6,1e-5",
            "6tfidf",
            "7-1;2;a,b",
            "8words=1-2,chars=3-5,case=lower,value=sublinear,idf=no,norm=l2",
            "90.5,1e-3",
            "mindicator",
            "d2024-07-31T13:05:00.5+02:00",
            "d1969/12/31",
            "ia*b,a*a",
            "ia*:*:",
            "s1.5GiB",
            "s500M",
            "t90s",
            "t1.5h",
            "g1e-6",
        ],
    ),
    (
        "compressed",
        &[
            "\u{3}\u{ff}\u{0}1 1:1 3:0.5\n-1 2:7\n",
            "\u{3}\u{10}\u{0}1 1:1 3:0.5\n-1 2:7\n",
            "\u{4}\u{ff}\u{0}1 1:1 3:0.5\n-1 2:7\n1 1:1 3:0.5\n",
            "\u{4}\u{10}\u{0}1 1:1 3:0.5\n-1 2:7\n",
            "\u{0}1 1:1 3:0.5\n-1 2:7\n",
        ],
    ),
    (
        "tables",
        &[
            "01\t-0.5\n7\t-inf\n",
            "01\t0.5\n7\t2\n",
            "1a\n7\n",
            "22\t0\n3\t2.5\n",
            "3(bias)\t-0.5\n7\t1.25\n3\t-2\n",
            "3(bias)\t1\nb^z\t1\n",
            "41\n2\n0\n",
            "50.5\n-2\n",
        ],
    ),
];

/// Writes the first inputs into a folder, with the program `lazyglm` at this path.
pub fn make(program: &Path, folder: &Path) {
    let put = |target: &str, name: &str, bytes: &[u8]| {
        let folder = folder.join(target);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join(name), bytes).expect("a file");
    };
    for (target, texts) in TEXTS {
        texts.iter().enumerate().for_each(|(k, text)| put(target, &format!("seed-{k}"), text.as_bytes()));
    }
    super::checkpoint::seeds().iter().for_each(|(name, bytes)| put("checkpoint", name, bytes));
    let work = tempfile::tempdir().expect("a folder");
    let at = |name: &str| work.path().join(name);
    for (name, rows) in DATA {
        std::fs::write(at(name), rows).expect("a file");
        for (k, more) in
            ["", "--hash-bits 4", "--scale tfidf", "--renumber --cache auto"].into_iter().enumerate()
        {
            let line =
                format!("train {name} -o m --quiet --solver sgd --eta0 0.1 --epochs 1 --cache c {more}");
            let line = if k == 3 { line.replacen("--cache c ", "", 1) } else { line };
            let mut command = Command::new(program);
            let done =
                command.args(line.split_whitespace()).current_dir(work.path()).output().expect("a program");
            if !done.status.success() {
                continue; // the format does not have the option
            }
            let cache = at(if k == 3 { "cache" } else { "c" });
            if k == 3 {
                std::fs::rename(at(&format!("{name}.lazyglm-cache")), &cache).expect("a cache");
            }
            for (target, file) in [("cache", cache), ("model", at("m"))] {
                let bytes = std::fs::read(&file).expect("a file");
                std::fs::remove_file(file).expect("a file");
                let whole: Vec<u8> = [&[1], &bytes[..]].concat();
                let apart = if target == "cache" {
                    super::cache::taken_apart(&bytes)
                } else {
                    super::model::taken_apart(&bytes)
                };
                put(target, &format!("seed-{name}-{k}"), &whole);
                put(target, &format!("seed-{name}-{k}-apart"), &apart);
            }
        }
    }
}
