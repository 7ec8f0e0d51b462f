//! Progress of a long run: a bar or a spinner on a terminal, plain lines elsewhere, nothing when quiet.
//!
//! Nothing is shown in the first second. Where the amount of work is not known (a search, Newton steps, reading), a
//! spinner shows the seconds so far instead of a guess.

use crate::args::ShowProgress;
use crate::print::count;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use lazyglm::{Progress, Stage, escaped};
use std::io::{IsTerminal, Write, stderr};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Seconds between two progress lines within one epoch.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shortest time between two progress lines, and before anything is shown.
const AFTER: Duration = Duration::from_secs(1);

/// Display of the progress of a training run.
pub enum Display {
    /// No display.
    Quiet,
    /// A progress bar or a spinner, on a terminal.
    Bar(Bar),
    /// Lines, with at least this time between two of them. Holds the times of the start and of the last line.
    Lines(Duration, Instant, Instant),
}

impl Display {
    /// Chooses the display: a bar if standard error is a terminal, else lines.
    pub fn new(show: ShowProgress) -> Display {
        let now = Instant::now();
        match show {
            ShowProgress::None => Display::Quiet,
            ShowProgress::Lines => Display::Lines(Duration::ZERO, now, now),
            ShowProgress::Auto if stderr().is_terminal() => Display::Bar(Bar::new()),
            ShowProgress::Auto => Display::Lines(AFTER, now, now),
        }
    }

    /// Updates the display.
    pub fn see(&mut self, progress: &Progress) {
        match self {
            Display::Quiet => {}
            Display::Bar(bar) => bar.see(progress),
            Display::Lines(least, started, last) => {
                let wait = if progress.epoch_ends { *least } else { LINE_EVERY };
                if last.elapsed() >= wait {
                    *last = Instant::now();
                    let share = match progress.stage {
                        Stage::Learning => {
                            format!("{:>3}% · ", 100 * progress.learnt / progress.total.max(1))
                        }
                        Stage::Minimising | Stage::Choosing => String::new(), // nobody knows of how many
                    };
                    let _ = writeln!(stderr(), "{share}{}", words(progress, *started));
                }
            }
        }
    }

    /// Ends the display and removes the bar.
    pub fn finish(self) {
        if let Display::Bar(bar) = self {
            bar.bar.finish_and_clear();
        }
    }
}

/// A bar for steps whose number is known, and a spinner for others.
pub struct Bar {
    bar: ProgressBar,
    started: Instant,
    stage: Option<Stage>,
}

impl Bar {
    fn new() -> Bar {
        Bar { bar: ProgressBar::hidden(), started: Instant::now(), stage: None }
    }

    fn see(&mut self, progress: &Progress) {
        if self.started.elapsed() < AFTER {
            return;
        }
        if self.stage != Some(progress.stage) {
            self.begin(progress.stage);
        }
        if progress.stage == Stage::Learning {
            self.bar.set_length(progress.total);
            self.bar.set_position(progress.learnt);
        }
        self.bar.set_message(words(progress, self.started));
    }

    /// Shows the bar of a stage in place of the last one.
    fn begin(&mut self, stage: Stage) {
        self.bar.finish_and_clear();
        self.bar = match stage {
            Stage::Learning => bar("{percent:>3}% {bar:20.cyan/blue} {eta} left · {wide_msg}"),
            Stage::Minimising | Stage::Choosing => spinner(self.started),
        };
        self.stage = Some(stage);
    }
}

/// A bar on standard error with this look, which is cut to the width of the terminal.
pub fn bar(look: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template(look) {
        bar.set_style(style.progress_chars("━╸─"));
    }
    bar
}

/// A spinner that counts the seconds since a moment and turns by itself.
fn spinner(since: Instant) -> ProgressBar {
    let spinner = bar("{spinner:.cyan} {elapsed} · {wide_msg}").with_elapsed(since.elapsed());
    spinner.enable_steady_tick(Duration::from_millis(200));
    spinner
}

/// A spinner for work without steps, such as reading. It appears after one second, and goes when dropped.
pub struct Waiting(Option<(Sender<()>, JoinHandle<()>)>);

impl Waiting {
    /// Starts to wait for work on a file: `evaluating test.svm (26 MB)`.
    pub fn new(quiet: bool, what: &str, file: &Path) -> Waiting {
        if quiet || !stderr().is_terminal() {
            return Waiting(None);
        }
        let bytes = std::fs::metadata(file).map_or(0, |found| found.len());
        let size = if bytes > 0 { format!(" ({})", HumanBytes(bytes)) } else { String::new() };
        let what = escaped(&format!("{what} {}{size}", file.display())).into_owned();
        let (done, ended): (Sender<()>, Receiver<()>) = channel();
        let started = Instant::now();
        let thread = std::thread::spawn(move || {
            if ended.recv_timeout(AFTER) == Err(RecvTimeoutError::Timeout) {
                let spinner = spinner(started);
                spinner.set_message(what);
                let _ = ended.recv(); // an error: the sender is gone, so the work is done
                spinner.finish_and_clear();
            }
        });
        Waiting(Some((done, thread)))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.0.take() {
            drop(done);
            let _ = thread.join(); // the line is free again
        }
    }
}

fn words(progress: &Progress, started: Instant) -> String {
    let speed = progress.learnt as f64 / started.elapsed().as_secs_f64().max(1e-9);
    let Progress { epoch, epochs, running_loss, .. } = progress;
    let mut text = match progress.stage {
        Stage::Learning => {
            format!("{} rows/s · epoch {epoch}/{epochs} · loss {running_loss:.5}", count(speed as u64))
        }
        Stage::Minimising => format!("step {epoch} · objective {running_loss:.8}"),
        Stage::Choosing => format!("penalty {epoch}"),
    };
    if let Some(nonzeros) = progress.nonzeros {
        text += &format!(" · {} non-zeros", count(nonzeros as u64));
    }
    if let Some(loss) = progress.validation_loss {
        text += &format!(" · held-out {loss:.5}");
    }
    text
}
