//! The README and the pages of the documentation: every command of a console block runs, one after the other, in a folder of
//! the page's own, and prints to standard output what is shown. Seconds may differ. With `WRITE_PAGES` in the environment
//! (`make pages`), what is printed takes the place of what is shown.

use crate::common::{Folder, finish};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command after `$ `, and the lines below it.
fn commands(text: &str) -> Vec<(String, String)> {
    let blocks = text.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut found: Vec<(String, String)> = Vec::new();
    for line in blocks.flat_map(str::lines) {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push((command.to_string(), String::new())),
            (None, Some((_, shown))) => *shown += &format!("{line}\n"),
            (None, None) => panic!("'{line}' comes before any command"),
        }
    }
    found
}

/// The text without digits in lines that tell seconds.
fn without_seconds(text: &str) -> String {
    let line = |line: &str| match line.contains(" s ") || line.contains(" s)") || line.starts_with("seconds")
    {
        true => line.chars().filter(|c| !c.is_ascii_digit()).collect::<String>(),
        false => line.trim_end().to_string(),
    };
    text.trim_end().lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Runs the commands of a page and returns how many there are.
fn check(page: &Path) -> usize {
    let writes = std::env::var_os("WRITE_PAGES").is_some();
    let mut text = fs::read_to_string(page).unwrap();
    let commands = commands(&text);
    let folder = Folder::new();
    let program = Path::new(env!("CARGO_BIN_EXE_lazyglm")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for (line, shown) in &commands {
        let mut shell = Command::new("sh");
        let done = finish(shell.args(["-c", line]).env("PATH", &path).current_dir(folder.0.path()));
        if writes && without_seconds(&done.stdout) != without_seconds(shown) {
            text = text.replacen(&format!("$ {line}\n{shown}"), &format!("$ {line}\n{}", done.stdout), 1);
            fs::write(page, &text).unwrap();
            continue;
        }
        let (printed, shown) = (without_seconds(&done.stdout), without_seconds(shown));
        assert_eq!(printed, shown, "{}: $ {line}\n{}{}", page.display(), done.stdout, done.stderr);
    }
    commands.len()
}

/// The repository's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All Markdown files below a folder.
fn markdown(folder: &Path) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true if entry.ends_with("docs/project") => {} // copies, made with the site
            true => pages.extend(markdown(&entry)),
            false if entry.extension().is_some_and(|ending| ending == "md") => pages.push(entry),
            false => {}
        }
    }
    pages
}

#[test]
fn every_command_of_the_readme_prints_what_is_shown() {
    assert!(check(&root().join("README.md")) >= 4);
}

#[test]
fn every_command_of_the_documentation_prints_what_is_shown() {
    let count: usize = markdown(&root().join("docs")).iter().map(|page| check(page)).sum();
    assert!(count >= 4, "found {count} commands");
}
