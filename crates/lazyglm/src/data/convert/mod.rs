//! Converts data from one format to another, block by block. Memory grows at most with the names of features.
//!
//! ```
//! use lazyglm::{convert, data::format::write};
//! let file = |name: &str| std::env::temp_dir().join("lazyglm-doc-convert".to_string() + name);
//! std::fs::write(file(".vw"), "spam 2 |words viagra:0.5 offer\nham | meeting\n").unwrap();
//! let (from, to) = (file(".vw"), file(".svm"));
//! let done = convert::convert(&from, &Default::default(), &to, write::find(&to, None).unwrap()).unwrap();
//! assert_eq!(std::fs::read_to_string(&to).unwrap(), "spam 1:0.5 2:1\nham 3:1\n");
//! let names = std::fs::read_to_string(done.names.unwrap()).unwrap();
//! assert_eq!(names, "1\twords^viagra\n2\twords^offer\n3\tmeeting\n");
//! assert!(done.notes[0].contains("1 row has a weight of its own, which svmlight cannot hold"));
//! ```

mod columns;
mod conversion;

use crate::data::format::ReadOptions;
use crate::data::format::write::{Csv, Format, Jsonl, Svmlight, Vw, Writer};
use crate::data::loader;
use crate::util::error::{Error, Result};
use crate::util::files;
use conversion::Conversion;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Result of a conversion.
///
/// ```
/// use lazyglm::{convert, data::format::write};
/// let file = std::env::temp_dir().join("lazyglm-doc-converted.svm");
/// std::fs::write(&file, "1 1:0.50 7:2\n").unwrap();
/// let (mut out, vw) = (Vec::new(), write::find("a.vw".as_ref(), None).unwrap());
/// let done = convert::convert_to(&file, &Default::default(), vw, &mut out).unwrap();
/// assert_eq!((done.rows, done.names, out), (1, None, b"1 | 1:0.5 7:2\n".to_vec()));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Converted {
    /// Number of rows written.
    pub rows: u64,
    /// The file that lists the names of indices, one `index<TAB>name` per line, if names became indices.
    pub names: Option<PathBuf>,
    /// Notes for the user, for example about lost weights or ignored query ids.
    pub notes: Vec<String>,
}

/// Reads a file and writes it in another format. The output appears only when it is complete, and is
/// compressed if its name ends in `.gz` or `.zst`.
///
/// ```
/// use lazyglm::{convert, data::format::write};
/// let file = std::env::temp_dir().join("lazyglm-doc-convert-same.svm");
/// std::fs::write(&file, "1 1:1\n").unwrap();
/// let svmlight = write::find(&file, None).unwrap();
/// let error = convert::convert(&file, &Default::default(), &file, svmlight).unwrap_err();
/// assert!(error.to_string().contains("would replace"));
/// ```
pub fn convert(from: &Path, asked: &ReadOptions, to: &Path, format: &Format) -> Result<Converted> {
    refuse_renumbering(asked)?;
    let names = names_path(to);
    if let Some(same) = [to, &names].into_iter().find(|path| files::same_file(path, from)) {
        let what = format!("the output {} would replace the data", same.display());
        return Err(Error::call(what, "give the output another name"));
    }
    files::check_writable(to)?; // fail before the source is read
    if format.name == "cache" {
        if compression(to).is_some() {
            return Err(Error::call("a cache cannot be compressed", "leave .gz or .zst off its name"));
        }
        return loader::keep(from, asked, to).map(|rows| Converted { rows, ..Converted::default() });
    }
    let mut writer = writer(from, asked, format)?;
    let mut outcome = Ok(Converted::default());
    let written = files::write_whole(to, |out| {
        let failed = |e| Error::io(to, e, "nothing was written: check the folder, the disk and your rights");
        let work = Conversion { from, asked, format, failed: &failed, names: Some(&names) };
        outcome = compressed(compression(to), out, &failed, |out| work.run(&mut *writer, out));
        outcome.as_ref().map(|_| ()).map_err(|_| io::Error::other("converting stopped"))
    });
    let done = outcome?;
    written.map(|()| done)
}

/// Reads a file and writes it in another format to any writer.
///
/// Names cannot become indices here, because there is no file for the list of names.
///
/// ```
/// use lazyglm::{convert, data::format::write};
/// let file = std::env::temp_dir().join("lazyglm-doc-convert-to.jsonl");
/// std::fs::write(&file, "{\"y\": 1, \"age\": 31}\n").unwrap();
/// let svmlight = write::find("a.svm".as_ref(), None).unwrap();
/// let error = convert::convert_to(&file, &Default::default(), svmlight, &mut Vec::new()).unwrap_err();
/// assert!(error.to_string().contains("features have names"));
/// ```
pub fn convert_to(
    from: &Path,
    asked: &ReadOptions,
    format: &Format,
    out: &mut dyn Write,
) -> Result<Converted> {
    refuse_renumbering(asked)?;
    if format.name == "cache" {
        return Err(Error::call("a cache cannot go to standard output", "give the output a name"));
    }
    let mut writer = writer(from, asked, format)?;
    let hint = "the output is incomplete: check where it goes";
    let failed = |e| Error::io("standard output", e, hint);
    let done = Conversion { from, asked, format, failed: &failed, names: None }.run(&mut *writer, out)?;
    out.flush().map_err(failed)?;
    Ok(done)
}

/// Rejects renumbering options: converted features keep the names they have in the source.
fn refuse_renumbering(asked: &ReadOptions) -> Result<()> {
    match asked.renumber {
        false => Ok(()),
        true => Err(Error::call("features cannot be renumbered here", "renumber them where they are learnt")),
    }
}

fn writer(from: &Path, asked: &ReadOptions, format: &Format) -> Result<Box<dyn Writer>> {
    Ok(match format.name {
        "vw" => Box::new(Vw),
        "jsonl" => Box::new(Jsonl),
        "csv" => Box::new(Csv::new(columns::columns(from, asked)?)),
        _ => Box::<Svmlight>::default(),
    })
}

/// Path of the file that lists the names of indices.
fn names_path(to: &Path) -> PathBuf {
    let mut name = to.as_os_str().to_owned();
    name.push(".names");
    name.into()
}

/// The compression that the file name implies: `gz`, `zst` or none.
fn compression(to: &Path) -> Option<&'static str> {
    let ending = to.extension()?.to_ascii_lowercase();
    ["gz", "zst"].into_iter().find(|known| ending == *known)
}

fn compressed<T>(
    packing: Option<&str>,
    out: &mut dyn Write,
    failed: &dyn Fn(io::Error) -> Error,
    fill: impl FnOnce(&mut dyn Write) -> Result<T>,
) -> Result<T> {
    match packing {
        None => fill(out),
        Some("gz") => {
            let mut gzip = flate2::write::GzEncoder::new(out, flate2::Compression::default());
            let done = fill(&mut gzip)?;
            gzip.finish().map(|_| done).map_err(failed)
        }
        Some(_) => {
            let mut zstd = zstd::Encoder::new(out, 0).map_err(failed)?; // 0: the default level
            let done = fill(&mut zstd)?;
            zstd.finish().map(|_| done).map_err(failed)
        }
    }
}
