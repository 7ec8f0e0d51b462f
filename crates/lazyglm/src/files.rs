//! Files that are whole or not there: written beside the target, then renamed onto it.
//!
//! ```
//! use std::io::Error;
//! let path = std::env::temp_dir().join("lazyglm-doc-whole.txt");
//! lazyglm::files::write_whole(&path, |to| to.write_all(b"old")).unwrap();
//! let failed = lazyglm::files::write_whole(&path, |to| {
//!     to.write_all(b"half of the n")?;
//!     Err(Error::other("the disk is full"))
//! });
//! assert!(failed.is_err());
//! assert_eq!(std::fs::read(&path).unwrap(), b"old");
//! ```

use crate::error::{Error, Result};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a file through `fill`. If anything fails, the old file, if there was one, is untouched and nothing is left
/// behind. What is no regular file (a pipe, a device) is written to directly: it must not be replaced.
///
/// ```
/// let path = std::env::temp_dir().join("lazyglm-doc-files.txt");
/// lazyglm::files::write_whole(&path, |to| to.write_all(b"hello")).unwrap();
/// assert_eq!(std::fs::read(&path).unwrap(), b"hello");
/// ```
pub fn write_whole(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    write(path, true, fill)
}

/// The same for a file that can be made again and shows when it is damaged: nobody waits for the disk.
pub(crate) fn write_lightly(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    write(path, false, fill)
}

fn write(path: &Path, sync: bool, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let failed =
        |e: io::Error| Error::io(path, e, "nothing was written: check the folder, the disk and your rights");
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let mut direct = BufWriter::new(fs::OpenOptions::new().write(true).open(path).map_err(failed)?);
        return fill(&mut direct).and_then(|()| direct.flush()).map_err(failed);
    }
    let target = behind_links(path);
    let mut beside = beside(&target).map_err(failed)?;
    let mut buffer = BufWriter::new(beside.as_file_mut());
    fill(&mut buffer).and_then(|()| buffer.flush()).map_err(failed)?;
    drop(buffer);
    if sync {
        beside.as_file().sync_all().map_err(failed)?;
    }
    beside.persist(&target).map_err(|e| failed(e.error))?;
    Ok(())
}

/// Whether a file could be written here, found out before hours of work rather than after.
///
/// ```
/// use lazyglm::files::check_writable;
/// let folder = std::env::temp_dir();
/// assert!(check_writable(&folder.join("lazyglm-doc-new.model")).is_ok(), "and it is not made yet");
/// assert!(check_writable(&folder).is_err(), "a folder is no file");
/// assert!(check_writable(&folder.join("lazyglm-doc-no-such-folder/new.model")).is_err());
/// ```
pub fn check_writable(path: &Path) -> Result<()> {
    // By kind alone: the system's own words would name a temporary file.
    let failed = |e: io::Error| {
        let hint = format!(
            "check that the folder '{}' is there and that you may write to it",
            folder(path).display()
        );
        Error::io(path, e.kind().into(), hint)
    };
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(failed(io::ErrorKind::IsADirectory.into())),
        Ok(found) if !found.is_file() => Ok(()),
        _ => beside(&behind_links(path)).map(|_| ()).map_err(failed),
    }
}

/// Whether two names stand for one file that exists.
///
/// ```
/// use lazyglm::files::same_file;
/// let here = std::env::temp_dir();
/// assert!(same_file(&here, &here.join(".")) && !same_file(&here, "no such file".as_ref()));
/// ```
pub fn same_file(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

/// Where a name leads, through links, also one whose target does not exist yet: a link is written through, not over.
fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..40 {
        let Ok(next) = fs::read_link(&path) else { break };
        path = folder(&path).join(next);
    }
    path
}

/// An empty file in the folder of the target, with the rights of the file it will replace, or of any new file.
fn beside(target: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".lazyglm-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666)); // the system takes its umask off
    }
    let beside = builder.tempfile_in(folder(target))?;
    if let Ok(old) = fs::metadata(target) {
        beside.as_file().set_permissions(old.permissions())?;
    }
    Ok(beside)
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}
