//! Files that are whole or not there: written in the folder of the target, then renamed onto it.
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
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How names of unfinished files begin; six letters or digits follow.
const PREFIX: &str = ".lazyglm-";
/// An unfinished file that nobody has written to for so long was left by a run that was killed.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);
/// How many entries of a folder are looked at for stale files: a bound on the work in a folder with millions.
const ENTRIES: usize = 10_000;

/// Writes a file through `fill`. If anything fails, the old file, if there was one, is untouched and nothing is left
/// behind. A symbolic link is followed. A target that is not a regular file (a pipe, a device) is written to directly:
/// it must not be replaced. When this returns, the file and its name are on the disk.
///
/// ```
/// let path = std::env::temp_dir().join("lazyglm-doc-files.txt");
/// lazyglm::files::write_whole(&path, |to| to.write_all(b"hello")).unwrap();
/// assert_eq!(std::fs::read(&path).unwrap(), b"hello");
/// ```
pub fn write_whole(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let failed = failed_at(path);
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let mut direct = BufWriter::new(fs::OpenOptions::new().write(true).open(path).map_err(failed)?);
        return fill(&mut direct).and_then(|()| direct.flush()).map_err(failed_at(path));
    }
    let target = behind_links(path);
    let draft = Draft::filled(&target, fill).map_err(failed)?;
    draft.file().sync_all().map_err(failed_at(path))?;
    draft.become_file(&target).map_err(failed_at(path))?;
    sync_folder(&target).map_err(failed_at(path))
}

/// The same for a file that can be made again and shows when it is damaged: nobody waits for the disk. A symbolic link
/// is replaced, not followed. The file comes back open for reading, so that nobody can exchange it meanwhile.
pub(crate) fn write_lightly(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<File> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(failed_at(path)(io::Error::other("there is something that is not a file")));
    }
    Draft::filled(path, fill).and_then(|draft| draft.become_file(path)).map_err(failed_at(path))
}

fn failed_at(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    move |e| Error::io(path, e, "nothing was written: check the folder, the disk and your rights")
}

/// A file that is not finished. Where the system can do it, the file has no name until it is whole, so that a run that
/// is killed leaves nothing behind; elsewhere it has a name that [`remove_stale`] knows.
enum Draft {
    Unnamed(File),
    Named(tempfile::NamedTempFile),
}

impl Draft {
    /// An empty file in the folder of the target, with the rights of the file it will replace, or of any new file.
    fn new(target: &Path) -> io::Result<Draft> {
        let draft = match unnamed(&folder(target)) {
            Some(file) => Draft::Unnamed(file),
            None => Draft::Named(names().tempfile_in(folder(target))?),
        };
        if let Ok(old) = fs::metadata(target) {
            draft.file().set_permissions(old.permissions())?;
        }
        Ok(draft)
    }

    fn filled(target: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Draft> {
        remove_stale(&folder(target));
        let draft = Draft::new(target)?;
        let mut buffer = BufWriter::new(draft.file());
        fill(&mut buffer)?;
        buffer.flush()?;
        drop(buffer);
        Ok(draft)
    }

    fn file(&self) -> &File {
        match self {
            Draft::Unnamed(file) => file,
            Draft::Named(named) => named.as_file(),
        }
    }

    /// Takes the place of the target.
    fn become_file(self, target: &Path) -> io::Result<File> {
        let named = match self {
            Draft::Named(named) => named,
            // A link cannot replace a file, and a rename can: so a name of its own first.
            Draft::Unnamed(file) => names().make_in(folder(target), |name| {
                give_name(&file, name)?;
                file.try_clone()
            })?,
        };
        named.persist(target).map_err(|e| e.error)
    }
}

fn names() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666)); // the system takes its umask off
    }
    builder
}

/// A file without a name, if the system has that and can give it one later.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(open(folder, flags, Mode::from_raw_mode(0o666)).ok()?);
    handle(&file).exists().then_some(file)
}

/// The name under which the system knows an open file.
#[cfg(target_os = "linux")]
fn handle(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(target_os = "linux")]
fn give_name(file: &File, name: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, handle(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
fn give_name(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into()) // no file is without a name here
}

/// Removes unfinished files of ours that a killed run left in a folder.
fn remove_stale(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.take(ENTRIES).flatten() {
        let name = entry.file_name();
        let random = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let ours = random.is_some_and(|it| it.len() == 6 && it.bytes().all(|b| b.is_ascii_alphanumeric()));
        if ours && is_old_file_of_ours(&entry.path()) {
            let _ = fs::remove_file(entry.path()); // another run may have been faster
        }
    }
}

fn is_old_file_of_ours(path: &Path) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else { return false };
    let age = found.modified().ok().and_then(|time| time.elapsed().ok());
    found.is_file() && owner(&found).is_none_or(is_me) && age.is_some_and(|age| age > STALE)
}

/// The user a file belongs to, where files belong to users.
#[cfg(unix)]
pub(crate) fn owner(found: &fs::Metadata) -> Option<u32> {
    Some(std::os::unix::fs::MetadataExt::uid(found))
}

/// Whether this process acts for a user.
#[cfg(unix)]
pub(crate) fn is_me(user: u32) -> bool {
    rustix::process::geteuid().as_raw() == user
}

#[cfg(not(unix))]
pub(crate) fn owner(_: &fs::Metadata) -> Option<u32> {
    None
}

#[cfg(not(unix))]
pub(crate) fn is_me(_: u32) -> bool {
    true
}

/// Puts the name of a file on the disk, where folders are files that can be told to.
fn sync_folder(target: &Path) -> io::Result<()> {
    #[cfg(unix)]
    match File::open(folder(target)).and_then(|folder| folder.sync_all()) {
        // A folder that may be written to but not listed, or a file system that has no such thing.
        Err(e) if [io::ErrorKind::PermissionDenied, io::ErrorKind::InvalidInput].contains(&e.kind()) => {}
        done => return done,
    }
    let _ = target;
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
        _ => Draft::new(&behind_links(path)).map(|_| ()).map_err(failed),
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
pub(crate) fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..40 {
        let Ok(next) = fs::read_link(&path) else { break };
        path = folder(&path).join(next);
    }
    path
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    fn names_in(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn an_unfinished_file_has_no_name_here() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        write_whole(&path, |to| {
            to.write_all(b"half")?;
            to.flush()?;
            assert!(!cfg!(target_os = "linux") || names_in(folder.path()).is_empty());
            Ok(())
        })
        .unwrap();
        assert_eq!(names_in(folder.path()), ["new"]);
        write_whole(&path, |to| to.write_all(b"whole")).unwrap();
        assert_eq!(
            (names_in(folder.path()), fs::read(&path).unwrap()),
            (vec!["new".into()], b"whole".to_vec())
        );
    }

    #[test]
    fn a_named_draft_becomes_the_file_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        let draft = Draft::Named(names().tempfile_in(folder.path()).unwrap());
        draft.file().write_all(b"text").unwrap();
        draft.become_file(&path).unwrap();
        assert_eq!(
            (names_in(folder.path()), fs::read(&path).unwrap()),
            (vec!["new".into()], b"text".to_vec())
        );
    }

    #[test]
    fn what_a_killed_run_left_is_removed_after_a_day_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - 2 * STALE;
        for (name, time) in [
            (".lazyglm-a1B2c3", old),
            (".lazyglm-d4E5f6", SystemTime::now()), // of a run that goes on
            (".lazyglm-notes", old),
            (".lazyglm-my.txt", old),
            ("lazyglm-a1B2c3", old),
        ] {
            File::create(folder.path().join(name)).unwrap().set_modified(time).unwrap();
        }
        write_whole(&folder.path().join("model"), |to| to.write_all(b"1")).unwrap();
        let left = [".lazyglm-d4E5f6", ".lazyglm-my.txt", ".lazyglm-notes", "lazyglm-a1B2c3", "model"];
        assert_eq!(names_in(folder.path()), left);
    }

    #[test]
    #[cfg(unix)]
    fn a_light_file_replaces_a_link_and_leaves_its_target_alone() {
        let folder = tempfile::tempdir().unwrap();
        let [link, target] = ["link", "target"].map(|name| folder.path().join(name));
        fs::write(&target, "precious").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        write_lightly(&link, |to| to.write_all(b"cache")).unwrap();
        assert_eq!(
            (fs::read(&target).unwrap(), fs::read(&link).unwrap()),
            (b"precious".to_vec(), b"cache".to_vec())
        );
        assert!(!fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
