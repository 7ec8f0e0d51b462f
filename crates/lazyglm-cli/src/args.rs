//! What was typed. These names are a contract: other programs call them.

use clap::builder::PossibleValuesParser;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use lazyglm::{SOLVERS, format, format_out, loss, schedule};
use std::path::PathBuf;
use std::time::Duration;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default());

/// Sparse linear models with exact elastic-net regularisation, in time proportional to the non-zeros.
///
/// Minimises  (Σ ωᵢ·loss(w·xᵢ + b, yᵢ))/n + l1·‖w‖₁ + ½·l2·‖w‖²  over weights w and bias b, ω the row weights.
/// Start with `lazyglm demo`, then `lazyglm train DATA -o MODEL`.
#[derive(Parser)]
#[command(name = "lazyglm", version, styles = STYLES, max_term_width = 110)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do.
#[derive(Subcommand)]
pub enum Verb {
    /// Train a model
    Train(Box<Train>),
    /// Find the penalty: a grid of them, cross-validated, all in one pass
    Tune(Box<Tune>),
    /// Show what becomes of the model as λ₁ falls, all in one pass
    Path(Box<Path>),
    /// Print one prediction a row; blank lines and comments are no rows
    Predict(Predict),
    /// Measure a model on data with targets
    Evaluate(Evaluate),
    /// Prove how far a model can be from the minimum: a lower bound for the objective, in two passes over the data
    Certify(Certify),
    /// Show what is in a model
    Inspect(Inspect),
    /// Show what is in data: sizes, values, targets, copies, and how much l1 is too much
    Stats(Stats),
    /// Write data in another format: svmlight, vw, jsonl, csv or lazyglm's cache
    Convert(Convert),
    /// Show the main job on made data: train, evaluate, lazy against dense
    Demo,
    /// Benchmarks
    #[command(subcommand)]
    Bench(Bench),
}

/// Benchmarks.
#[derive(Subcommand)]
pub enum Bench {
    /// The paper's Table 1 on data of its shape: seconds a row for lazy, table and dense updates
    Paper(BenchPaper),
    /// What 8 and 16 models in one pass cost against one, on data of the paper's shape, on one core
    Lanes(BenchPaper),
}

/// `lazyglm train`.
#[derive(ClapArgs)]
#[command(after_help = names())]
pub struct Train {
    /// The data, plain, gzip or zstd; '-' for standard input
    pub data: PathBuf,
    /// Write the model here (without it, nothing is written)
    #[arg(short, long, value_name = "MODEL")]
    pub output: Option<PathBuf>,
    /// The loss: auto, or one of those below
    #[arg(long, default_value = "auto", value_name = "L", help_heading = "Objective")]
    pub loss: String,
    /// More than two classes: one model each against all others (ovr), or their probabilities learnt together (softmax)
    /// [default: softmax if targets are words, ovr if --loss is one for classes; else numbers are numbers]
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Objective")]
    pub multiclass: Option<Multiclass>,
    /// Targets are sets of labels, as in 3,17: one model a label [default: if a target of svmlight data has a comma]
    #[arg(long, help_heading = "Objective", conflicts_with = "multiclass")]
    pub multilabel: bool,
    /// The score above which a label is given: 0, or for each label where its F1 is greatest, on the held-out rows if there are any
    #[arg(long, value_enum, default_value_t = Thresholds::Zero, value_name = "T", help_heading = "Objective")]
    pub thresholds: Thresholds,
    /// λ₁, the price of a weight's magnitude [default: 1e-6, or chosen by --solver auto]; tune and path take several: A,B,C or LOW..HIGH:N
    #[arg(long, value_name = "X", help_heading = "Objective", allow_hyphen_values = true)]
    pub l1: Option<String>,
    /// λ₂, the price of half its square [default: 1e-6, or chosen by --solver auto]; tune and path take several: A,B,C or LOW..HIGH:N
    #[arg(long, value_name = "X", help_heading = "Objective", allow_hyphen_values = true)]
    pub l2: Option<String>,
    /// Leave the bias out
    #[arg(long, help_heading = "Objective")]
    pub no_bias: bool,
    /// A file with one weight a row; weights are divided by their mean
    #[arg(long, value_name = "FILE", help_heading = "Objective")]
    pub sample_weights: Option<PathBuf>,
    /// balanced, or CLASS=WEIGHT,CLASS=WEIGHT (1 for a class not named); times the sample weights, if any
    #[arg(long, value_name = "W", help_heading = "Objective", allow_hyphen_values = true)]
    pub class_weight: Option<String>,

    /// A file of factors of the penalty, one `feature<TAB>factor` a line; 1 for features not named, 0 for no penalty
    #[arg(long, value_name = "FILE", help_heading = "Objective")]
    pub penalty_factor: Option<PathBuf>,
    /// No weight below zero
    #[arg(long, help_heading = "Objective")]
    pub nonnegative: bool,

    /// Start from the weights of this model instead of zero
    #[arg(long, value_name = "MODEL", help_heading = "Learning")]
    pub start: Option<PathBuf>,
    /// The algorithm: one of those below [default: auto; online if --update, --method, --schedule, --eta0, --epochs, --order,
    /// --average or --early-stop is given]
    #[arg(long, value_name = "S", value_parser = PossibleValuesParser::new(SOLVERS.iter().map(|solver| solver.name)), hide_possible_values = true, help_heading = "Learning")]
    pub solver: Option<String>,
    /// Solvers that find the minimum: stop at this relative distance from it [default: 1e-4; 1e-3 where the penalty is chosen]
    #[arg(long, value_name = "X", value_parser = tolerance, help_heading = "Learning", allow_negative_numbers = true)]
    pub tolerance: Option<f64>,
    /// How a step applies the penalty: proximal (fobos) or by its gradient (sgd) [default: fobos]
    #[arg(long, value_enum, help_heading = "Learning")]
    pub method: Option<Method>,
    /// When the penalty is paid; all give the same weights, lazy is the fast one [default: lazy]
    #[arg(long, value_enum, help_heading = "Learning")]
    pub update: Option<Update>,
    /// The rate of step t: one of those below [default: cosine]
    #[arg(long, value_name = "S", help_heading = "Learning")]
    pub schedule: Option<String>,
    /// The starting rate, or auto: the best of many rehearsed on a sample of the rows [default: auto]
    #[arg(long, value_name = "X|auto", help_heading = "Learning", allow_negative_numbers = true)]
    pub eta0: Option<String>,
    /// How many times to go through the rows [default: 5; --solver saga: up to 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Learning")]
    pub epochs: Option<u64>,
    /// The order of rows, anew for each epoch or as in the file [default: shuffled]
    #[arg(long, value_enum, help_heading = "Learning")]
    pub order: Option<Order>,
    /// Of the order of rows and of the validation rows
    #[arg(long, default_value_t = 1, value_name = "N", help_heading = "Learning")]
    pub seed: u64,
    /// Of the weights and values while learning [default: f32; table and dense updates always work in f64]
    #[arg(long, value_enum, help_heading = "Learning")]
    pub precision: Option<Precision>,
    /// Keep the mean of the weights over all steps but the first FROM (Polyak–Ruppert) instead of the last; not sparse
    #[arg(long, value_name = "FROM", num_args = 0..=1, require_equals = true, default_missing_value = "0", help_heading = "Learning")]
    pub average: Option<u64>,
    /// How many steps the tables of --update table hold [default: 131072]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Learning")]
    pub table_budget: Option<u32>,

    /// Measure the mean loss (unweighted) of held-out rows after each epoch: of a file, or of this share of the rows (0.1)
    #[arg(long, value_name = "FILE|FRACTION", help_heading = "Stopping")]
    pub validation: Option<String>,
    /// Stop after N epochs without a better held-out loss, and keep the best
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Stopping")]
    pub early_stop: Option<u64>,

    /// How to read the data.
    #[command(flatten)]
    pub reading: Reading,
    /// Keep the training data in a file that reads faster: auto (DATA.lazyglm-cache), off, only (that file and nothing else), or a file
    #[arg(long, default_value = "auto", value_name = "WHEN|FILE", help_heading = "Data")]
    pub cache: String,
    /// Number the features by frequency in memory and in the cache: epochs are faster, above all shuffled ones, and the cache
    /// takes longer to make. The same model, but for the order of sums; it speaks of features as they are written
    #[arg(long, help_heading = "Data")]
    pub renumber: bool,
    /// Use so much memory (M and G are powers of 1024), and go through the rows a window at a time if they do not fit;
    /// held-out rows then come from a file, and are held on top: 2G, 500M. Many classes or labels need all rows in memory
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Data")]
    pub memory: Option<usize>,
    /// Divide each feature by its largest magnitude or its standard deviation (never shifted): the penalty is on the weights
    /// of scaled features, the model's weights are of the original units
    #[arg(long, default_value = "none", value_name = "none|maxabs|std", help_heading = "Data")]
    pub scale: String,
    /// How many features there are [default: up to the highest index]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 32), help_heading = "Data")]
    pub features: Option<u64>,
    /// Where counting starts: decides how many features there are, shifts none [default: 0 if an index 0 occurs, else 1]
    #[arg(long, value_name = "0|1", value_parser = clap::value_parser!(u32).range(0..=1), help_heading = "Data")]
    pub index_base: Option<u32>,
    /// Threads for reading and for measuring the objective [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Data")]
    pub threads: Option<u32>,

    /// No notes and no progress
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
    /// The figures as one JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

impl Train {
    /// When the penalty is paid.
    pub fn update(&self) -> Update {
        self.update.unwrap_or(Update::Lazy)
    }

    /// The starting rate.
    pub fn eta0(&self) -> &str {
        self.eta0.as_deref().unwrap_or("auto")
    }

    /// Flags given that say how stochastic steps are to be made.
    pub fn of_steps(&self) -> Vec<&'static str> {
        let flags = [
            ("--update", self.update.is_some()),
            ("--method", self.method.is_some()),
            ("--schedule", self.schedule.is_some()),
            ("--eta0", self.eta0.is_some()),
            ("--epochs", self.epochs.is_some()),
            ("--order", self.order.is_some()),
            ("--average", self.average.is_some()),
            ("--early-stop", self.early_stop.is_some()),
        ];
        flags.into_iter().filter(|(_, given)| *given).map(|(flag, _)| flag).collect()
    }

    /// The algorithm: the one asked for; else the one that what was said of steps is about; else auto.
    pub fn solver(&self) -> &str {
        let silent = if self.of_steps().is_empty() { "auto" } else { "online" };
        self.solver.as_deref().unwrap_or(silent)
    }
}

/// `lazyglm tune`.
#[derive(ClapArgs)]
#[command(after_help = names())]
pub struct Tune {
    /// What `train` takes, too.
    #[command(flatten)]
    pub train: Train,
    /// Hold out each of K parts of the rows in turn [default: 5, unless --validation is given]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(2..=65535), help_heading = "Search", conflicts_with = "validation")]
    pub folds: Option<u32>,
    /// Which point -o refits on all rows: the best, or the strongest penalty within one standard error of it
    #[arg(long, value_enum, default_value_t = Choose::Best, help_heading = "Search")]
    pub choose: Choose,
    /// Stop in time, with the best so far: 60s, 5m, 1h
    #[arg(long, value_name = "T", value_parser = duration, help_heading = "Search")]
    pub budget: Option<Duration>,
    /// Keep points that others have left far behind
    #[arg(long, help_heading = "Search")]
    pub no_halving: bool,
}

/// Which point of a grid to refit.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Choose {
    /// The lowest mean held-out loss.
    Best,
    /// The strongest penalty whose mean is within one standard error of it.
    OneSe,
}

/// `lazyglm path`.
#[derive(ClapArgs)]
#[command(after_help = names())]
pub struct Path {
    /// What `train` takes, too.
    #[command(flatten)]
    pub train: Train,
    /// The points as CSV: l1,l2,nonzeros,loss,objective,validation_loss
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub csv: bool,
    /// Write every weight that is not zero here, as CSV: l1,l2,feature,weight
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub coefficients: Option<PathBuf>,
}

/// How to read data.
#[derive(ClapArgs)]
pub struct Reading {
    /// The format: one of those below [default: by name, or first bytes]
    #[arg(long, value_name = "F", help_heading = "Data")]
    pub format: Option<String>,
    /// The column that is the target (csv, jsonl, parquet) [default: target, label, y or class]
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub target: Option<String>,
    /// Columns to leave out
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = "Data")]
    pub drop: Vec<String>,
    /// Columns whose numbers are names: a feature for each value
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = "Data")]
    pub categorical: Vec<String>,
    /// How text becomes features: words=1-3,chars=3-5,case=lower|keep,value=tf|binary|sublinear,idf=yes|no,norm=l2|none
    /// [default: words=1-2,chars=none,case=lower,value=sublinear,idf=no,norm=l2]
    #[arg(long, value_name = "K=V,…", help_heading = "Data")]
    pub text: Option<String>,
    /// Hash the names of features into 2^N buckets instead of keeping them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=30), help_heading = "Data")]
    pub hash_bits: Option<u32>,
    /// Multiply the features of two namespaces or columns: a feature for each pair; may be given again
    #[arg(long, value_name = "A*B", help_heading = "Data")]
    pub interact: Vec<String>,
}

/// `lazyglm predict`.
#[derive(ClapArgs)]
pub struct Predict {
    /// A file written by `lazyglm train -o`
    pub model: PathBuf,
    /// Data of the kind the model was trained on, plain, gzip or zstd; '-' for standard input; targets may be missing
    pub data: PathBuf,
    /// The format [default: by the file's name, or as in training]
    #[arg(long, value_name = "F")]
    pub format: Option<String>,
    /// Write the predictions here instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What to print [default: probability if the loss gives one, else score for classes, target for numbers; target with many
    /// classes or labels, whose probabilities or scores are a tab-separated line a row, after a line of names]
    #[arg(long = "as", value_enum, value_name = "WHAT")]
    pub what: Option<What>,
    /// Fail on a feature that never occurred in training, instead of counting it as zero
    #[arg(long)]
    pub strict: bool,
    /// No notes
    #[arg(long)]
    pub quiet: bool,
}

/// `lazyglm evaluate`.
#[derive(ClapArgs)]
pub struct Evaluate {
    /// A file written by `lazyglm train -o`
    pub model: PathBuf,
    /// Data of the kind the model was trained on, plain, gzip or zstd; '-' for standard input
    pub data: PathBuf,
    /// The format [default: by the file's name, or as in training]
    #[arg(long, value_name = "F")]
    pub format: Option<String>,
    /// Fail on a feature that never occurred in training, instead of counting it as zero
    #[arg(long)]
    pub strict: bool,
    /// No notes
    #[arg(long)]
    pub quiet: bool,
    /// The figures as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `lazyglm certify`.
#[derive(ClapArgs)]
pub struct Certify {
    /// A file written by `lazyglm train -o`: it says which problem is to be solved
    pub model: PathBuf,
    /// The data it was trained on, plain, gzip or zstd
    pub data: PathBuf,
    /// Judge these weights instead of the model's own: one `feature<TAB>weight` a line, as `inspect --tsv` prints them
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
    /// λ₁ [default: that of the model]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub l1: Option<f64>,
    /// λ₂ [default: that of the model]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub l2: Option<f64>,
    /// As in training: a file with one weight a row
    #[arg(long, value_name = "FILE")]
    pub sample_weights: Option<PathBuf>,
    /// As in training: balanced, or CLASS=WEIGHT,CLASS=WEIGHT
    #[arg(long, value_name = "W", allow_hyphen_values = true)]
    pub class_weight: Option<String>,
    /// As in training: factors of the penalty
    #[arg(long, value_name = "FILE")]
    pub penalty_factor: Option<PathBuf>,
    /// As in training: no weight below zero
    #[arg(long)]
    pub nonnegative: bool,
    /// As in training: what each feature was divided by
    #[arg(long, default_value = "none", value_name = "none|maxabs|std")]
    pub scale: String,
    /// The format [default: by the file's name, or as in training]
    #[arg(long, value_name = "F")]
    pub format: Option<String>,
    /// No notes
    #[arg(long)]
    pub quiet: bool,
    /// The figures as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `lazyglm inspect`.
#[derive(ClapArgs)]
pub struct Inspect {
    /// A file written by `lazyglm train -o`
    pub model: PathBuf,
    /// Show the N largest weights, of each class or label if there are many [default: 20, or all with --tsv and --json]
    #[arg(long, value_name = "N", conflicts_with = "all")]
    pub top: Option<usize>,
    /// Show every weight that is not zero, in the order of features
    #[arg(long)]
    pub all: bool,
    /// One `feature<TAB>weight` a line, after one line `(bias)<TAB>value`; with many classes or labels, its name and a tab first
    #[arg(long, conflicts_with = "json")]
    pub tsv: bool,
    /// One JSON object: how it was trained, bias and weights
    #[arg(long)]
    pub json: bool,
}

/// `lazyglm stats`.
#[derive(ClapArgs)]
#[command(after_help = formats())]
pub struct Stats {
    /// The data, plain, gzip or zstd; '-' for standard input
    pub data: PathBuf,
    /// How to read the data.
    #[command(flatten)]
    pub reading: Reading,
    /// Threads for reading [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Data")]
    pub threads: Option<u32>,
    /// No notes
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
    /// The figures as one JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `lazyglm convert`.
#[derive(ClapArgs)]
#[command(after_help = formats() + "\n" + &formats_out())]
pub struct Convert {
    /// The data, plain, gzip or zstd; '-' for standard input
    #[arg(value_name = "IN")]
    pub data: PathBuf,
    /// Where to write; compressed if it ends in .gz or .zst; '-' for standard output, with --to
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// The format to write: one of those below [default: by the ending of OUT]
    #[arg(long, value_name = "F")]
    pub to: Option<String>,
    /// How to read the data.
    #[command(flatten)]
    pub reading: Reading,
    /// Threads for reading [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Data")]
    pub threads: Option<u32>,
    /// No notes
    #[arg(long)]
    pub quiet: bool,
}

/// `lazyglm bench paper` and `lazyglm bench lanes`.
#[derive(ClapArgs)]
pub struct BenchPaper {
    /// Rows to make; 1,000,000 as in the paper need 0.8 GB
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = clap::value_parser!(u32).range(100..))]
    pub rows: u32,
    /// The figures as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// How more than two classes go together.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Multiclass {
    /// One against the rest.
    Ovr,
    /// Probabilities that sum to one.
    Softmax,
}

/// The score above which a label is given.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Thresholds {
    /// The same for all.
    Zero,
    /// Where F1 is greatest.
    Tuned,
}

/// How a step applies the penalty.
#[derive(Clone, Copy, ValueEnum)]
pub enum Method {
    /// Proximal step.
    Fobos,
    /// Clipped gradient step.
    Sgd,
}

/// When the penalty is paid.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Update {
    /// The folded frame: two numbers for all weights.
    Lazy,
    /// The paper's tables.
    Table,
    /// Every weight, every step.
    Dense,
    /// The same, with predictions over non-zeros.
    DenseSparsePredict,
}

/// The order of rows.
#[derive(Clone, Copy, ValueEnum)]
pub enum Order {
    /// Anew for each epoch.
    Shuffled,
    /// As in the data.
    Sequential,
}

/// Of weights.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Precision {
    /// Four bytes.
    F32,
    /// Eight bytes.
    F64,
}

/// What to print for a row.
#[derive(Clone, Copy, ValueEnum)]
pub enum What {
    /// Of the positive class.
    Probability,
    /// w·x + b.
    Score,
    /// The class or the predicted number.
    Target,
}

/// Bytes, with K, M, G or T for powers of 1024.
fn size(text: &str) -> Result<usize, String> {
    let bare = text.trim_end_matches(['b', 'B']).trim_end_matches('i');
    let unit = bare.chars().last().and_then(|c| "KMGT".find(c.to_ascii_uppercase()));
    let (digits, power) = unit.map_or((bare, 0), |unit| (&bare[..bare.len() - 1], unit as i32 + 1));
    let bytes = digits.parse().map_or(f64::NAN, |number: f64| number * 1024f64.powi(power));
    let fits = (1.0..1e18).contains(&bytes);
    fits.then_some(bytes as usize).ok_or("write a number of bytes, or one with K, M, G or T: 2G, 500M".into())
}

/// A time, in seconds, minutes or hours.
fn duration(text: &str) -> Result<Duration, String> {
    let (digits, unit) = match text.chars().last() {
        Some('s') => (&text[..text.len() - 1], 1.0),
        Some('m') => (&text[..text.len() - 1], 60.0),
        Some('h') => (&text[..text.len() - 1], 3600.0),
        _ => (text, 1.0),
    };
    let seconds = digits.parse().map_or(f64::NAN, |number: f64| number * unit);
    let fits = seconds > 0.0 && seconds < 1e9;
    fits.then(|| Duration::from_secs_f64(seconds)).ok_or("write a time above 0: 60s, 5m, 1h".into())
}

/// A relative distance.
fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().unwrap_or(f64::NAN);
    (number > 0.0 && number < 1.0).then_some(number).ok_or("give a number above 0 and below 1".into())
}

/// The tables of losses and schedules, for the end of the help.
fn names() -> String {
    type Keys<'a> = &'a [lazyglm::registry::Key];
    let line = |name: &str, formula: &str, keys: Keys, wide: usize| {
        let keys: Vec<String> = keys.iter().map(|key| format!("{}={}", key.name, key.default)).collect();
        let text = format!("  {name:<wide$} {formula:<45} {}", keys.join(", "));
        text.trim_end().to_string() + "\n"
    };
    let for_what = |make: loss::Make, keys: Keys| match make(&vec![None; keys.len()]).admits() {
        loss::Admits::Classes => "classes",
        loss::Admits::Reals => "numbers",
        loss::Admits::NonNegative => "counts",
    };
    let losses = loss::TABLE
        .iter()
        .map(|e| line(&format!("{} ({})", e.name, for_what(e.make, e.keys)), e.formula, e.keys, 38));
    let schedules = schedule::TABLE.iter().map(|e| line(e.name, e.formula, e.keys, 14));
    let solvers = SOLVERS.iter().map(|solver| format!("  {:<10} {}\n", solver.name, solver.about));
    let (formats, solvers) = (formats(), solvers.collect::<String>());
    let (losses, schedules): (String, String) = (losses.collect(), schedules.collect());
    format!(
        "Losses (s the score, y = ±1 or real, r = s − y), with their keys:\n{losses}\n\
         Schedules (t the rows learnt so far), with their keys:\n{schedules}\n\
         Solvers:\n{solvers}\n\
         Keys are given like this: --loss huber:delta=1.0 --schedule power:p=0.75,t0=1000\n\n\
         {formats}"
    )
}

/// The table of formats.
fn formats() -> String {
    let line = |entry: &format::Entry| format!("  {:<10} {}\n", entry.name, entry.shape);
    format!("Formats, with a row of each:\n{}", format::TABLE.iter().map(line).collect::<String>())
}

/// The table of formats that can be written.
fn formats_out() -> String {
    let line = |format: &format_out::Format| {
        let ending = format!(".{}", format.endings[0]);
        format!("  {:<10} {ending:<15} {}\n", format.name, format.about)
    };
    format!(
        "Formats to write, with their endings:\n{}",
        format_out::TABLE.iter().map(line).collect::<String>()
    )
}
