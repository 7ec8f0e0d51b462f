//! What the tests of the program share: a folder each, a way to run the program in it, and made data.

use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What a run of the program left.
pub struct Output {
    /// The exit code; −1 if a signal ended it.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// A folder of its own, removed at the end of the test; the program runs in it.
pub struct Folder(pub tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }

    /// A folder with one file in it.
    pub fn with(name: &str, content: impl AsRef<[u8]>) -> Folder {
        let folder = Folder::new();
        folder.write(name, content);
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("a file in a temporary folder");
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The names of all files, sorted, hidden ones too.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("a readable folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// The same without caches, which `train` leaves beside its data.
    pub fn files(&self) -> Vec<String> {
        self.names().into_iter().filter(|name| !name.ends_with(".lazyglm-cache")).collect()
    }

    /// The program with these words, not yet started.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lazyglm"));
        command.args(line.split_whitespace()).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    /// The program under a line of shell, such as a limit; not yet started.
    pub fn command_under(&self, shell: &str, line: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{shell}; exec \"$0\" \"$@\"")).arg(env!("CARGO_BIN_EXE_lazyglm"));
        command.args(line.split_whitespace()).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    /// Runs `lazyglm` with the words of `line`.
    pub fn run(&self, line: &str) -> Output {
        finish(&mut self.command(line))
    }

    /// The same, with something on standard input.
    pub fn run_on(&self, input: &[u8], line: &str) -> Output {
        let mut command = self.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let _ = child.stdin.take().expect("a pipe").write_all(input); // it may have refused before reading
        output(child.wait_with_output().expect("the program ends"))
    }

    /// Runs and expects success.
    pub fn ok(&self, line: &str) -> Output {
        let output = self.run(line);
        assert_eq!(output.code, 0, "lazyglm {line}\n{}", output.stderr);
        output
    }

    /// Runs, expects success, and reads the one JSON object on standard output.
    pub fn json(&self, line: &str) -> Value {
        let output = self.ok(line);
        serde_json::from_str(&output.stdout).unwrap_or_else(|e| panic!("{line}: {e}: {}", output.stdout))
    }

    /// The bias and the weights that are not zero, as `inspect --all --tsv` prints them.
    pub fn weights(&self, model: &str) -> (f64, Vec<(u32, f64)>) {
        let text = self.ok(&format!("inspect {model} --all --tsv")).stdout;
        let mut lines = text.lines().map(|line| line.split_once('\t').expect("a tab"));
        let bias = lines.next().expect("a bias").1.parse().expect("a number");
        let weights = lines.map(|(name, w)| (name.parse().expect("an index"), w.parse().expect("a number")));
        (bias, weights.collect())
    }

    /// What `predict` prints, as numbers.
    pub fn scores(&self, model: &str, data: &str) -> Vec<f64> {
        let text = self.ok(&format!("predict {model} {data} --as score")).stdout;
        text.lines().map(|line| line.parse().expect("a number")).collect()
    }

    /// Expects failure with this code: nothing on standard output, a message with these parts, and every file
    /// but caches as it was.
    pub fn refuses(&self, line: &str, code: i32, parts: &[&str]) {
        let before: Vec<_> = self.files().into_iter().map(|name| (self.bytes_of(&name), name)).collect();
        let output = self.run(line);
        let told = format!("lazyglm {line}\nexit {}\n{}", output.code, output.stderr);
        assert_eq!(output.code, code, "{told}");
        assert_eq!(output.stdout, "", "{told}");
        assert!(output.stderr.contains("error:"), "{told}");
        assert!(!output.stderr.contains("panicked"), "{told}");
        for part in parts {
            assert!(output.stderr.contains(part), "no '{part}' in\n{told}");
        }
        let after: Vec<_> = self.files().into_iter().map(|name| (self.bytes_of(&name), name)).collect();
        assert!(before == after, "files were left, harmed or lost: {:?}\n{told}", self.names());
    }

    fn bytes_of(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.path(name)).ok() // none for a folder
    }
}

/// Runs a command to its end.
pub fn finish(command: &mut Command) -> Output {
    output(command.output().expect("the program starts"))
}

fn output(raw: std::process::Output) -> Output {
    Output {
        code: raw.status.code().unwrap_or(-1),
        stdout: String::from_utf8(raw.stdout).expect("text"),
        stderr: String::from_utf8(raw.stderr).expect("text"),
    }
}

/// A row: its target, and (index, value) pairs in rising order.
pub type Row = (f64, Vec<(u32, f64)>);

/// Random numbers for made data: an ordinary linear congruence, the same everywhere.
pub struct Dice(pub u64);

impl Dice {
    /// Uniform in 0..n.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// Uniform in −1..1, with four decimals, never 0.
    pub fn value(&mut self) -> f64 {
        (self.below(1998) as f64 - 998.5) / 1000.0
    }
}

/// Rows of a few features out of `features`, counted from 1, with targets ±1: features 1, 2 and 3 decide, with
/// some noise, and the higher a feature the rarer it is.
pub fn classes(rows: usize, features: u64, seed: u64) -> Vec<Row> {
    let decide = |score: f64| if score > 0.0 { 1.0 } else { -1.0 };
    made(rows, features, seed).into_iter().map(|(score, row)| (decide(score), row)).collect()
}

/// The same rows, with numbers as targets.
pub fn numbers(rows: usize, features: u64, seed: u64) -> Vec<Row> {
    made(rows, features, seed)
}

fn made(rows: usize, features: u64, seed: u64) -> Vec<Row> {
    let mut dice = Dice(seed);
    let row = |dice: &mut Dice| {
        let mut pairs: Vec<(u32, f64)> = Vec::new();
        for _ in 0..6 {
            let index = 1 + dice.below(features).min(dice.below(features)) as u32;
            if pairs.iter().all(|&(known, _)| known != index) {
                pairs.push((index, dice.value()));
            }
        }
        pairs.sort_by_key(|pair| pair.0);
        let truth = |index| [0.0, 2.0, -2.0, 1.0].get(index as usize).copied().unwrap_or(0.0);
        let score: f64 = pairs.iter().map(|&(index, x)| truth(index) * x).sum();
        (((score + 0.2 + 0.3 * dice.value()) * 1000.0).round() / 1000.0, pairs)
    };
    (0..rows).map(|_| row(&mut dice)).collect()
}

/// Rows as svmlight text.
pub fn text(rows: &[Row]) -> String {
    let pair = |&(index, x): &(u32, f64)| format!(" {index}:{x}");
    rows.iter().map(|(y, row)| format!("{y}{}\n", row.iter().map(pair).collect::<String>())).collect()
}

/// Whether two numbers agree to within `tolerance` of the larger of 1 and their size.
pub fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}

/// log(1 + e^(−m)), written out.
pub fn logistic(margin: f64) -> f64 {
    if margin > 0.0 { (-margin).exp().ln_1p() } else { margin.exp().ln_1p() - margin }
}

/// The formats there are: a name, and a file's name with an ending that tells it.
pub const FORMATS: [(&str, &str); 5] = [
    ("svmlight", "data.svm"),
    ("vw", "data.vw"),
    ("jsonl", "data.jsonl"),
    ("csv", "data.csv"),
    ("text", "data.txt"),
];

/// Rows with indices below 100 as text of a format. Feature 7 is called `x7`; labelled text has it as a word, and no
/// values.
pub fn in_format(rows: &[Row], format: &str) -> String {
    let mut all = String::new();
    if format == "csv" {
        all += &format!("target,{}\n", (1..100).map(|j| format!("x{j}")).collect::<Vec<_>>().join(","));
    }
    for (y, row) in rows {
        let pairs = |one: &dyn Fn(&(u32, f64)) -> String| row.iter().map(one).collect::<String>();
        match format {
            "svmlight" => all += &text(&[(*y, row.clone())]),
            "vw" => all += &format!("{y} |{}\n", pairs(&|(j, x)| format!(" x{j}:{x}"))),
            "jsonl" => {
                all += &format!("{{\"target\": {y}{}}}\n", pairs(&|(j, x)| format!(", \"x{j}\": {x}")))
            }
            "csv" => {
                let cell =
                    |j: u32| row.iter().find(|pair| pair.0 == j).map_or("0".into(), |p| p.1.to_string());
                all += &format!("{y},{}\n", (1..100).map(cell).collect::<Vec<_>>().join(","));
            }
            "text" => all += &format!("{y}\tword{}\n", pairs(&|(j, _)| format!(" x{j}"))),
            _ => unreachable!("{format}"),
        }
    }
    all
}

/// A bad line of a format, and the byte of it that is wrong.
pub fn bad_line(format: &str) -> &'static [u8] {
    match format {
        "svmlight" => b"1 1:1 2;1\n",
        "vw" => b"1 x |f a:1 b\n",
        "jsonl" => b"{\"target\": 1, \"a\" 1}\n",
        "csv" => b"1,2,3\n",
        "text" => b"spam without a tab\n",
        _ => unreachable!("{format}"),
    }
}

/// A folder with training rows and held-out rows of two classes.
pub fn two_sets() -> Folder {
    let folder = Folder::with("train.svm", text(&classes(400, 50, 1)));
    folder.write("held.svm", text(&classes(200, 50, 2)));
    folder
}

/// A number of a JSON report.
pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// The points of a search, as JSON.
pub fn points(found: &Value) -> &Vec<Value> {
    found["points"].as_array().expect("a list")
}
