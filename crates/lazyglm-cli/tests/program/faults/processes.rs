//! Many processes on the same files at the same time.

use super::{TRAIN, folder};
use std::process::Stdio;

#[test]
fn eight_processes_on_one_cache_learn_the_same_and_leave_one_whole_cache() {
    let folder = folder();
    let model = folder.read("m");
    let cache = folder.read("data.svm.lazyglm-cache");
    for round in 0..6 {
        if round % 2 == 0 {
            let _ = std::fs::remove_file(folder.path("data.svm.lazyglm-cache")); // all eight write it
        }
        let line = |k: usize| TRAIN.replace("-o m", &format!("-o m{}", k / 2)); // two write each model
        let start = |k: usize| folder.command(&line(k)).stderr(Stdio::piped()).stdout(Stdio::null()).spawn();
        let children: Vec<_> = (0..8).map(|k| start(k).expect("a process")).collect();
        for child in children {
            let done = child.wait_with_output().expect("an end");
            let told = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "{told}");
        }
        (0..4).for_each(|k| assert!(folder.read(&format!("m{k}")) == model, "round {round}, model {k}"));
        assert!(folder.read("data.svm.lazyglm-cache") == cache, "round {round}: one whole cache");
        assert!(folder.names().iter().all(|name| !name.starts_with('.')), "{:?}", folder.names());
    }
}
