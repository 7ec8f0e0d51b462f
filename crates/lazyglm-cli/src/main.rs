//! The program `lazyglm`: see [`lazyglm_cli::run`].

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(lazyglm_cli::run(std::env::args_os()))
}
