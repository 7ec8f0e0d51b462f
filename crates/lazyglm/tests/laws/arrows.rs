//! The dependencies of ARCHITECTURE.md: which folder may import which. These tests read the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Each folder, and the folders that it may import. No folder stands before one that it imports.
const ARROWS: &[(&str, &[&str])] = &[
    ("util", &[]),
    ("simd", &[]),
    ("data", &["util", "simd"]),
    ("problem", &["data", "util", "simd"]),
    ("optim", &["problem", "data", "util", "simd"]),
    ("eval", &["problem", "data", "util"]),
    ("model", &["problem", "data", "util"]),
    ("train", &["model", "eval", "optim", "problem", "data", "util"]),
];

/// Folders with `unsafe` blocks: instruction sets and system calls, and the hot loop.
const UNSAFE: [&str; 2] = ["simd/", "optim/kernel/"];

/// Every source file below `src/`, by its path there.
pub fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, root: &Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => walk(&path, root, found),
                false => {
                    let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                    found.push((name, fs::read_to_string(&path).unwrap()));
                }
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    walk(&root, &root, &mut found);
    assert!(found.len() > 100, "found the sources");
    found
}

/// The lines of code: neither comments nor tests inside the library.
pub fn code(text: &str) -> impl Iterator<Item = &str> {
    let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
    product.lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// The `folder::module` pairs named after `crate::`.
fn imports(text: &str) -> BTreeSet<(String, String)> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    code(text)
        .flat_map(|line| line.split("crate::").skip(1).map(str::to_string).collect::<Vec<_>>())
        .map(|rest| {
            let folder = word(&rest);
            let module = rest[folder.len()..].strip_prefix("::").map_or(String::new(), word);
            (folder, module)
        })
        .collect()
}

#[test]
fn folders_import_only_where_an_arrow_points() {
    for (file, text) in sources().iter().filter(|(file, _)| file != "lib.rs") {
        let folder = file.split('/').next().unwrap();
        let (_, allowed) = ARROWS
            .iter()
            .find(|(name, _)| *name == folder)
            .unwrap_or_else(|| panic!("a folder without arrows: {folder}"));
        for (import, _) in imports(text) {
            let fine = import == folder || allowed.contains(&import.as_str());
            assert!(fine, "{file} imports {import}: no arrow points there");
        }
    }
}

#[test]
fn arrows_make_no_circle() {
    for (k, (folder, imports)) in ARROWS.iter().enumerate() {
        for import in *imports {
            assert!(ARROWS[..k].iter().any(|(earlier, _)| earlier == import), "{folder} before {import}");
        }
    }
}

/// The module of a file inside its folder, and the modules of the same folder that it imports.
fn inside(file: &str, text: &str) -> Option<(String, String, BTreeSet<String>)> {
    let mut parts = file.trim_end_matches(".rs").split('/');
    let (folder, module) = (parts.next()?, parts.next()?);
    let mut of: BTreeSet<String> =
        imports(text).into_iter().filter(|(other, _)| other == folder).map(|(_, module)| module).collect();
    let top = file.matches('/').count() == 1 && module != "mod";
    if top {
        for rest in code(text).flat_map(|line| line.split("super::").skip(1)) {
            of.insert(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
    }
    of.retain(|other| other != module && other.starts_with(|c: char| c.is_lowercase()));
    Some((folder.to_string(), module.to_string(), of))
}

#[test]
fn modules_of_a_folder_make_no_circle() {
    let mut graphs: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (file, text) in sources() {
        if let Some((folder, module, of)) = inside(&file, &text)
            && module != "mod"
        {
            graphs.entry(folder).or_default().entry(module).or_default().extend(of);
        }
    }
    for (folder, mut left) in graphs {
        while !left.is_empty() {
            let names: Vec<String> = left.keys().cloned().collect();
            let before = left.len();
            left.retain(|_, imports| imports.iter().any(|import| names.contains(import)));
            assert!(left.len() < before, "{folder}/: a circle among {left:#?}");
        }
    }
}

#[test]
fn unsafe_lives_in_two_folders() {
    for (file, text) in sources() {
        let blocks = code(&text).filter(|line| line.contains("unsafe {")).count();
        assert!(blocks == 0 || UNSAFE.iter().any(|folder| file.starts_with(folder)), "unsafe in {file}");
    }
}
