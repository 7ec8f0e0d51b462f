//! `completions` and `man`: files for the shell.

use crate::common::Folder;

#[test]
fn completions_and_manual_pages_name_every_verb_and_its_flags() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = folder.ok(&format!("completions {shell}")).stdout;
        assert!(script.contains("certify") && script.contains("early-stop"), "{shell}: {script}");
    }
    folder.ok("man pages");
    for verb in [
        "train", "tune", "path", "predict", "evaluate", "certify", "inspect", "stats", "convert", "list",
        "demo",
    ] {
        let page = String::from_utf8(folder.read(&format!("pages/lazyglm-{verb}.1"))).unwrap();
        assert!(page.contains(".TH"), "{verb}: {page}");
    }
    let train = String::from_utf8(folder.read("pages/lazyglm-train.1")).unwrap();
    assert!(train.contains("early\\-stop"), "{train}");
    folder.write("file", "");
    let refused = folder.run("man file");
    assert!(
        refused.code == 1 && refused.stderr.contains("'file'") || refused.stderr.contains("file:"),
        "{}",
        refused.stderr
    );
}
