//! `--checkpoint`, `--every` and `--resume`: opens the journal of a run, and ends it.

use crate::args::Train;
use crate::print::{self, note, warning};
use crate::verbs::common::refuse_same;
use lazyglm::util::{checkpoint::Checkpoint, files};
use lazyglm::{CacheMode, Error, Kind, Place, Problem, Result, Settings, Source, Task};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The journal of a run, if the flags ask for one.
pub struct Journal {
    checkpoint: Option<Arc<Checkpoint>>,
    quiet: bool,
}

/// Rejects flags that do not go together, before the data are read.
pub fn check(args: &Train) -> Result<()> {
    let Some(file) = &args.checkpoint else { return Ok(()) };
    if file.as_os_str() == "-" {
        return Err(Error::call(
            "a checkpoint cannot go to standard output",
            "give --checkpoint the name of a file",
        ));
    }
    let refuse = |other: &Path| refuse_same("--checkpoint", file, other);
    refuse(&args.data)?;
    args.output.iter().try_for_each(|output| refuse(output))?;
    if let CacheMode::File(cache) = CacheMode::parse(&args.cache) {
        refuse(&cache)?;
    }
    files::check_writable(file)
}

impl Journal {
    /// Opens the journal of a verb, and enters it into the settings. `search` has the settings of a search, one per line.
    pub fn open(
        args: &Train,
        verb: &str,
        settings: &mut Settings,
        (problem, held_out): (&dyn Problem, Option<&Task>),
        search: &str,
    ) -> Result<Journal> {
        let quiet = args.quiet;
        let Some(file) = &args.checkpoint else { return Ok(Journal { checkpoint: None, quiet }) };
        let data = problem.fingerprint()?;
        let data = match held_out {
            None => data,
            Some(task) => data.and_key(task.fingerprint()?),
        };
        let data = (data, problem.features().columns());
        let arrays = [&args.start, &args.penalty_factor].map(|file| file.is_some());
        let text = format!(
            "verb: {verb}\nloss: {}\nscale: {}\n{}weights, factors and bounds: {arrays:?} {:?}\n{search}",
            problem.loss().spec(),
            args.scale,
            settings.text(),
            settings.key(),
        );
        let checkpoint =
            Checkpoint::open(file, args.every, args.resume, data, &text)?.warning(move |error| {
                warning(&format!("the checkpoint cannot be written, and the run goes on: {error}"));
            });
        if args.resume {
            let file = Place::file(file);
            note(
                quiet,
                &match checkpoint.existed() {
                    true => format!("the run goes on from {file}"),
                    false => format!("there is no {file} yet: the run begins at its start"),
                },
            );
        }
        let checkpoint = Some(Arc::new(checkpoint));
        settings.checkpoint = checkpoint.clone();
        Ok(Journal { checkpoint, quiet })
    }

    /// When the run would have begun if it had not been interrupted: the time of earlier runs counts for a time limit.
    pub fn begun(&self, now: Instant) -> Instant {
        let spent = self.checkpoint.as_ref().map_or(Duration::ZERO, |checkpoint| checkpoint.spent());
        now.checked_sub(spent).unwrap_or(now)
    }

    /// Passes a result on. If the run was interrupted before it had a model, prints how many penalties had been tried, writes
    /// the checkpoint and prints how to resume.
    pub fn told<T>(&self, result: Result<T>, tried: u64) -> Result<T> {
        if matches!(&result, Err(error) if matches!(error.kind(), Kind::Interrupted)) {
            if tried > 0 {
                note(self.quiet, &format!("penalties tried so far: {}", print::count(tried)));
            }
            self.interrupted()?;
        }
        result
    }

    /// Writes the checkpoint of an interrupted run, and tells how to resume, with --quiet as well.
    pub fn interrupted(&self) -> Result<()> {
        let Some(checkpoint) = &self.checkpoint else { return Ok(()) };
        checkpoint.write()?;
        let units = match checkpoint.units() {
            1 => "1 unit".to_string(),
            units => format!("{} units", print::count(units as u64)),
        };
        let file = Place::file(checkpoint.path());
        warning(&format!("interrupted: the checkpoint is in {file}, with {units} of finished work"));
        print::help(&format!("go on with: {}", command()));
        Ok(())
    }

    /// Removes the checkpoint of a run that is done.
    pub fn finish(&self) -> Result<()> {
        let Some(checkpoint) = &self.checkpoint else { return Ok(()) };
        checkpoint.remove_file()
    }
}

/// The command line of this run, with `--resume`.
fn command() -> String {
    let mut words: Vec<String> = std::env::args().map(|word| quoted(&word)).collect();
    if !words.iter().any(|word| word == "--resume") {
        words.push("--resume".into());
    }
    words.join(" ")
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
