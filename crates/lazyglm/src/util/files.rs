//! Atomic file writes: a file is written in the folder of the target, then renamed to the target.
//!
//! ```
//! use std::io::Error;
//! let path = std::env::temp_dir().join("lazyglm-doc-whole.txt");
//! lazyglm::util::files::write_whole(&path, |to| to.write_all(b"old")).unwrap();
//! let failed = lazyglm::util::files::write_whole(&path, |to| {
//!     to.write_all(b"half of the n")?;
//!     Err(Error::other("the disk is full"))
//! });
//! assert!(failed.is_err());
//! assert_eq!(std::fs::read(&path).unwrap(), b"old");
//! ```

use crate::util::error::{Error, Result};
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Permissions of a new file, before the umask.
const NEW: u32 = 0o666;
/// Permissions of a file that only its owner may write.
const OWN: u32 = 0o644;
/// Prefix of the names of temporary files. Six letters or digits follow.
const PREFIX: &str = ".lazyglm-";
/// Age at which an unfinished temporary file counts as left behind by a killed run.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum number of directory entries searched for stale files, which bounds the work in large folders.
const ENTRIES: usize = 10_000;

/// Writes a file atomically through `fill`.
///
/// If anything fails, an existing file is unchanged and no temporary file remains. A symbolic link is
/// followed. A target that is not a regular file (a pipe, a device) is written directly, because it must not
/// be replaced. On return, the file and its directory entry are on the disk.
///
/// ```
/// let path = std::env::temp_dir().join("lazyglm-doc-files.txt");
/// lazyglm::util::files::write_whole(&path, |to| to.write_all(b"hello")).unwrap();
/// assert_eq!(std::fs::read(&path).unwrap(), b"hello");
/// ```
pub fn write_whole(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let failed = failed_at(path);
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let mut direct = BufWriter::new(fs::OpenOptions::new().write(true).open(path).map_err(failed)?);
        return fill(&mut direct).and_then(|()| direct.flush()).map_err(failed_at(path));
    }
    let target = behind_links(path);
    let draft = Draft::filled(&target, NEW, fill).map_err(failed)?;
    if let Ok(old) = fs::symlink_metadata(&target) {
        draft.copy_permissions(&old).map_err(failed_at(path))?;
    }
    draft.file().sync_all().map_err(failed_at(path))?;
    draft.move_to(&target).map_err(failed_at(path))?;
    sync_folder(&target).map_err(|e| {
        Error::io(
            path,
            e,
            "the file is written, but after a power failure the old one may be back: check the disk",
        )
    })
}

/// Writes a file atomically without waiting for the disk, for files that can be made again and whose damage
/// is detected.
///
/// A symbolic link is replaced, not followed. The file is returned open for reading, so that nobody can
/// replace it in between.
pub(crate) fn write_lightly(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<File> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(failed_at(path)(io::Error::other("there is something that is not a file")));
    }
    Draft::filled(path, OWN, fill).and_then(|draft| draft.move_to(path)).map_err(failed_at(path))
}

/// Opens a regular file for reading, without following a symbolic link or blocking on a pipe.
#[cfg(unix)]
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

#[cfg(not(unix))]
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    File::open(path)
}

fn failed_at(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    move |e| Error::io(path, no_folder(e), "nothing was written: check the folder, the disk and your rights")
}

/// An unfinished file. On systems that support it, the file has no name until it is complete, so a killed run
/// leaves nothing behind. Elsewhere it has a name that [`remove_stale`] recognises.
enum Draft {
    Unnamed(File),
    Named(tempfile::NamedTempFile),
}

impl Draft {
    /// Creates an empty file in the folder of the target, with the given permissions.
    fn new(target: &Path, rights: u32) -> io::Result<Draft> {
        Ok(match unnamed(&folder(target), rights) {
            Some(file) => Draft::Unnamed(file),
            None => Draft::Named(names(rights).tempfile_in(folder(target))?),
        })
    }

    /// Copies the permissions of the file that will be replaced, without special bits such as set-user-id.
    fn copy_permissions(&self, old: &fs::Metadata) -> io::Result<()> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            self.file().set_permissions(fs::Permissions::from_mode(old.permissions().mode() & 0o777))
        }
        #[cfg(not(unix))]
        self.file().set_permissions(old.permissions())
    }

    fn filled(
        target: &Path,
        rights: u32,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<Draft> {
        remove_stale(&folder(target));
        let draft = Draft::new(target, rights)?;
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

    /// Moves the finished file to the target.
    fn move_to(self, target: &Path) -> io::Result<File> {
        let named = match self {
            Draft::Named(named) => named,
            // One step where the target is new: a run killed at any moment leaves nothing behind.
            Draft::Unnamed(file) if give_name(&file, target).is_ok() => return Ok(file),
            // A link cannot replace a file, but a rename can. So the file gets a temporary name first.
            Draft::Unnamed(file) => {
                let given = names(NEW).make_in(folder(target), |name| {
                    give_name(&file, name)?;
                    file.try_clone()
                });
                match given {
                    Ok(named) => named,
                    Err(_) => copied(file, target)?, // links may be forbidden here
                }
            }
        };
        named.persist(target).map_err(|e| e.error)
    }
}

/// Copies the bytes to a named temporary file.
fn copied(mut from: File, target: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut named = names(OWN).tempfile_in(folder(target))?;
    named.as_file().set_permissions(from.metadata()?.permissions())?;
    from.seek(SeekFrom::Start(0))?;
    io::copy(&mut from, named.as_file_mut())?;
    named.as_file().sync_all()?;
    Ok(named)
}

fn names(rights: u32) -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(rights)); // the system applies its umask
    }
    let _ = rights;
    builder
}

/// Creates an unnamed file, if the system supports that and can name it later.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path, rights: u32) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(open(folder, flags, Mode::from_raw_mode(rights)).ok()?);
    handle(&file).exists().then_some(file)
}

/// The path through which the system exposes an open file.
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
fn unnamed(_: &Path, _: u32) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
fn give_name(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into()) // this system has no unnamed files
}

/// Removes temporary files that killed runs left in a folder.
fn remove_stale(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.take(ENTRIES).flatten() {
        let name = entry.file_name();
        let random = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let ours = random.is_some_and(|it| it.len() == 6 && it.bytes().all(|b| b.is_ascii_alphanumeric()));
        if ours && is_old_file_of_ours(&entry.path()) {
            let _ = fs::remove_file(entry.path()); // another run may have removed it already
        }
    }
}

fn is_old_file_of_ours(path: &Path) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else { return false };
    let age = found.modified().ok().and_then(|time| time.elapsed().ok());
    found.is_file() && owner(&found).is_none_or(is_me) && age.is_some_and(|age| age > STALE)
}

/// The user id of a file's owner, on systems that have one.
#[cfg(unix)]
pub(crate) fn owner(found: &fs::Metadata) -> Option<u32> {
    Some(std::os::unix::fs::MetadataExt::uid(found))
}

/// Whether this process runs as the given user.
#[cfg(unix)]
pub(crate) fn is_me(user: u32) -> bool {
    rustix::process::geteuid().as_raw() == user
}

/// Whether everybody, or a group other than that of its source, may write a file.
#[cfg(unix)]
pub(crate) fn others_may_write(found: &fs::Metadata, source: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let by_group = found.mode() & 0o020 != 0 && found.gid() != source.gid();
    found.mode() & 0o002 != 0 || by_group
}

#[cfg(not(unix))]
pub(crate) fn others_may_write(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    false
}

#[cfg(not(unix))]
pub(crate) fn owner(_: &fs::Metadata) -> Option<u32> {
    None
}

#[cfg(not(unix))]
pub(crate) fn is_me(_: u32) -> bool {
    true
}

/// Syncs the folder of a file to the disk, on systems where folders can be synced.
fn sync_folder(target: &Path) -> io::Result<()> {
    #[cfg(unix)]
    match File::open(folder(target)).and_then(|folder| folder.sync_all()) {
        // The folder is writable but not readable, or the file system does not support syncing folders.
        Err(e) if [io::ErrorKind::PermissionDenied, io::ErrorKind::InvalidInput].contains(&e.kind()) => {}
        done => return done,
    }
    let _ = target;
    Ok(())
}

/// The error in words if the folder of a new file does not exist: the system's message would name a temporary file.
fn no_folder(e: io::Error) -> io::Error {
    match e.kind() {
        io::ErrorKind::NotFound => io::Error::new(io::ErrorKind::NotFound, "its folder does not exist"),
        _ => e,
    }
}

/// Checks that a file can be written, before the work is done rather than after it.
///
/// ```
/// use lazyglm::util::files::check_writable;
/// let folder = std::env::temp_dir();
/// assert!(check_writable(&folder.join("lazyglm-doc-new.model")).is_ok(), "and it is not made yet");
/// assert!(check_writable(&folder).is_err(), "a folder is no file");
/// assert!(check_writable(&folder.join("lazyglm-doc-no-such-folder/new.model")).is_err());
/// ```
pub fn check_writable(path: &Path) -> Result<()> {
    // Report only the kind of error, because the system's message would name a temporary file.
    let failed = |e: io::Error| {
        let hint = format!(
            "check that the folder '{}' is there and that you may write to it",
            folder(path).display()
        );
        Error::io(path, no_folder(e.kind().into()), hint)
    };
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(failed(io::ErrorKind::IsADirectory.into())),
        Ok(found) if !found.is_file() => Ok(()),
        _ => Draft::new(&behind_links(path), NEW).map(|_| ()).map_err(failed),
    }
}

/// Whether two paths name the same file, which need not exist yet.
///
/// ```
/// use lazyglm::util::files::same_file;
/// let here = std::env::temp_dir();
/// assert!(same_file(&here, &here.join(".")) && !same_file(&here, "no such file".as_ref()));
/// assert!(same_file(&here.join("no such file"), &here.join("./no such file"))); // both would be written to one place
/// ```
pub fn same_file(a: &Path, b: &Path) -> bool {
    matches!((whole_path(a), whole_path(b)), (Some(a), Some(b)) if a == b)
}

/// The path from the root, without links. The file itself need not exist yet, but its folder.
fn whole_path(path: &Path) -> Option<PathBuf> {
    if let Ok(whole) = fs::canonicalize(path) {
        return Some(whole);
    }
    let path = behind_links(path);
    Some(fs::canonicalize(folder(&path)).ok()?.join(path.file_name()?))
}

/// The target of a path through symbolic links, even if the target does not exist yet. Writes then go through
/// the link.
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
mod tests;
