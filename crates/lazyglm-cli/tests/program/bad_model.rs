//! Model files that are cut, damaged, strange or too new are refused, and a full disk harms none.

use crate::common::{Folder, classes, finish, text};
use lazyglm::Model;
use std::fs::File;

/// A folder with data and a small model `m` of them.
fn folder() -> Folder {
    let folder = Folder::with("data.svm", text(&classes(50, 6, 1)));
    folder.ok("train data.svm -o m");
    folder
}

const USES: [&str; 6] = [
    "predict bad data.svm",
    "predict bad data.svm -o new",
    "evaluate bad data.svm --json",
    "inspect bad",
    "inspect bad --all --tsv",
    "inspect bad --json",
];

fn refused_by_all(folder: &Folder, bytes: &[u8], parts: &[&str]) {
    folder.write("bad", bytes);
    for line in USES {
        folder.refuses(line, 1, &[&["bad:"], parts].concat());
    }
}

#[test]
fn a_model_flipped_in_any_one_bit_is_refused() {
    let folder = folder();
    let mut bytes = folder.read("m");
    assert!(Model::from_bytes(&bytes).is_ok());
    for at in 0..bytes.len() {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            assert!(Model::from_bytes(&bytes).is_err(), "byte {at}, bit {bit}");
            bytes[at] ^= 1 << bit;
        }
    }
    for at in [0, 5, 8, 30, bytes.len() / 2, bytes.len() - 100, bytes.len() - 9, bytes.len() - 1] {
        bytes[at] ^= 0x10;
        refused_by_all(&folder, &bytes, &[]);
        bytes[at] ^= 0x10;
    }
}

#[test]
fn a_model_cut_short_or_lengthened_is_refused() {
    let folder = folder();
    let bytes = folder.read("m");
    for length in 0..bytes.len() {
        assert!(Model::from_bytes(&bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
    }
    for length in [0, 1, 7, 8, 9, 100, bytes.len() / 2, bytes.len() - 8, bytes.len() - 1] {
        refused_by_all(&folder, &bytes[..length], &["cut short"]);
    }
    for more in ["\0", "\n", "more than this"] {
        let longer = [&bytes, more.as_bytes()].concat();
        assert!(Model::from_bytes(&longer).is_err());
        refused_by_all(&folder, &longer, &[]);
    }
}

#[test]
fn a_model_of_a_newer_version_is_refused_with_a_word_on_what_to_do() {
    let folder = folder();
    let bytes = folder.read("m");
    let key = br#"\"format\":1"#; // the metadata are JSON inside a JSON string
    let at = bytes.windows(key.len()).position(|window| window == key).expect("a format");
    let mut newer = bytes.clone();
    newer[at + key.len() - 1] = b'9';
    refused_by_all(&folder, &newer, &["format 9", "newer"]);
}

#[test]
fn what_is_no_model_is_refused() {
    let folder = folder();
    for bytes in [&b"1 1:1\n-1 2:1\n"[..], b"{}", b"\x02\0\0\0\0\0\0\0{}", &[0xff; 64], &[0; 64]] {
        refused_by_all(&folder, bytes, &["not a lazyglm model"]);
    }
    folder.refuses("predict data.svm m", 1, &["data.svm", "not a lazyglm model"]);
}

#[test]
fn a_model_whose_numbers_break_a_rule_is_refused_even_with_a_fitting_checksum() {
    let folder = folder();
    let good = || Model::from_bytes(&folder.read("m")).expect("a model");
    assert!(good().features.len() > 2 && Model::from_bytes(&good().to_bytes().expect("bytes")).is_ok());
    type Spoil = fn(&mut lazyglm::Model);
    let spoils: [(&str, Spoil); 9] = [
        ("a weight that is NaN", |m| m.weights[1] = f64::NAN),
        ("a weight that is infinite", |m| m.weights[1] = f64::INFINITY),
        ("a weight that is zero", |m| m.weights[1] = 0.0),
        ("a bias that is NaN", |m| m.bias = f64::NAN),
        ("features out of order", |m| m.features.swap(0, 1)),
        ("a feature twice", |m| m.features[1] = m.features[0]),
        ("fewer weights than features", |m| m.weights.truncate(1)),
        ("a feature never seen", |m| *m.features.last_mut().expect("one") = 4_000_000_000),
        ("no classes", |m| m.classes = None),
    ];
    for (what, spoil) in spoils {
        let mut model = good();
        spoil(&mut model);
        let Ok(bytes) = model.to_bytes() else { continue }; // refused even earlier
        assert!(Model::from_bytes(&bytes).is_err(), "{what}");
        refused_by_all(&folder, &bytes, &["rule"]);
    }
}

#[test]
fn a_model_read_back_is_the_model_written() {
    let folder = folder();
    let bytes = folder.read("m");
    let again = Model::from_bytes(&bytes).expect("a model").to_bytes().expect("bytes");
    let at = (0..bytes.len()).find(|&at| again.get(at) != bytes.get(at)).unwrap_or(0);
    let around = |bytes: &[u8]| String::from_utf8_lossy(&bytes[at.saturating_sub(40)..][..60]).into_owned();
    assert!(again == bytes, "at byte {at}:\n{}\n{}", around(&bytes), around(&again));
}

#[test]
fn an_old_model_is_replaced_whole_and_no_other_file_stays() {
    let folder = folder();
    folder.ok("train data.svm -o other --seed 5");
    folder.ok("train data.svm -o m --seed 5");
    assert_eq!(folder.read("m"), folder.read("other"));
    assert_eq!(folder.files(), ["data.svm", "m", "other"]);
}

#[test]
fn an_output_in_a_folder_that_does_not_exist_is_an_error_that_names_the_folder() {
    let folder = folder();
    for line in ["train data.svm -o gone/m", "predict m data.svm -o gone/out", "convert data.svm gone/out.vw"]
    {
        folder.refuses(line, 1, &["gone/", "its folder does not exist", "check"]);
    }
}

#[test]
fn a_full_device_as_the_output_is_a_failure_that_names_it() {
    let folder = folder();
    folder.refuses("train data.svm -o /dev/full", 1, &["/dev/full", "space"]);
    folder.refuses("train data.svm -o /dev/full --json --quiet", 1, &["/dev/full", "space"]);
    folder.refuses("predict m data.svm -o /dev/full", 1, &["/dev/full", "space"]);
}

#[test]
fn a_full_disk_leaves_the_old_file_as_it_was_and_nothing_beside_it() {
    let folder = folder();
    folder.write("out", "old predictions");
    let names = folder.files();
    let (model, out) = (folder.read("m"), folder.read("out"));
    let full = "trap '' XFSZ; ulimit -f 0"; // every write to a file fails, as on a full disk
    for line in [
        "train data.svm -o m",
        "train data.svm -o new --json",
        "predict m data.svm -o out",
        "predict m data.svm -o new",
    ] {
        let output = finish(&mut folder.command_under(full, line));
        assert_eq!(output.code, 1, "{line}: {}", output.stderr);
        assert_eq!(output.stdout, "", "{line}");
        let target = line.split_whitespace().skip_while(|word| *word != "-o").nth(1).expect("a name");
        assert!(output.stderr.contains(&format!("error: {target}: ")), "{line}: {}", output.stderr);
        assert_eq!(folder.files(), names, "{line}");
    }
    assert!(folder.read("m") == model && folder.read("out") == out);
}

#[test]
fn a_full_device_as_standard_output_is_a_failure() {
    let folder = folder();
    for line in [
        "train data.svm --quiet",
        "train data.svm --json --quiet",
        "predict m data.svm",
        "evaluate m data.svm",
        "evaluate m data.svm --json",
        "inspect m",
        "inspect m --all --tsv",
        "inspect m --json",
    ] {
        let full = File::options().write(true).open("/dev/full").expect("/dev/full");
        let output = finish(folder.command(line).stdout(full));
        assert_eq!(output.code, 1, "{line}: {}", output.stderr);
        assert!(output.stderr.contains("standard output"), "{line}: {}", output.stderr);
    }
}

#[cfg(unix)]
#[test]
fn a_link_is_written_through_and_rights_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::with("data.svm", "1 1:1\n-1 2:1\n");
    let at = |name: &str| folder.0.path().join(name);
    symlink("real", at("link")).expect("a link");
    folder.ok("train data.svm -o link"); // its target does not exist yet
    assert!(at("link").is_symlink() && at("real").is_file());
    std::fs::set_permissions(at("real"), std::fs::Permissions::from_mode(0o660)).expect("rights");
    folder.ok("train data.svm -o link");
    assert_eq!(std::fs::metadata(at("real")).expect("there").permissions().mode() & 0o777, 0o660);
    folder.ok("inspect link");
}
