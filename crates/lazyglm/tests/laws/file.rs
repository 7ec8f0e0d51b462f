//! Laws of files: what is written reads back, and no bytes whatever make a parser panic.

use crate::common::{log_uniform, sign};
use lazyglm::data::format::{Parsed, Parser, Svmlight};
use lazyglm::util::random::Random;
use lazyglm::{
    ElasticNet, Labels, Model, Settings, Solver, Targets, Tried, Validation, ValuesRef, loss, synth, train,
    util::number,
};
use proptest::prelude::*;
use std::path::Path;

fn parse(bytes: &[u8]) -> lazyglm::Result<Parsed> {
    let mut parsed = Parsed::default();
    Svmlight::default().parse(bytes, Path::new("test.svm"), &mut parsed).map(|()| parsed)
}

/// Rows as (target, pairs), with pairs sorted.
type Written = Vec<(f64, Vec<(u32, f64)>)>;

fn draw(random: &mut Random) -> Written {
    (0..random.below(20))
        .map(|_| {
            let mut ids: Vec<u32> =
                (0..random.below(10)).map(|_| log_uniform(random, 1.0, 4e9) as u32).collect();
            ids.sort_unstable();
            ids.dedup();
            let pairs =
                ids.into_iter().map(|id| (id, sign(random) * log_uniform(random, 1e-300, 1e300))).collect();
            (sign(random) * log_uniform(random, 1e-3, 1e3), pairs)
        })
        .collect()
}

/// The text of rows, with pairs in any order, values split into duplicates, comments, blank lines and line ends.
fn text(rows: &Written, random: &mut Random) -> String {
    let mut text = String::new();
    for (target, pairs) in rows {
        if random.below(4) == 0 {
            text += "# a comment\n\n";
        }
        text += &format!("{target:?}");
        let mut words: Vec<String> = Vec::new();
        for (id, x) in pairs {
            match random.below(4) {
                0 => words.extend([format!("{id}:{:?}", x / 2.0), format!("{id}:{:?}", x / 2.0)]), // exact halves
                1 => words.push(format!("{id}:{x:e}")),
                _ => words.push(format!("{id}:{x:?}")),
            }
        }
        random.shuffle(&mut words);
        for word in words {
            text += [" ", "  ", "\t"][random.below(3) as usize];
            text += &word;
        }
        text += [" # end", "", " "][random.below(3) as usize];
        text += ["\n", "\r\n"][random.below(2) as usize];
    }
    text.trim_end().to_string()
}

fn read_back(parsed: &Parsed) -> Written {
    let Labels::Numbers(targets) = &parsed.labels else { panic!("words") };
    let rows = parsed.rows.borrow();
    (0..rows.len())
        .map(|i| {
            let mut pairs = Vec::new();
            rows.for_each(i, |id, x| pairs.push((id as u32, x)));
            (targets[i], pairs)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn rows_read_back_as_written(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let rows = draw(&mut random);
        let parsed = parse(text(&rows, &mut random).as_bytes()).unwrap();
        prop_assert_eq!(read_back(&parsed), rows);
    }

    #[test]
    fn rows_are_the_same_however_the_text_is_cut_into_blocks(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let rows = draw(&mut random);
        let text = text(&rows, &mut random);
        let (mut parser, mut parsed) = (Svmlight::default(), Parsed::default());
        let mut block = String::new();
        for line in text.split_inclusive('\n') {
            block += line;
            if random.below(3) == 0 {
                parser.parse(block.as_bytes(), Path::new("test.svm"), &mut parsed).unwrap();
                block.clear();
            }
        }
        parser.parse(block.as_bytes(), Path::new("test.svm"), &mut parsed).unwrap();
        prop_assert_eq!(read_back(&parsed), rows);
    }

    #[test]
    fn numbers_parse_to_the_bits_of_the_standard_library(text in "[-+]?[0-9]{0,20}(\\.[0-9]{0,20})?([eE][-+]?[0-9]{1,3})?") {
        let ours = number::parse_number(text.as_bytes()).map(f64::to_bits);
        prop_assert_eq!(ours, text.parse::<f64>().ok().map(f64::to_bits), "{}", text);
    }

    #[test]
    fn any_bytes_are_rows_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
        let _ = Model::from_bytes(&bytes);
    }

    #[test]
    fn nearly_right_text_is_rows_or_an_error_with_its_place(text in "([-+0-9a-z.]{0,4}( [-0-9:.e#q\\x00é]{0,12}){0,4}\n){0,4}") {
        if let Err(error) = parse(text.as_bytes()) {
            prop_assert!(error.to_string().starts_with("test.svm:"), "{error}");
        }
    }
}

#[test]
fn an_error_names_file_line_and_column() {
    for (text, place, word) in [
        ("1 1:1\n-1 x:1\n", "test.svm:2:4:", "'x' is not a feature index"),
        ("1 1:1 2\n", "test.svm:1:7:", "'2' is not an index:value pair"),
        ("1 1:\n", "test.svm:1:5:", "no valid number"),
        ("1 1:1:2\n", "test.svm:1:5:", "no valid number"),
        ("1 -3:1\n", "test.svm:1:3:", "index -3 is negative"),
        ("1 4294967296:1\n", "test.svm:1:3:", "index 4294967296 is above 4294967295"),
        ("1 99999999999999999999999:1\n", "test.svm:1:3:", "above 4294967295"),
        ("# hi\n\n1 2:nan\n", "test.svm:3:5:", "not finite"),
        ("1 2:1e999\n", "test.svm:1:5:", "not finite"),
        ("inf 2:1\n", "test.svm:1:1:", "not finite"),
        ("1 2:1\nspam 1:1\nNaN 1:1\n", "test.svm:3:1:", "not finite"),
        ("1 2:1e308 2:1e308\n", "test.svm:1:1:", "sum to infinity"),
        ("1 2:\u{fffd}\n", "test.svm:1:5:", "no valid number"),
        ("1 \0:1\n", "test.svm:1:3:", "0x00 is not text"),
    ] {
        let error = parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(place) && error.contains(word), "{text:?}: {error}");
    }
    let error = parse(b"1 1:1\n\xff\xfe 1:1\n").unwrap_err().to_string();
    assert!(error.starts_with("test.svm:2:1:") && error.contains("0xff is not text"), "{error}");
}

#[test]
fn whole_values_are_kept_narrow_and_others_wide() {
    let narrow = parse(b"1 1:1 2:0.5 3:1024\n").unwrap();
    assert!(matches!(narrow.rows.borrow().values(), ValuesRef::F32(_)));
    let wide = parse(b"1 1:1 2:0.1\n").unwrap();
    assert!(matches!(wide.rows.borrow().values(), ValuesRef::F64([_, x]) if *x == 0.1));
    let explicit_zero = parse(b"1 1:0 5:0 2:3\n").unwrap();
    assert_eq!(explicit_zero.rows.nonzeros(), 1);
    assert_eq!(explicit_zero.span.unwrap().high.index, 5, "it still counts as a feature");
}

fn small_model(loss_name: &str, seed: u64) -> Model {
    let shape = synth::Shape { rows: 80, features: 40, words: 8.0, planted: 5, seed };
    let mut task = synth::documents(&shape).task;
    task.loss = loss::parse(loss_name).unwrap();
    if task.loss.admits() != loss::Admits::Classes {
        let least = if task.loss.admits() == loss::Admits::Positive { 0.5 } else { 0.0 };
        task.targets = Targets::Real(task.numbers().iter().map(|y| y.max(least)).collect());
    }
    let penalty = ElasticNet::new(1e-3, 1e-3).unwrap();
    let settings = Settings { penalty, epochs: 1, ..Settings::default() };
    let trained = train(&task, None, &settings, &mut |_| {}).unwrap();
    Model::new(&task, &settings, trained)
}

#[test]
fn a_model_reads_back_as_written_for_every_loss() {
    for (seed, entry) in loss::TABLE.iter().enumerate() {
        let model = small_model(entry.name, seed as u64);
        let bytes = model.to_bytes().unwrap();
        let back = Model::from_bytes(&bytes).unwrap();
        assert_eq!((&back.features, &back.weights, back.bias), (&model.features, &model.weights, model.bias));
        assert_eq!(
            (back.loss.spec(), &back.classes, &back.seen),
            (model.loss.spec(), &model.classes, &model.seen)
        );
        assert_eq!((&back.training, back.counting), (&model.training, model.counting));
        assert_eq!(back.to_bytes().unwrap(), bytes, "and writes the same bytes again");
    }
}

#[test]
fn a_model_with_any_one_bit_flipped_is_refused() {
    let bytes = small_model("logistic", 1).to_bytes().unwrap();
    let mut flipped = bytes.clone();
    for bit in 0..8 * bytes.len() {
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(Model::from_bytes(&flipped).is_err(), "bit {bit}");
        flipped[bit / 8] ^= 1 << (bit % 8);
    }
    assert!((0..bytes.len()).all(|length| Model::from_bytes(&bytes[..length]).is_err()), "cut short");
    assert!(Model::from_bytes(&[&bytes[..], b"x"].concat()).is_err(), "too long");
}

#[test]
fn a_model_of_a_newer_format_says_so() {
    let bytes = small_model("logistic", 1).to_bytes().unwrap();
    let at = bytes.windows(12).position(|w| w == br#"\"format\":1"#).unwrap();
    let mut newer = bytes.clone();
    newer[at + 11] = b'7';
    let (what, hint) = Model::from_bytes(&newer).unwrap_err();
    assert!(what.contains("format 7") && hint.contains("newer"), "{what}; {hint}");
}

#[test]
fn rows_renamed_wrongly_stay_as_they_were() {
    // The kernel trusts rows to be sorted: no refused change may leave them otherwise.
    let mut rows = lazyglm::Rows::new();
    rows.push(&[(0, 1.0), (1, 1.0)]).unwrap();
    let before = rows.clone();
    assert!(rows.rename(3, |id| if id == 0 { 50_000_000 } else { 0 }).is_err());
    assert!(rows.rename(3, |_| 1).is_err(), "two alike");
    assert_eq!(rows, before);
    rows.rename(9, |id| id + 7).unwrap();
    assert_eq!((rows.ids(), rows.columns()), (&[7, 8][..], 9));
}

#[test]
fn a_small_file_cannot_ask_for_much_memory() {
    let mut model = small_model("logistic", 1);
    model.seen.runs = vec![(0, u32::MAX)];
    let model = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    let mut rows = lazyglm::Rows::new();
    rows.push(&[(model.features[0], 1.0), (4_000_000_000, 1.0)]).unwrap();
    let mut scorer = lazyglm::Scorer::new(&model); // 32 GB, if it had an entry for each feature seen
    assert_eq!(scorer.score(rows.borrow(), 0), model.bias + model.weights[0]);
    assert_eq!(scorer.unseen(), None);
}

#[test]
fn class_names_that_would_break_lines_are_refused() {
    for classes in [["a", "a"], ["a\nb", "c"], ["\u{1b}[31m", "c"], ["", "c"]] {
        let mut model = small_model("logistic", 1);
        model.classes = Some(classes.map(String::from));
        assert!(Model::from_bytes(&model.to_bytes().unwrap()).is_err(), "{classes:?}");
    }
    let error = parse(b"\x1b[31mred 1:1\n").unwrap_err().to_string();
    assert!(error.starts_with("test.svm:1:1:") && error.contains("control character"), "{error}");
}

/// A number as files have it: counts, few or many decimals, exponents, a sign.
fn written_number(random: &mut Random) -> String {
    let x = sign(random) * log_uniform(random, 1e-9, 1e9);
    match random.below(8) {
        0 => random.below(10).to_string(),
        1 => random.below(1 << 40).to_string(),
        2 => format!("{x:?}"),
        3 => format!("{x:e}"),
        4 => format!("+{:.3}", x.abs()),
        5 => format!("{:.*}", random.below(12) as usize, x / 1e9),
        6 => format!("{:07}.{:08}", random.below(10_000_000), random.below(100_000_000)),
        _ => format!("{:.6}", random.uniform()),
    }
}

proptest! {
    /// Plain lines are read on a path of their own: it must see what the other sees, which reads the same line when a
    /// comment is added, and every number must be the one the standard library makes of it.
    #[test]
    fn plain_lines_read_like_all_others(seed in any::<u64>()) {
        let random = &mut Random::new(seed);
        let (mut plain, mut other, mut truth) = (String::new(), String::new(), Vec::new());
        for _ in 0..1 + random.below(4) {
            let mut line = ["1", "-1", "+1", "spam", "0.25", "1e3"][random.below(6) as usize].to_string();
            let mut id = 0;
            for _ in 0..random.below(6) {
                id += log_uniform(random, 1.0, 6e8) as u32;
                let number = written_number(random);
                let value: f64 = number.parse().unwrap();
                line += &format!(" {id}:{number}");
                truth.extend(Some((id, value)).filter(|(_, value)| *value != 0.0));
            }
            plain += &format!("{line}{}", ["\n", "\r\n"][random.below(2) as usize]);
            other += &format!("{line} #\n");
        }
        let (fast, slow) = (parse(plain.as_bytes()).unwrap(), parse(other.as_bytes()).unwrap());
        prop_assert_eq!(&fast.rows, &slow.rows);
        prop_assert_eq!(fast.labels, slow.labels);
        prop_assert_eq!(fast.span, slow.span);
        let mut read = Vec::new();
        (0..fast.rows.len()).for_each(|i| fast.rows.borrow().for_each(i, |id, x| read.push((id as u32, x))));
        prop_assert_eq!(read, truth);
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_so() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for first in ["PAR1", "ARROW1"] {
        std::fs::write(&file, first).unwrap();
        let error =
            lazyglm::Dataset::read(file.path(), lazyglm::Declared::default()).unwrap_err().to_string();
        let expected = "this lazyglm was built without Parquet; build it with the feature `parquet` of its crate, or convert the file";
        assert!(error.ends_with(expected), "{error}");
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_target() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, "\u{feff}1 1:1\r\n-1 2:1\r\n").unwrap();
    let data = lazyglm::Dataset::read(file.path(), lazyglm::Declared::default()).unwrap();
    assert_eq!(data.labels, Labels::Numbers(vec![1.0, -1.0]));
    assert_eq!(parse(b"1 0000000000007:1\n").unwrap().rows.ids(), [7], "nor do leading zeros matter");
}

#[test]
fn figures_that_were_not_measured_read_back_as_such() {
    let task = synth::documents(&synth::Shape { rows: 50, features: 20, ..Default::default() }).task;
    let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    let mut model = Model::new(&task, &Settings::default(), trained);
    let measured = model.training.report.violation;
    model.training.report.objective = f64::NAN;
    let back = Model::from_bytes(&model.to_bytes().unwrap()).unwrap().training.report;
    assert!(back.objective.is_nan());
    assert_eq!(back.violation, measured);
}

#[test]
fn figures_that_are_not_finite_are_kept_as_none_and_a_penalty_that_is_not_is_refused() {
    let task = synth::documents(&synth::Shape { rows: 50, features: 20, ..Default::default() }).task;
    let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
    let mut model = Model::new(&task, &Settings::default(), trained);
    let report = &mut model.training.report;
    (report.penalty, report.eta0, report.l1, report.l2) = (f64::INFINITY, f64::NAN, f64::INFINITY, f64::NAN);
    report.validation = Some(Validation { loss: f64::INFINITY, best_epoch: 1 });
    report.tried = vec![Tried {
        solver: Solver::Newton,
        l1: f64::INFINITY,
        l2: f64::NEG_INFINITY,
        loss: f64::INFINITY,
        se: f64::NAN,
        nonzeros: 0,
        rows: 1,
        seconds: f64::NAN,
        chosen: true,
    }];
    let read = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    let report = &read.training.report;
    assert!([report.penalty, report.eta0, report.l1, report.l2].iter().all(|figure| figure.is_nan()));
    assert!(report.tried[0].loss.is_nan() && report.validation.unwrap().loss.is_nan());

    type Spoil = fn(&mut Model);
    let spoils: [Spoil; 3] = [
        |model| model.training.l1 = f64::INFINITY,
        |model| model.bias = f64::NAN,
        |model| model.weights[0] = f64::INFINITY,
    ];
    for spoil in spoils {
        let mut model = model.clone();
        spoil(&mut model);
        let path = std::env::temp_dir().join(format!("lazyglm-laws-file-{}.model", std::process::id()));
        let error = model.save(&path).unwrap_err().to_string();
        assert!(error.contains("this model cannot be kept") && !path.exists(), "{error}");
    }
}
