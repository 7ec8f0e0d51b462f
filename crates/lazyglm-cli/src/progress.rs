//! Progress of a long run: a bar or a spinner on a terminal, plain lines elsewhere, nothing when quiet.
//!
//! Nothing is shown in the first second. A file is read with a bar of its bytes. Where the amount of work is not known (Newton steps,
//! a pipe), a spinner shows the seconds so far instead of a guess; a search says of about how many penalties it is.

use crate::args::ShowProgress;
use crate::print::{count, decimals};
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use lazyglm::data::bytes::bytes_read;
use lazyglm::{Progress, Stage, escaped};
use std::io::{IsTerminal, Write, stderr};
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Seconds between two progress lines within one epoch.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Number of penalties that a search usually tries. It ends by itself, so that nobody knows the number before.
const ABOUT: u64 = 24;

/// Number of penalties that a search counts on at any time: the next steps of its last rays.
const MORE: u64 = 3;

/// Files of fewer bytes are read in far less than a second. Their progress needs no thread, which would reserve memory.
const SMALL: u64 = 1 << 20;

/// Time between two updates of a bar.
const TICK: Duration = Duration::from_millis(200);

/// Shortest time between two progress lines, and before anything is shown.
const AFTER: Duration = Duration::from_secs(1);

/// Display of the progress of a training run.
pub struct Display {
    kind: DisplayKind,
    label: &'static str, // what is being searched for
    searching: Instant,  // since when
}

/// How progress is displayed.
enum DisplayKind {
    /// No display.
    Quiet,
    /// A progress bar or a spinner, on a terminal.
    Bar(Bar),
    /// Lines, with at least this time between two of them. Holds the times of the start and of the last line.
    Lines(Duration, Instant, Instant),
}

use DisplayKind as Kind;

impl Display {
    /// Chooses the display: a bar if standard error is a terminal, else lines.
    pub fn new(show: ShowProgress) -> Display {
        let now = Instant::now();
        let kind = match show {
            ShowProgress::None => Kind::Quiet,
            ShowProgress::Lines => Kind::Lines(Duration::ZERO, now, now),
            ShowProgress::Auto if stderr().is_terminal() => Kind::Bar(Bar::new()),
            ShowProgress::Auto => Kind::Lines(AFTER, now, now),
        };
        Display { kind, label: "", searching: now }
    }

    /// Begins another search, with a label before its progress; an empty one for the main search.
    pub fn search(&mut self, label: &'static str) {
        (self.label, self.searching) = (label, Instant::now());
    }

    /// Updates the display.
    pub fn see(&mut self, progress: &Progress) {
        let (label, searching) = (self.label, self.searching);
        let since = |started: Instant| if progress.stage == Stage::Choosing { searching } else { started };
        match &mut self.kind {
            Kind::Quiet => {}
            Kind::Bar(bar) => bar.see(progress, label, since(bar.started)),
            Kind::Lines(least, started, last) => {
                let wait = if progress.epoch_ends { *least } else { LINE_EVERY };
                if last.elapsed() >= wait {
                    *last = Instant::now();
                    let share = match progress.stage {
                        Stage::Learning => {
                            format!("{:>3}% · ", 100 * progress.learnt / progress.total.max(1))
                        }
                        _ => String::new(), // nobody knows of how many
                    };
                    let _ = writeln!(stderr(), "{share}{}", words(progress, since(*started), label));
                }
            }
        }
    }

    /// Ends the display and removes the bar.
    pub fn finish(self) {
        if let Kind::Bar(bar) = self.kind {
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

    fn see(&mut self, progress: &Progress, label: &str, since: Instant) {
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
        self.bar.set_message(words(progress, since, label));
    }

    /// Shows the bar of a stage in place of the last one.
    fn begin(&mut self, stage: Stage) {
        self.bar.finish_and_clear();
        self.bar = match stage {
            Stage::Learning => bar("{percent:>3}% {bar:20.cyan/blue} {eta} left · {wide_msg}"),
            _ => spinner(self.started),
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

/// Progress of work on a file: a bar if bytes of the file are counted, a spinner if not, lines without a terminal. It appears after
/// one second, and goes when dropped.
pub struct Waiting(Option<(Sender<()>, JoinHandle<()>)>);

impl Waiting {
    /// Starts to wait for work on a file: `evaluating test.svm`.
    pub fn new(quiet: bool, what: &str, file: &Path) -> Waiting {
        let found = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file);
        if quiet || found.as_ref().is_some_and(|found| found.len() < SMALL) {
            return Waiting(None);
        }
        let reading = Reading {
            what: escaped(&format!("{what} {}", file.display())).into_owned(),
            size: found.map_or(0, |found| found.len()),
            before: bytes_read(),
            started: Instant::now(),
        };
        let (done, ended): (Sender<()>, Receiver<()>) = channel();
        let thread = std::thread::Builder::new().spawn(move || {
            if ended.recv_timeout(AFTER) == Err(RecvTimeoutError::Timeout) {
                match stderr().is_terminal() {
                    true => reading.show(&ended),
                    false => reading.tell(&ended),
                }
            }
        });
        Waiting(thread.ok().map(|thread| (done, thread)))
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

/// A file that is being read.
struct Reading {
    what: String,
    size: u64,   // of the file; 0 if it is not known
    before: u64, // bytes that were read before
    started: Instant,
}

impl Reading {
    /// Bytes of the file that were read. A file that is read twice begins anew.
    fn done(&self) -> u64 {
        let read = bytes_read() - self.before;
        if self.size > 0 && read > self.size { read % self.size } else { read }
    }

    /// Shows a bar or a spinner until the work is done.
    fn show(&self, ended: &Receiver<()>) {
        let known = self.size > 0 && self.done() > 0;
        let shown = match known {
            true => {
                bar("{percent:>3}% {bar:20.cyan/blue} {bytes} of {total_bytes} · {eta} left · {wide_msg}")
                    .with_elapsed(self.started.elapsed())
            }
            false => spinner(self.started),
        };
        shown.set_message(self.what.clone());
        shown.set_length(self.size);
        loop {
            if known {
                shown.set_position(self.done());
            }
            if ended.recv_timeout(TICK) != Err(RecvTimeoutError::Timeout) {
                break; // the sender is gone, so the work is done
            }
        }
        shown.finish_and_clear();
    }

    /// Prints a line now and every ten seconds until the work is done.
    fn tell(&self, ended: &Receiver<()>) {
        loop {
            let (done, seconds) = (self.done(), self.started.elapsed().as_secs());
            let share = match (self.size, done) {
                (0, 0) | (_, 0) => String::new(),
                (0, _) => format!(" · {}", HumanBytes(done)),
                (size, _) => {
                    format!(" · {} of {} ({}%)", HumanBytes(done), HumanBytes(size), 100 * done / size)
                }
            };
            let _ = writeln!(stderr(), "{}{share} · {seconds} s", self.what);
            if ended.recv_timeout(LINE_EVERY) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        }
    }
}

/// Progress of work with a known number of parts, which many threads report: a bar, or lines without a terminal.
pub struct Counted {
    bar: ProgressBar,
    what: &'static str,
    lines: Option<Duration>,
    started: Instant,
    last: Mutex<Instant>,
}

impl Counted {
    /// Starts the display. It shows nothing in the first second.
    pub fn new(show: ShowProgress, what: &'static str) -> Counted {
        let (started, terminal) = (Instant::now(), stderr().is_terminal());
        let bar = match show {
            ShowProgress::Auto if terminal => bar("{percent:>3}% {bar:20.cyan/blue} {eta} left · {wide_msg}"),
            _ => ProgressBar::hidden(),
        };
        let lines = match show {
            ShowProgress::None => None,
            ShowProgress::Lines => Some(Duration::ZERO),
            ShowProgress::Auto => (!terminal).then_some(AFTER),
        };
        Counted { bar, what, lines, started, last: Mutex::new(started) }
    }

    /// Updates the display: so many parts of a total are done.
    pub fn see(&self, done: u64, total: u64) {
        let text = format!("{} of {} {}", count(done), count(total), self.what);
        if self.started.elapsed() >= AFTER {
            self.bar.set_length(total);
            self.bar.set_position(done);
            self.bar.set_message(text.clone());
        }
        let Some(least) = self.lines else { return };
        let Ok(mut last) = self.last.lock() else { return };
        if last.elapsed() >= least {
            *last = Instant::now();
            let share = 100 * done / total.max(1);
            let left = left(self.started.elapsed(), done, total);
            let _ = writeln!(stderr(), "{share:>3}% · {text}{left}");
        }
    }

    /// Ends the display and removes the bar.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// The time that is left: ` · about 12 s left`.
fn left(elapsed: Duration, done: u64, total: u64) -> String {
    if done == 0 || done >= total {
        return String::new();
    }
    let seconds = elapsed.as_secs_f64() * (total - done) as f64 / done as f64;
    match seconds {
        s if s < 1.0 => String::new(),
        s if s < 100.0 => format!(" · about {s:.0} s left"),
        s => format!(" · about {:.0} min left", s / 60.0),
    }
}

fn words(progress: &Progress, started: Instant, label: &str) -> String {
    let speed = progress.learnt as f64 / started.elapsed().as_secs_f64().max(1e-9);
    let Progress { epoch, epochs, running_loss, .. } = progress;
    let mut text = match progress.stage {
        Stage::Learning => {
            let loss = decimals(*running_loss, 5);
            format!("{} rows/s · epoch {epoch}/{epochs} · loss {loss}", count(speed as u64))
        }
        Stage::Minimising => format!("step {epoch} · objective {}", decimals(*running_loss, 8)),
        _ => {
            let about = ABOUT.max(epoch + MORE);
            let left = left(started.elapsed(), *epoch, about);
            format!("{label}penalty {epoch} of about {about}{left}")
        }
    };
    if let Some(nonzeros) = progress.nonzeros {
        text += &format!(" · {} non-zeros", count(nonzeros as u64));
    }
    if let Some(loss) = progress.validation_loss {
        text += &format!(" · held-out {}", decimals(loss, 5));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_that_of_the_parts_left_at_the_speed_so_far() {
        let after = |seconds, done, total| left(Duration::from_secs(seconds), done, total);
        assert_eq!(after(10, 5, 10), " · about 10 s left");
        assert_eq!(after(600, 1, 3), " · about 20 min left");
        assert_eq!(after(10, 0, 10), "", "nobody knows before the first part is done");
        assert_eq!(after(10, 10, 10), "");
        assert_eq!(after(1, 9, 10), "", "less than a second");
    }
}
