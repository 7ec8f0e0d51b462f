//! `lazyglm completions` and `lazyglm man`: files for the shell, written from the same declarations as `--help`.

use crate::args::Args;
use crate::print;
use clap::CommandFactory;
use lazyglm::{Error, Result};
use std::fs;
use std::path::Path;

/// Prints a completion script for a shell.
pub fn completions(shell: clap_complete::Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "lazyglm", &mut script);
    print::result(|out| out.write_all(&script))
}

/// Writes a manual page for the program and for each verb into a folder, which is made if it is missing.
pub fn man(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|cause| cannot_write(folder, cause))?;
    let mut program = Args::command();
    program.build(); // propagates the version and the names of the verbs
    let verbs = program.get_subcommands().filter(|verb| verb.get_name() != "help");
    for command in std::iter::once(&program).chain(verbs) {
        let name = command.get_display_name().unwrap_or(command.get_name()).replace(' ', "-");
        let mut page = Vec::new();
        let path = folder.join(format!("{name}.1"));
        clap_mangen::Man::new(command.clone())
            .render(&mut page)
            .map_err(|cause| cannot_write(&path, cause))?;
        fs::write(&path, page).map_err(|cause| cannot_write(&path, cause))?;
    }
    Ok(())
}

fn cannot_write(path: &Path, cause: std::io::Error) -> Error {
    Error::io(path, cause, "name a folder that can be written to")
}
