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
    let found = below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(found.len() > 100, "found the sources");
    found
}

/// Every file below a folder, by its path there.
pub fn below(root: &Path) -> Vec<(String, String)> {
    fn walk(folder: &Path, root: &Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true if path.ends_with("__pycache__") => {} // made by Python beside its sources
                true => walk(&path, root, found),
                false => {
                    let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                    found.push((name, fs::read_to_string(&path).unwrap()));
                }
            }
        }
    }
    let mut found = Vec::new();
    walk(root, root, &mut found);
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
    let says_unsafe =
        |text: &str| code(text).any(|line| line.contains("unsafe") && !line.contains("forbid(unsafe_code)"));
    for (file, text) in sources() {
        let allowed = UNSAFE.iter().any(|folder| file.starts_with(folder));
        assert!(allowed || !says_unsafe(&text), "unsafe in {file}");
    }
    for crate_of in ["../lazyglm-cli/src", "../../python/src"] {
        for (file, text) in below(&Path::new(env!("CARGO_MANIFEST_DIR")).join(crate_of)) {
            assert!(!says_unsafe(&text), "unsafe in {crate_of}/{file}");
        }
    }
}

#[test]
fn the_compiler_forbids_unsafe_code_outside_two_folders() {
    let text_of = |wanted: &str| sources().into_iter().find(|(file, _)| file == wanted).unwrap().1;
    for (file, but) in [("lib.rs", &["simd", "optim"][..]), ("optim/mod.rs", &["kernel"])] {
        let text = text_of(file);
        let (mut attributes, mut modules) = (Vec::new(), 0);
        for line in code(&text) {
            if line.starts_with("#[") {
                attributes.push(line);
                continue;
            }
            let attributes = std::mem::take(&mut attributes);
            let Some((_, module)) = line.split_once("mod ") else { continue };
            modules += 1;
            let forbidden = attributes.contains(&"#[forbid(unsafe_code)]");
            assert_eq!(forbidden, !but.contains(&module.trim_end_matches(';')), "{file}: {module}");
        }
        assert!(modules > but.len(), "{file}: found its modules");
    }
    let program =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../lazyglm-cli/src/main.rs"));
    assert!(program.unwrap().contains("#![forbid(unsafe_code)]"));
}
