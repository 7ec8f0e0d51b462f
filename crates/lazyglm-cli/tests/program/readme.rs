//! The README: every command of its console blocks runs, one after the other in one folder, and prints what is shown. Seconds may differ.

use crate::common::Folder;
use std::fs;
use std::path::Path;

/// A command after `$ `, and the lines below it.
fn commands(text: &str) -> Vec<(String, String)> {
    let blocks = text.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut found: Vec<(String, String)> = Vec::new();
    for line in blocks.flat_map(str::lines) {
        match (line.strip_prefix("$ lazyglm "), found.last_mut()) {
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
        false => line.to_string(),
    };
    text.trim_end().lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_command_of_the_readme_prints_what_is_shown() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let commands = commands(&fs::read_to_string(readme).unwrap());
    assert!(commands.len() >= 4, "found {} commands", commands.len());
    let folder = Folder::new();
    for (line, shown) in commands {
        let printed = folder.ok(&line).stdout;
        assert_eq!(without_seconds(&printed), without_seconds(&shown), "$ lazyglm {line}\n{printed}");
    }
}
