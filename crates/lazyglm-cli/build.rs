//! Tells the program its commit and features, for `lazyglm --version`. Outside a repository the commit is not known.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::path::Path::new("../../.git/logs/HEAD").exists() {
        println!("cargo::rerun-if-changed=../../.git/logs/HEAD"); // grows with each commit
    }
    let asked = Command::new("git").args(["rev-parse", "--short=10", "HEAD"]).output();
    let commit = asked.ok().filter(|done| done.status.success());
    let commit =
        commit.map_or("unknown".into(), |done| String::from_utf8_lossy(&done.stdout).trim().to_string());
    let parquet = if std::env::var_os("CARGO_FEATURE_PARQUET").is_some() { "with" } else { "without" };
    println!("cargo::rustc-env=LAZYGLM_BUILD=commit {commit}, {parquet} Parquet");
}
