//! Wall time by stage: every moment from the start of the program to its result belongs to one stage.

use lazyglm::Report;
use serde_json::Value;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::time::Instant;

static STARTED: OnceLock<Instant> = OnceLock::new();

/// A stage of a run.
#[derive(Clone, Copy)]
pub enum Stage {
    /// Read data and other files.
    Read,
    /// Search for a penalty or a learning rate, and prepare training otherwise.
    Search,
    /// Train.
    Train,
    /// Evaluate a model on rows.
    Evaluate,
    /// Write a model or results, and free the memory.
    Write,
}

const NAMES: [&str; 5] = ["read", "search", "train", "evaluate", "write"];

/// The time of each stage so far, in seconds.
pub struct Stages {
    seconds: [f64; 5],
    counted: Instant,
}

impl Stages {
    /// Remembers when the program started.
    pub fn start() {
        STARTED.get_or_init(Instant::now);
    }

    /// Creates the clock of a verb. Its first stage begins at the start of the program.
    pub fn new() -> Stages {
        Stages { seconds: [0.0; 5], counted: *STARTED.get_or_init(Instant::now) }
    }

    /// Ends a stage: the time since the last stage ended belongs to it.
    pub fn end(&mut self, stage: Stage) {
        let now = Instant::now();
        self.seconds[stage as usize] += now.duration_since(self.counted).as_secs_f64();
        self.counted = now;
    }

    /// Ends a call of `train`, which reports the time of its own stages.
    pub fn end_training(&mut self, report: &Report) {
        self.seconds[Stage::Train as usize] += report.seconds_train;
        self.seconds[Stage::Evaluate as usize] += report.seconds_evaluate;
        self.end(Stage::Search);
        self.seconds[Stage::Search as usize] -= report.seconds_train + report.seconds_evaluate;
    }

    /// The seconds of a stage.
    pub fn of(&self, stage: Stage) -> f64 {
        self.seconds[stage as usize]
    }

    /// Writes the seconds of all stages into a report.
    pub fn fill(&self, report: &mut Report) {
        [
            report.seconds_read,
            report.seconds_search,
            report.seconds_train,
            report.seconds_evaluate,
            report.seconds_write,
        ] = self.seconds;
    }

    /// Adds `seconds_read` and so on to a JSON object.
    pub fn add_to(&self, mut json: Value) -> Value {
        for (name, seconds) in NAMES.iter().zip(self.seconds) {
            json[format!("seconds_{name}")] = seconds.into();
        }
        json
    }

    /// Prints the table of `--timings` on standard error, without stages that a verb does not have.
    pub fn print(&self, asked: bool) {
        let total: f64 = self.seconds.iter().sum();
        let line = |name: &str, seconds: f64| {
            let share = 100.0 * seconds / total;
            let _ = writeln!(io::stderr(), "{name:<10} {seconds:>9.3} s {share:>6.1} %"); // as for notes
        };
        if asked {
            let stages = NAMES.iter().zip(self.seconds).filter(|(_, seconds)| *seconds > 0.0);
            stages.for_each(|(name, seconds)| line(name, seconds));
            line("total", total);
        }
    }
}
