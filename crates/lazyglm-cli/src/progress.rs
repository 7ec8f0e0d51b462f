//! Progress of a long run: a bar on a terminal, plain lines elsewhere, nothing when quiet.

use crate::print::count;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lazyglm::{Progress, Stage};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Seconds between two progress lines of one epoch.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Display of the progress of a training run.
pub enum Display {
    /// No display.
    Quiet,
    /// A progress bar, on a terminal.
    Bar(ProgressBar, Instant),
    /// One line per epoch, and one every few seconds. Holds the times of the start and of the last line.
    Lines(Instant, Instant),
}

impl Display {
    /// Chooses the display: a bar if standard error is a terminal, else lines.
    pub fn new(quiet: bool) -> Display {
        if quiet {
            return Display::Quiet;
        }
        if !std::io::stderr().is_terminal() {
            return Display::Lines(Instant::now(), Instant::now());
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
        let look = "{percent:>3}% {bar:20.cyan/blue} {eta} left · {wide_msg}"; // cut to the terminal's width
        if let Ok(style) = ProgressStyle::with_template(look) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        Display::Bar(bar, Instant::now())
    }

    /// Updates the display.
    pub fn see(&mut self, progress: &Progress) {
        match self {
            Display::Quiet => {}
            Display::Bar(bar, started) => {
                bar.set_length(progress.total);
                bar.set_position(progress.learnt);
                bar.set_message(words(progress, *started));
            }
            Display::Lines(started, last) if progress.epoch_ends || last.elapsed() > LINE_EVERY => {
                *last = Instant::now();
                let share = match progress.stage {
                    Stage::Learning => format!("{:>3}% · ", 100 * progress.learnt / progress.total.max(1)),
                    Stage::Minimising | Stage::Choosing => String::new(), // nobody knows of how many
                };
                let _ = writeln!(std::io::stderr(), "{share}{}", words(progress, *started));
            }
            Display::Lines(..) => {}
        }
    }

    /// Ends the display and removes the bar.
    pub fn finish(self) {
        if let Display::Bar(bar, _) = self {
            bar.finish_and_clear();
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
