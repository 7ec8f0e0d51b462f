//! `lazyglm`: sparse linear models with exact elastic-net regularisation, from the command line.
//!
//! A library, so that the Python package can bring the program along: [`run`] is the whole program.
//! `args` parses the arguments, `plan` turns them into settings, and `verbs` has one file per verb. Results go to
//! standard output, notes and progress to standard error. The exit code is 0 for success, 1 for a failure of the data
//! or the run, and 2 for a wrong call.

#![forbid(unsafe_code)]

mod args;
mod checkpoint;
mod exact;
mod foreign;
mod grid;
mod harmless;
mod messages;
mod no_effect;
mod offsets;
mod plan;
mod print;
mod progress;
mod signals;
mod stages;
mod timing;
mod verbs;
mod warm_start;
mod wrong_call;

use clap::Parser;
use lazyglm::{Kind, Result};
use std::ffi::OsString;

/// Runs the program with these arguments, the first of which is its name, and returns its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    stages::Stages::start();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let done = match args::Args::try_parse_from(&arguments) {
        Ok(args) => run_verb(args),
        Err(told) if told.use_stderr() => {
            match foreign::error(&told).or_else(|| wrong_call::error(&told, &arguments)) {
                Some(error) => print::error(&error),
                None => drop(told.print()), // with standard error gone, there is nobody to tell
            }
            return 2;
        }
        Err(told) => help(&told),
    };
    match done {
        Ok(()) => 0,
        Err(error) if error.is_broken_pipe() => 0, // `| head` has seen enough
        Err(error) => {
            print::error(&error);
            match error.kind() {
                Kind::Call { .. } => 2,
                Kind::Interrupted => u8::try_from(signals::exit_code()).unwrap_or(1),
                _ => 1,
            }
        }
    }
}

/// Prints what `--help` or `--version` asks for.
fn help(told: &clap::Error) -> Result<()> {
    print::check_standard_output()?;
    told.print().map_err(print::cannot_print)
}

fn run_verb(mut args: args::Args) -> Result<()> {
    messages::silence(std::mem::take(&mut args.silence));
    signals::install();
    if args.prints() {
        print::check_standard_output()?;
    }
    match args.verb {
        args::Verb::Train(args) => verbs::train::run(*args),
        args::Verb::Tune(args) => verbs::tune::run(*args),
        args::Verb::Path(args) => verbs::path::run(*args),
        args::Verb::Predict(args) => verbs::predict::run(&args),
        args::Verb::Evaluate(args) => verbs::evaluate::run(&args),
        args::Verb::Certify(args) => verbs::certify::run(&args),
        args::Verb::Inspect(args) => verbs::inspect::run(&args),
        args::Verb::Stats(args) => verbs::stats::run(&args),
        args::Verb::Convert(args) => verbs::convert::run(&args),
        args::Verb::List { table } => print::result(|out| write!(out, "{}", table.text())),
        args::Verb::Demo { data: Some(folder) } => verbs::demo_data::write(&folder),
        args::Verb::Demo { data: None } => verbs::demo::run(),
        args::Verb::Completions { shell } => verbs::shell::completions(shell),
        args::Verb::Man { folder } => verbs::shell::man(&folder),
        args::Verb::Bench(args::Bench::Paper(args)) => verbs::bench_paper::run(&args),
        args::Verb::Bench(args::Bench::Lanes(args)) => verbs::bench_lanes::run(&args),
    }
}
