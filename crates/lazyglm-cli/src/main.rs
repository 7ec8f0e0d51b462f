//! `lazyglm`: sparse linear models with exact elastic-net regularisation, from the command line.
//!
//! [`args`] parses the arguments, [`plan`] turns them into settings, and [`verbs`] has one file per verb. Results go to
//! standard output, notes and progress to standard error. The exit code is 0 for success, 1 for a failure of the data
//! or the run, and 2 for a wrong call.

#![forbid(unsafe_code)]

mod args;
mod exact;
mod grid;
mod harmless;
mod offsets;
mod plan;
mod print;
mod progress;
mod stages;
mod timing;
mod verbs;
mod warm_start;

use clap::Parser;
use lazyglm::{Kind, Result};
use std::process::ExitCode;

fn main() -> ExitCode {
    stages::Stages::start();
    let done = match args::Args::try_parse() {
        Ok(args) => run(args),
        Err(told) if told.use_stderr() => told.exit(),
        Err(told) => help(&told),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS, // `| head` has seen enough
        Err(error) => {
            print::error(&error);
            ExitCode::from(match error.kind() {
                Kind::Call { .. } => 2,
                Kind::Interrupted => 130, // the exit code of shells for a program that Ctrl-C ended
                _ => 1,
            })
        }
    }
}

/// Prints what `--help` or `--version` asks for.
fn help(told: &clap::Error) -> Result<()> {
    print::check_standard_output()?;
    told.print().map_err(print::cannot_print)
}

fn run(args: args::Args) -> Result<()> {
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
        args::Verb::Bench(args::Bench::Paper(args)) => verbs::bench_paper::run(&args),
        args::Verb::Bench(args::Bench::Lanes(args)) => verbs::bench_lanes::run(&args),
    }
}
