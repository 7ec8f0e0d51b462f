//! Damaged files: rows or an error, in little time and memory.

use super::asked;
use super::tables::drawn::{WAYS, damage, draw, written};
use super::tables::*;
use lazyglm::util::random::Random;
use std::cell::Cell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

thread_local! { static QUIET: Cell<bool> = const { Cell::new(false) } }

/// Others' code panics on damaged files; that is caught, but said on standard error.
fn keep_quiet() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                before(panic)
            }
        }));
    });
    QUIET.set(true);
}

/// Reads damaged files, so many; how many were read without an error, and how long the slowest took.
fn read_damaged(seed: u64, cases: u64) -> (u64, Duration) {
    keep_quiet();
    let (mut random, folder, mut fine, mut slowest) = (Random::new(seed), Folder::new(), 0, Duration::ZERO);
    let asked = asked(Some("y"), &["count"], &["code"]);
    let mut whole: Vec<Vec<u8>> = Vec::new();
    for case in 0..cases {
        if case % 500 == 0 {
            whole = (0..WAYS).map(|k| written(&draw(&mut random).0, k)).collect();
        }
        let mut bytes = whole[random.below(WAYS) as usize].clone();
        damage(&mut random, &mut bytes);
        let (path, start) = (folder.file("a.parquet", bytes), Instant::now());
        fine += u64::from(read(&path, &asked, None).is_ok());
        if start.elapsed() > slowest {
            slowest = start.elapsed();
            assert!(slowest < Duration::from_secs(20), "seed {seed}, case {case}");
        }
    }
    QUIET.set(false);
    (fine, slowest)
}

/// The most memory this process ever had, in megabytes, where the system tells.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.trim().strip_suffix(" kB"))
        .map_or(0, |peak| peak.trim().parse::<u64>().unwrap_or(0) >> 10)
}

/// `CASES` raises the number of files, `SEED` makes them others: `make fuzz-parquet`.
#[test]
fn a_damaged_file_is_rows_or_an_error() {
    let number = |name, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (cases, seed): (u64, u64) = (number("CASES", 8_000), number("SEED", 1));
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let all = std::thread::scope(|scope| {
        let of = |k| scope.spawn(move || read_damaged(seed + 1000 * k, cases.div_ceil(threads)));
        let all: Vec<_> = (0..threads).map(of).collect();
        all.into_iter().map(|one| one.join().expect("no panic comes through")).collect::<Vec<_>>()
    });
    let fine: u64 = all.iter().map(|one| one.0).sum();
    println!(
        "{cases} damaged files, {fine} of them read all the same; slowest {:?}; {} MB",
        all.iter().map(|one| one.1).max(),
        peak_memory()
    );
    assert!(fine < cases / 2, "most damage shows");
    assert!(peak_memory() < 1000, "{} MB", peak_memory());
}

/// Writes the first inputs of the fuzz target `columnar`, as `make fuzz-seeds` asks: small files, written in every way.
#[test]
#[ignore = "writes files: make fuzz-seeds"]
fn the_first_inputs() {
    let folder = PathBuf::from(std::env::var_os("SEEDS").expect("SEEDS is not set")).join("columnar");
    std::fs::create_dir_all(&folder).unwrap();
    let mut random = Random::new(1);
    for way in 0..WAYS {
        let mut tables = std::iter::repeat_with(|| draw(&mut random).0);
        let bytes = tables.by_ref().map(|table| written(&table, way)).find(|bytes| bytes.len() < 6000);
        std::fs::write(folder.join(format!("seed-{way}")), [b"1", &bytes.unwrap()[..]].concat()).unwrap();
    }
}
