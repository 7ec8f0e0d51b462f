//! Tests that a file is either complete or absent, whatever happens to the run.

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
    assert_eq!((names_in(folder.path()), fs::read(&path).unwrap()), (vec!["new".into()], b"whole".to_vec()));
}

#[test]
fn a_named_draft_becomes_the_file_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    let draft = Draft::Named(names(NEW).tempfile_in(folder.path()).unwrap());
    draft.file().write_all(b"text").unwrap();
    draft.move_to(&path).unwrap();
    assert_eq!((names_in(folder.path()), fs::read(&path).unwrap()), (vec!["new".into()], b"text".to_vec()));
}

#[test]
#[cfg(unix)]
fn rights_are_kept_but_not_those_to_run_as_the_owner_and_a_light_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old");
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
    let set = |mode: u32| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    fs::write(&path, "old").unwrap();
    set(0o6640);
    write_whole(&path, |to| to.write_all(b"new")).unwrap();
    assert_eq!(mode(), 0o640);
    set(0o6666);
    write_lightly(&path, |to| to.write_all(b"new")).unwrap();
    assert_eq!(mode() & !0o044, 0o600);
}

#[test]
fn what_is_copied_because_links_are_forbidden_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = tempfile::tempfile_in(folder.path()).unwrap();
    file.write_all(b"text").unwrap();
    let target = folder.path().join("new");
    copied(file, &target).unwrap().persist(&target).unwrap();
    assert_eq!((names_in(folder.path()), fs::read(&target).unwrap()), (vec!["new".into()], b"text".to_vec()));
}

#[test]
fn what_a_killed_run_left_is_removed_after_a_day_and_nothing_else_is() {
    let folder = tempfile::tempdir().unwrap();
    let (old, young) = (SystemTime::now() - 2 * STALE, SystemTime::now() - STALE / 2);
    for (name, time) in [
        (".lazyglm-a1B2c3", old),
        (".lazyglm-d4E5f6", young), // of a run in progress
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
    let [inverse_link, target] = ["link", "target"].map(|name| folder.path().join(name));
    fs::write(&target, "precious").unwrap();
    std::os::unix::fs::symlink(&target, &inverse_link).unwrap();
    write_lightly(&inverse_link, |to| to.write_all(b"cache")).unwrap();
    assert_eq!(
        (fs::read(&target).unwrap(), fs::read(&inverse_link).unwrap()),
        (b"precious".to_vec(), b"cache".to_vec())
    );
    assert!(!fs::symlink_metadata(&inverse_link).unwrap().is_symlink());
}
