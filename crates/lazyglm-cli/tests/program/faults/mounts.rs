//! A small disk and a disk that cannot be written, mounted in a name space of the test's own.

use super::{WRITERS, can, folder, is_orderly};
use crate::common::{Folder, finish};

/// A line of shell that runs the program with `place` mounted as told, and then compares the old files there.
fn under(folder: &Folder, mount: &str, line: &str) -> crate::common::Output {
    let mut command = std::process::Command::new("unshare");
    let program = env!("CARGO_BIN_EXE_lazyglm");
    let script = format!(
        "mkdir -p place && {mount} && cp m place/m 2>/dev/null; {program} {line}; code=$?; \
         cmp m place/m >&2 || exit 99; ls -A place >&2; exit $code"
    );
    command.args(["-Urm", "sh", "-c", &script]).current_dir(folder.0.path());
    finish(command.stdin(std::process::Stdio::null()))
}

#[test]
fn a_disk_of_a_few_kilobytes_is_an_error_and_its_old_model_stays() {
    if !can("unshare -Urm sh -c 'mount -t tmpfs -o size=16k none /mnt'") {
        return println!("skipped: this machine mounts no tmpfs in a name space");
    }
    let folder = folder();
    let room = folder.read("m").len().div_ceil(4096) * 4; // the old model, and no more
    let mount = format!("mount -t tmpfs -o size={room}k none place");
    for line in WRITERS {
        let line = line.replace("OUT", "place/m");
        let output = under(&folder, &mount, &line);
        assert_ne!(output.code, 99, "{line}: the old model is harmed\n{}", output.stderr);
        is_orderly(&output, &line);
        let files = output.stderr.lines().last();
        assert_eq!(files, Some("m"), "{line}: nothing else is left\n{}", output.stderr);
        let cached = line.contains("--to cache"); // refused, because the old file is no cache
        assert!(output.code == 1 || cached, "{line}\n{}", output.stderr);
        assert!(output.stderr.contains("place/m"), "{line}\n{}", output.stderr);
    }
    let line = "train data.svm --checkpoint place/c --every 0s --solver sgd --eta0 0.1 --epochs 2";
    let output = under(&folder, &mount, line);
    assert_eq!(output.code, 0, "{line}\n{}", output.stderr);
    assert!(output.stderr.contains("warning: the checkpoint cannot be written"), "{}", output.stderr);
    assert_eq!(output.stderr.lines().last(), Some("m"), "nothing else is left\n{}", output.stderr);
}

#[test]
fn a_folder_that_cannot_be_written_is_read_without_a_cache_and_stays_as_it_is() {
    let mount = "cp data.svm m place && mount --bind place place && mount -o remount,bind,ro place";
    if !can("unshare -Urm sh -c 'd=$(mktemp -d); mount --bind $d $d && mount -o remount,bind,ro $d'") {
        return println!("skipped: this machine mounts nothing in a name space");
    }
    let folder = folder();
    for line in WRITERS {
        let line = line.replace("OUT", "place/m");
        let output = under(&folder, mount, &line);
        is_orderly(&output, &line);
        assert!([1, 2].contains(&output.code), "{line}\n{}", output.stderr);
        assert!(output.stderr.contains("place/m"), "{line}\n{}", output.stderr);
    }
    let line = "train place/data.svm -o new --solver sgd --eta0 0.1 --epochs 2";
    let output = under(&folder, mount, line);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert!(output.stderr.contains("no cache can be written there"), "{}", output.stderr);
    assert!(folder.read("new") == folder.read("m"), "the same model without a cache");
}
