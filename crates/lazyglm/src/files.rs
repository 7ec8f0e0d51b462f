//! Files that are whole or not there: written beside the target, then renamed onto it.

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
    let failed =
        |e: io::Error| Error::io(path, e, "nothing was written: check the folder, the disk and your rights");
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let mut direct = BufWriter::new(fs::OpenOptions::new().write(true).open(path).map_err(failed)?);
        return fill(&mut direct).and_then(|()| direct.flush()).map_err(failed);
    }
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()); // through a link, not over it
    let mut beside = tempfile::Builder::new()
        .prefix(".lazyglm-")
        .permissions(permissions(&target))
        .tempfile_in(folder(&target))
        .map_err(failed)?;
    let mut buffer = BufWriter::new(beside.as_file_mut());
    fill(&mut buffer).and_then(|()| buffer.flush()).map_err(failed)?;
    drop(buffer);
    beside.as_file().sync_all().map_err(failed)?;
    beside.persist(&target).map_err(|e| failed(e.error))?;
    Ok(())
}

/// Whether a file could be written here, found out before hours of work rather than after.
pub fn check_writable(path: &Path) -> Result<()> {
    let failed = |e: io::Error| Error::io(path, e, "it cannot be written: check the folder and your rights");
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(failed(io::ErrorKind::IsADirectory.into())),
        Ok(found) if !found.is_file() => Ok(()),
        _ => tempfile::tempfile_in(folder(path)).map(|_| ()).map_err(failed),
    }
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Those of the file that is replaced, or what any new file would get.
fn permissions(target: &Path) -> fs::Permissions {
    if let Ok(found) = fs::metadata(target) {
        return found.permissions();
    }
    #[cfg(unix)]
    {
        // The system takes its umask off this, as it does for every new file.
        use std::os::unix::fs::PermissionsExt;
        fs::Permissions::from_mode(0o666)
    }
    #[cfg(not(unix))]
    fs::metadata(".").map(|found| found.permissions()).expect("the current folder")
}
