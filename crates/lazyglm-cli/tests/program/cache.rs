//! The cache beside the data: used when it is that of the data, told about when not, and never a different model.

use crate::common::{FORMATS, Folder, classes, close, in_format, numbers, text};
use std::fs::{self, File};
use std::io::Write;
use std::time::Duration;

const CACHE: &str = "data.svm.lazyglm-cache";

/// A folder with data, the model of them without a cache (`m`), and no cache.
fn folder() -> Folder {
    let folder = Folder::with("data.svm", text(&classes(40, 10, 1)));
    folder.ok("train data.svm -o m --cache off");
    assert_eq!(folder.names(), ["data.svm", "m"], "off writes none");
    folder
}

/// Trains with these words on caches, expects the model of the data as they are, and returns the notes about caches.
fn notes(folder: &Folder, cache: &str) -> Vec<String> {
    folder.ok("train data.svm -o off --cache off --quiet");
    let told = folder.ok(&format!("train data.svm -o with {cache}")).stderr;
    assert!(folder.read("with") == folder.read("off"), "{cache}: another model\n{told}");
    told.lines().filter(|line| line.contains("cache")).map(str::to_string).collect()
}

#[test]
fn a_first_run_writes_a_cache_with_a_note_and_a_second_run_reads_it_without() {
    for cache in ["", "--cache auto", "--cache elsewhere"] {
        let folder = folder();
        let name = if cache.ends_with("elsewhere") { "elsewhere" } else { CACHE };
        let told = notes(&folder, cache);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("note: wrote") && told[0].contains(name), "{told:?}");
        let (bytes, time) = (folder.read(name), fs::metadata(folder.path(name)).unwrap().modified().unwrap());
        assert_eq!(notes(&folder, cache), Vec::<String>::new());
        assert_eq!(folder.read(name), bytes);
        assert_eq!(
            fs::metadata(folder.path(name)).unwrap().modified().unwrap(),
            time,
            "it was written again"
        );
        assert_eq!(folder.names().iter().filter(|name| name.starts_with('.')).count(), 0, "nothing is left");
        assert!(folder.read("with") == folder.read("m"));
    }
    let folder = folder();
    assert_eq!(folder.ok("train data.svm --quiet").stderr, "", "quiet is quiet");
    assert!(folder.names().contains(&CACHE.to_string()));
}

#[test]
fn every_format_has_a_cache_that_gives_the_same_model_when_the_data_are_gone() {
    for (format, file) in FORMATS {
        for flags in ["", "--hash-bits 6", "--loss squared --precision f64"] {
            let folder = Folder::with(file, in_format(&classes(300, 99, 1), format));
            folder.ok(&format!("train {file} -o off --cache off {flags}"));
            folder.ok(&format!("train {file} -o wrote {flags}"));
            folder.ok(&format!("train {file} -o read {flags}"));
            fs::remove_file(folder.path(file)).unwrap();
            folder.ok(&format!("train {file} -o only --cache only {flags}"));
            for model in ["wrote", "read", "only"] {
                assert!(folder.read(model) == folder.read("off"), "{format} {flags}: {model}");
            }
            folder.refuses(&format!("train {file} -o x {flags}"), 1, &[file]);
        }
    }
}

#[test]
fn compressed_data_have_a_cache_too() {
    let folder = folder();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&folder.read("data.svm")).unwrap();
    folder.write("data.svm.gz", encoder.finish().unwrap());
    for _ in 0..2 {
        folder.ok("train data.svm.gz -o z");
        assert!(folder.read("z") == folder.read("m"));
    }
    fs::remove_file(folder.path("data.svm.gz")).unwrap();
    folder.ok("train data.svm.gz -o z --cache only");
    assert!(folder.read("z") == folder.read("m"));
}

#[test]
fn where_no_cache_can_be_written_training_goes_on_and_says_so() {
    let folder = folder();
    fs::create_dir(folder.path(CACHE)).unwrap();
    let told = notes(&folder, "");
    assert!(
        told.iter().any(|note| note.contains(CACHE) && note.contains("no cache can be written")),
        "{told:?}"
    );
    assert!(folder.path(CACHE).is_dir());
    folder.refuses("train data.svm -o x --cache only", 1, &[CACHE]);
    let told = notes(&folder, "--cache nowhere/c");
    assert!(told.iter().any(|note| note.contains("nowhere/c")), "{told:?}");
}

#[test]
#[cfg(unix)]
fn a_folder_that_may_not_be_written_to_gets_no_cache() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    fs::create_dir(folder.path("data")).unwrap();
    folder.write("data/data.svm", text(&classes(40, 10, 1)));
    let rights = |mode| fs::set_permissions(folder.path("data"), fs::Permissions::from_mode(mode)).unwrap();
    rights(0o555);
    let may = File::create(folder.path("data/probe")).is_ok(); // an administrator may do anything
    let told = folder.ok("train data/data.svm -o m").stderr;
    assert!(may || told.contains("no cache can be written"), "{told}");
    assert!(may || !folder.path("data/data.svm.lazyglm-cache").exists());
    rights(0o755);
}

/// Spoils the cache of this name, or the data it was made of.
type Spoil = fn(&Folder, &str);

/// Ways in which a cache of these data comes to be one that must not be used, and a word of the note on it.
fn spoilt() -> Vec<(&'static str, Spoil)> {
    fn modified(folder: &Folder) -> std::time::SystemTime {
        fs::metadata(folder.path("data.svm")).unwrap().modified().unwrap()
    }
    fn set_modified(folder: &Folder, time: std::time::SystemTime) {
        File::options().write(true).open(folder.path("data.svm")).unwrap().set_modified(time).unwrap();
    }
    vec![
        ("changed", |folder, _| set_modified(folder, modified(folder) - Duration::from_secs(5))), // touched
        ("changed", |folder, _| {
            let time = modified(folder);
            let more = [folder.read("data.svm"), b"1 3:1\n".to_vec()].concat();
            folder.write("data.svm", more);
            set_modified(folder, time); // longer
        }),
        ("changed", |folder, _| {
            let (time, mut data) = (modified(folder), folder.read("data.svm"));
            let at = data.iter().rposition(|byte| *byte == b':').unwrap() + 1;
            data[at] = if data[at] == b'0' { b'1' } else { b'0' }; // a value
            folder.write("data.svm", data);
            set_modified(folder, time);
        }),
        ("changed", |folder, cache| {
            folder.write("other.svm", text(&classes(40, 10, 2)));
            folder.ok("train other.svm --cache other");
            fs::copy(folder.path("other"), folder.path(cache)).unwrap();
        }),
        ("other settings", |folder, cache| {
            folder.ok("train data.svm --cache other --hash-bits 3");
            fs::copy(folder.path("other"), folder.path(cache)).unwrap();
        }),
        ("other settings", |folder, cache| {
            folder.ok("train data.svm --cache other --format svmlight");
            fs::copy(folder.path("other"), folder.path(cache)).unwrap();
        }),
        ("checksum", |folder, cache| {
            let mut bytes = folder.read(cache);
            bytes[40] ^= 4; // in a fragment
            folder.write(cache, bytes);
        }),
        ("checksum", |folder, cache| {
            let mut bytes = folder.read(cache);
            let at = bytes.len() - 100; // at the end
            bytes[at] ^= 4;
            folder.write(cache, bytes);
        }),
        ("cut short", |folder, cache| {
            let bytes = folder.read(cache);
            folder.write(cache, &bytes[..bytes.len() / 2]);
        }),
        ("cut short", |folder, cache| folder.write(cache, b"lazyglm cache 4\n")),
        ("another version", |folder, cache| {
            let mut bytes = folder.read(cache);
            bytes[14] = b'9';
            folder.write(cache, bytes);
        }),
    ]
}

#[test]
fn a_cache_that_does_not_fit_is_named_in_a_note_and_made_again() {
    for (k, (what, spoil)) in spoilt().into_iter().enumerate() {
        for cache in ["", "--cache mine"] {
            let folder = folder();
            let name = if cache.is_empty() { CACHE } else { "mine" };
            folder.ok(&format!("train data.svm {cache}"));
            spoil(&folder, name);
            let told = notes(&folder, cache);
            assert_eq!(told.len(), 2, "case {k} {cache}: {told:?}");
            assert!(told[0].contains(name) && told[0].contains(what), "case {k} {cache}: {told:?}");
            assert!(told[1].starts_with("note: wrote"), "case {k} {cache}: {told:?}");
            assert_eq!(notes(&folder, cache), Vec::<String>::new(), "case {k} {cache}: and then it fits");
        }
    }
}

#[test]
fn a_cache_that_does_not_fit_is_refused_with_only() {
    for (what, spoil) in spoilt() {
        let folder = folder();
        folder.ok("train data.svm");
        folder.ok("train data.svm -o x --cache only");
        assert!(folder.read("x") == folder.read("m"));
        spoil(&folder, CACHE);
        folder.refuses("train data.svm -o x --cache only", 1, &[CACHE, what]);
    }
    folder().refuses(
        "train data.svm -o x --cache only",
        1,
        &[CACHE, "the cache does not exist", "--cache auto"],
    );
    let folder = folder();
    fs::remove_file(folder.path("data.svm")).unwrap();
    folder.refuses("train data.svm -o x --cache only", 1, &[CACHE, "the cache does not exist"]);
}

#[test]
fn a_file_that_is_no_cache_is_left_alone() {
    let folder = folder();
    folder.write("notes.txt", "not to be lost\n");
    folder.write("empty", "");
    folder.refuses("train data.svm -o x --cache notes.txt", 2, &["notes.txt", "not a cache"]);
    folder.refuses("train data.svm -o x --cache empty", 2, &["empty", "not a cache"]);
    folder.refuses("train data.svm -o x --cache m", 2, &["--cache m", "not a cache"]);
    folder.refuses("train data.svm -o x --cache data.svm", 2, &["data.svm"]);
    folder.refuses("train data.svm -o x --cache ./data.svm", 2, &["data.svm"]);
    folder.ok("train data.svm --cache c");
    folder.refuses("train data.svm -o c --cache c", 2, &["c"]);
    folder.refuses("train data.svm -o m --cache m", 2, &["m"]);
    folder.write(CACHE, "hello");
    let told = notes(&folder, "");
    assert!(told.len() == 1 && told[0].contains("not a cache of lazyglm"), "{told:?}");
    assert_eq!(folder.read(CACHE), b"hello", "nobody asked for it to be overwritten");
}

#[test]
fn reading_flags_are_part_of_what_a_cache_is_of() {
    let table = "age,job,id,label\n31,cook,7,yes\n25,nurse,8,no\n47,cook,9,no\n18,smith,7,yes\n";
    let flags = [
        "",
        "--drop id",
        "--categorical id",
        "--categorical id,age",
        "--target job --loss hinge --drop label",
        "--hash-bits 8",
        "--hash-bits 9",
    ];
    let folder = Folder::with("data.csv", table.replace("smith", "cook"));
    for flags in flags {
        folder.ok(&format!("train data.csv -o off --cache off {flags}"));
        let first = folder.ok(&format!("train data.csv -o first {flags}")).stderr;
        let second = folder.ok(&format!("train data.csv -o second {flags}")).stderr;
        assert_eq!(first.contains("other settings"), !flags.is_empty(), "{flags}: {first}");
        assert!(!second.contains("cache"), "{flags}: {second}");
        assert!(folder.read("first") == folder.read("off") && folder.read("second") == folder.read("off"));
    }
    // What is no part of reading uses the same cache.
    folder.ok("train data.csv");
    for flags in ["--l1 0.1", "--loss hinge", "--precision f64", "--epochs 1", "--seed 3", "--no-bias"] {
        let told = folder.ok(&format!("train data.csv -o with {flags}")).stderr;
        assert!(!told.contains("cache"), "{flags}: {told}");
        folder.ok(&format!("train data.csv -o off --cache off {flags}"));
        assert!(folder.read("with") == folder.read("off"), "{flags}");
    }
}

#[test]
fn features_declared_validation_and_weights_do_not_depend_on_the_cache() {
    let folder = folder();
    folder.write("check.svm", text(&classes(20, 12, 5)));
    let weight = |k: usize| ["1\n", "2\n", "0.5\n", "0\n"][k % 4];
    folder.write("weights", (0..40).map(weight).collect::<String>());
    folder.write("positive", (0..40).map(|k| weight(k % 3)).collect::<String>());
    folder.ok("train data.svm");
    for flags in [
        "--features 50",
        "--index-base 0",
        "--validation check.svm --early-stop 1",
        "--validation 0.3",
        "--sample-weights weights",
        "--sample-weights positive --class-weight balanced",
    ] {
        folder.ok(&format!("train data.svm -o off --cache off --quiet {flags}"));
        folder.ok(&format!("train data.svm -o with --quiet {flags}"));
        assert!(folder.read("with") == folder.read("off"), "{flags}");
    }
    folder.refuses("train data.svm --index-base 1 --features 2", 1, &["data.svm:"]);
    let (off, auto) = ("train data.svm --features 2 --cache off", "train data.svm --features 2");
    assert_eq!(folder.run(off).stderr, folder.run(auto).stderr);
}

#[test]
fn a_run_that_diverges_names_the_same_row_from_the_cache() {
    let folder = Folder::with("data.svm", format!("# a head\n\n{}", text(&numbers(100, 10, 1))));
    let run = "train data.svm --loss squared --eta0 30 --schedule constant --order sequential --quiet";
    let off = folder.run(&format!("{run} --cache off"));
    assert!(off.code == 1 && off.stderr.contains("data.svm:"), "{}", off.stderr);
    for _ in 0..2 {
        assert_eq!(folder.run(run).stderr, off.stderr);
    }
    assert_eq!(folder.run(&format!("{run} --cache only")).stderr, off.stderr);
}

#[test]
fn standard_input_is_never_read_from_a_cache() {
    let folder = Folder::new();
    let [first, second] = [1, 2].map(|seed| text(&classes(40, 10, seed)));
    let train = |data: &str, flags: &str| {
        let output = folder.run_on(data.as_bytes(), &format!("train - -o m {flags}"));
        assert_eq!(output.code, 0, "{}", output.stderr);
        folder.read("m")
    };
    let models = [train(&first, ""), train(&second, "")];
    assert_eq!(folder.names(), ["m"], "no cache without a name for it");
    for _ in 0..2 {
        assert!(train(&first, "--cache c") == models[0]);
        assert!(train(&second, "--cache c") == models[1]);
    }
}

#[test]
fn data_that_are_refused_leave_no_cache() {
    let folder = Folder::with("data.svm", "1 1:1\n-1 2:x\n");
    folder.refuses("train data.svm -o m", 1, &["data.svm:2:6"]);
    folder.write("data.svm", "\n# nothing\n");
    folder.refuses("train data.svm -o m", 1, &["no rows"]);
    assert_eq!(folder.names(), ["data.svm"]);
}

#[test]
fn only_means_only_with_sample_weights_of_zero_too() {
    let folder = folder();
    folder.write("weights", "1\n0\n".repeat(20));
    folder.refuses("train data.svm -o x --cache only --sample-weights weights", 2, &["--cache only"]);
}

#[test]
fn renumbered_features_are_called_as_they_are_written() {
    for (format, file) in FORMATS {
        let folder = Folder::with(file, in_format(&classes(300, 90, 5), format));
        let flags = "--precision f64 --eta0 0.05 --quiet";
        folder.ok(&format!("train {file} --cache off -o plain {flags}"));
        folder.ok(&format!("train {file} --renumber -o renumbered {flags}"));
        let weights = |model: &str| -> Vec<(String, f64)> {
            let text = folder.ok(&format!("inspect {model} --all --tsv")).stdout;
            let lines = text.lines().map(|line| line.split_once('\t').expect("a tab"));
            lines.map(|(name, w)| (name.to_string(), w.parse().expect("a number"))).collect()
        };
        for ((name, w), (renumbered, v)) in weights("plain").into_iter().zip(weights("renumbered")) {
            assert!(name == renumbered && close(w, v, 1e-12), "{format}: {name} {w}, {renumbered} {v}");
        }
        let scores = |model: &str| folder.scores(model, &format!("{file} --strict"));
        for (a, b) in scores("plain").into_iter().zip(scores("renumbered")) {
            assert!(close(a, b, 1e-12), "{format}: {a} {b}");
        }
        folder.write("zeros", "1\n0\n".repeat(150));
        folder.refuses(
            &format!("train {file} --renumber --sample-weights zeros"),
            2,
            &["--renumber does not go with sample weights of 0"],
        );
    }
}
