//! Progress of a long run: a bar on a terminal, plain lines elsewhere, nothing when quiet.

use crate::print::count;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lazyglm::Progress;
use std::io::{IsTerminal, Write};
use std::time::Instant;

/// Shows how a run is getting on.
pub enum Display {
    /// Nothing.
    Quiet,
    /// A bar that is redrawn.
    Bar(ProgressBar),
    /// A line an epoch.
    Lines {
        /// When the run began.
        started: Instant,
    },
}

impl Display {
    /// Chooses by where standard error goes.
    pub fn new(quiet: bool) -> Display {
        if quiet {
            return Display::Quiet;
        }
        if !std::io::stderr().is_terminal() {
            return Display::Lines { started: Instant::now() };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
        let look = "{percent:>3}% {bar:28.cyan/blue} {per_sec} rows, {eta} left · {msg}";
        if let Ok(style) = ProgressStyle::with_template(look) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        Display::Bar(bar)
    }

    /// Another part of the run is done.
    pub fn see(&mut self, progress: &Progress) {
        match self {
            Display::Quiet => {}
            Display::Bar(bar) => {
                bar.set_length(progress.total);
                bar.set_position(progress.learnt);
                bar.set_message(words(progress));
            }
            Display::Lines { started } if progress.epoch_ends => {
                let share = 100 * progress.learnt / progress.total.max(1);
                let speed = progress.learnt as f64 / started.elapsed().as_secs_f64().max(1e-9);
                let line = format!("{share:>3}% · {} rows/s · {}", count(speed as u64), words(progress));
                let _ = writeln!(std::io::stderr(), "{line}");
            }
            Display::Lines { .. } => {}
        }
    }

    /// The run is over: leaves no half-drawn bar behind.
    pub fn finish(self) {
        if let Display::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

fn words(progress: &Progress) -> String {
    let mut text =
        format!("epoch {}/{} · loss {:.5}", progress.epoch, progress.epochs, progress.running_loss);
    if let Some(nonzeros) = progress.nonzeros {
        text += &format!(" · {} non-zeros", count(nonzeros as u64));
    }
    if let Some(loss) = progress.validation_loss {
        text += &format!(" · held-out {loss:.5}");
    }
    text
}
