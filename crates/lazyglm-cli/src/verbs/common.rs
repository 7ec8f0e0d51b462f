//! Checks and setup that several verbs share.

use lazyglm::{Error, Result, util::files};
use std::path::Path;

/// Largest number of threads, as of `--threads`.
const MOST_THREADS: usize = 1024;

/// The variable by which rayon takes a number of threads.
const VARIABLE: &str = "RAYON_NUM_THREADS";

/// Sets the number of threads, if it was given.
pub fn use_threads(threads: Option<u32>) -> Result<()> {
    let Some(threads) = threads else {
        let asked = std::env::var(VARIABLE).ok().and_then(|number| number.parse::<usize>().ok());
        return match asked {
            Some(threads) if threads > MOST_THREADS => Err(Error::call(
                format!("{VARIABLE} asks for {threads} threads, and {MOST_THREADS} are the most"),
                "lower or unset the variable, or give --threads",
            )),
            _ => Ok(()),
        };
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads as usize).build_global();
    pool.map_err(|e| Error::call(format!("cannot start --threads {threads}: {e}"), "leave --threads out"))
}

/// Rejects the file of this flag, which is to be written, if it is also a file that the run reads or writes otherwise.
pub fn refuse_same(flag: &str, output: &Path, data: &Path) -> Result<()> {
    match files::same_file(output, data) {
        false => Ok(()),
        true => Err(Error::call(
            format!("{flag} {} would replace {}", output.display(), data.display()),
            format!("give {flag} another file"),
        )),
    }
}

/// Rejects a model file that cannot be written, now and not after training.
pub fn writable(output: &Path, data: &Path) -> Result<()> {
    if output.as_os_str() == "-" {
        return Err(Error::call("a model cannot go to standard output", "give -o the name of a file"));
    }
    refuse_same("-o", output, data)?;
    files::check_writable(output)
}
