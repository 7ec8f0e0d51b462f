//! A folder that others may write to: an automatic cache follows no link, replaces nothing but a cache, and believes no
//! cache of a stranger.

use crate::common::{Folder, classes, text};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

const CACHE: &str = "data.svm.lazyglm-cache";

fn folder() -> Folder {
    let folder = Folder::with("data.svm", text(&classes(40, 10, 1)));
    folder.ok("train data.svm -o m --cache off");
    folder
}

#[test]
fn an_automatic_cache_is_not_written_through_a_link() {
    for content in ["precious\n", ""] {
        for flags in ["", "--memory 64M", "--renumber"] {
            let folder = folder();
            folder.write("theirs", content);
            symlink(folder.path("theirs"), folder.path(CACHE)).unwrap();
            let told = folder.ok(&format!("train data.svm -o got {flags}")).stderr;
            assert!(told.contains(CACHE) && told.contains("symbolic link"), "{flags}: {told}");
            assert_eq!(folder.read("theirs"), content.as_bytes(), "{flags}");
            assert!(fs::symlink_metadata(folder.path(CACHE)).unwrap().is_symlink(), "{flags}");
        }
    }
}

#[test]
fn a_link_to_a_cache_or_to_nothing_is_not_followed_either() {
    let folder = folder();
    folder.ok("train data.svm --cache elsewhere");
    let before = folder.read("elsewhere");
    symlink(folder.path("elsewhere"), folder.path(CACHE)).unwrap();
    folder.write("data.svm", text(&classes(40, 10, 2)));
    let told = folder.ok("train data.svm").stderr;
    assert!(told.contains("symbolic link"), "{told}");
    assert!(folder.read("elsewhere") == before);
    fs::remove_file(folder.path(CACHE)).unwrap();
    symlink(folder.path("nowhere"), folder.path(CACHE)).unwrap();
    folder.ok("train data.svm");
    assert!(!folder.path("nowhere").exists());
}

#[test]
fn a_link_that_was_asked_for_by_name_is_followed() {
    let folder = folder();
    symlink(folder.path("real"), folder.path("link")).unwrap();
    folder.ok("train data.svm --cache link");
    assert!(folder.path("real").exists() && fs::symlink_metadata(folder.path("link")).unwrap().is_symlink());
    let told = folder.ok("train data.svm --cache link").stderr;
    assert!(!told.contains("wrote"), "{told}");
}

#[test]
fn a_cache_that_others_may_write_to_is_not_believed_and_a_new_one_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    folder.ok("train data.svm");
    fs::set_permissions(folder.path(CACHE), fs::Permissions::from_mode(0o666)).unwrap();
    let told = folder.ok("train data.svm").stderr;
    assert!(told.contains("others may write to it") && told.contains("made again"), "{told}");
    let mode = fs::metadata(folder.path(CACHE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o7022, 0, "{mode:o}");
    // A file that somebody put there passes nothing on to the one that replaces it.
    folder.write(CACHE, "lazyglm cache 9 nonsense");
    fs::set_permissions(folder.path(CACHE), fs::Permissions::from_mode(0o6666)).unwrap();
    folder.ok("train data.svm");
    let mode = fs::metadata(folder.path(CACHE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o7022, 0, "{mode:o}");
}

#[test]
fn a_cache_of_another_user_is_not_believed() {
    let folder = folder();
    folder.ok("train data.svm");
    let stranger = 4_000_000;
    if std::os::unix::fs::chown(folder.path(CACHE), Some(stranger), None).is_err() {
        return; // only an administrator can make a file somebody else's
    }
    let told = folder.ok("train data.svm").stderr;
    assert!(told.contains("another user") && told.contains("made again"), "{told}");
    assert_ne!(fs::metadata(folder.path(CACHE)).unwrap().uid(), stranger);
    // But where the data are theirs, so may be the cache.
    for name in ["data.svm", CACHE] {
        std::os::unix::fs::chown(folder.path(name), Some(stranger), None).unwrap();
    }
    folder.ok("train data.svm"); // the data's change of owner is a change
    std::os::unix::fs::chown(folder.path(CACHE), Some(stranger), None).unwrap();
    let told = folder.ok("train data.svm").stderr;
    assert!(!told.contains("another user") && !told.contains("wrote"), "{told}");
}
