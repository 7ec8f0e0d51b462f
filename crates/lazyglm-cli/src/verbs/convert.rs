//! `lazyglm convert IN OUT`: converts data to another format.

use crate::args::Convert;
use crate::plan;
use crate::print::{count, note, standard_output};
use crate::progress::Waiting;
use crate::verbs::common::use_threads;
use lazyglm::{Error, Result, convert, data::format::write};

/// Runs the verb.
pub fn run(args: &Convert) -> Result<()> {
    let asked = plan::asked(&args.reading)?;
    let to_standard_output = args.output.as_os_str() == "-";
    if to_standard_output && args.to.is_none() {
        return Err(Error::call(
            "standard output has no name that tells the format",
            "name it, as in --to svmlight",
        ));
    }
    let format = write::find(&args.output, args.to.as_deref())?;
    use_threads(args.threads)?;
    if to_standard_output {
        let mut out = standard_output();
        let done = convert::convert_to(&args.data, &asked, format, &mut out)?;
        done.notes.iter().for_each(|text| note(args.quiet, text));
        return Ok(());
    }
    let waiting = Waiting::new(args.quiet, "converting", &args.data);
    let done = convert::convert(&args.data, &asked, &args.output, format)?;
    drop(waiting);
    done.notes.iter().for_each(|text| note(args.quiet, text));
    let listed = match &done.names {
        Some(names) => format!(", the names of its features to {}", names.display()),
        None => String::new(),
    };
    let (rows, output) = (count(done.rows), args.output.display());
    note(args.quiet, &format!("wrote {rows} rows as {} to {output}{listed}", format.name));
    Ok(())
}
