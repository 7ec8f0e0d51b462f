//! Laws of the schedules, for every entry of the table.

use lazyglm::schedule::{Setting, Spec, TABLE};

const SETTING: Setting = Setting { eta0: 0.5, l2: 0.01, rows: Some(1000), epochs: 5 };

fn eta(text: &str, t: u64) -> f64 {
    Spec::parse(text).unwrap().resolve(&SETTING).unwrap().eta(t)
}

#[test]
fn each_follows_its_formula() {
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-15 * b.abs(), "{a} for {b}");
    close(eta("constant", 12345), 0.5);
    close(eta("inverse", 500), 0.5 / 1.5);
    close(eta("inverse:t0=10", 5), 0.5 / 1.5);
    close(eta("inverse-sqrt", 3000), 0.25);
    close(eta("power:p=0.75,t0=1000", 15_000), 0.0625);
    close(eta("power:t0=1", 3), 0.25);
    close(eta("bottou", 0), 0.1);
    close(eta("bottou:t0=100", 900), 0.1);
    close(eta("exponential", 2000), 0.125);
    close(eta("exponential:half=10", 10), 0.25);
    close(eta("cosine", 2500), 0.25);
    close(eta("cosine:steps=100", 50), 0.25);
    close(eta("step", 999), 0.5);
    close(eta("step", 1000), 0.25);
    close(eta("step:factor=0.1,every=7", 14), 0.005);
}

#[test]
fn each_starts_at_eta0_never_rises_and_never_is_negative() {
    for entry in TABLE {
        let schedule = Spec::parse(entry.name).unwrap().resolve(&SETTING).unwrap();
        let start = if entry.name == "bottou" { 1.0 / (0.01 * 1000.0) } else { SETTING.eta0 };
        assert_eq!(schedule.eta(0), start, "{}", entry.name);
        let etas: Vec<f64> = (0..=5000).map(|t| schedule.eta(t)).collect();
        assert!(etas.windows(2).all(|two| two[1] <= two[0] && two[1] >= 0.0), "{}", entry.name);
        assert_eq!(schedule.is_constant(), etas[0] == etas[5000], "{}", entry.name);
    }
}

#[test]
fn what_a_stream_does_not_know_must_be_given() {
    let stream = Setting { rows: None, ..SETTING };
    for entry in TABLE.iter().filter(|entry| entry.keys.iter().any(|key| key.default.contains("rows"))) {
        let refused = Spec::parse(entry.name).unwrap().resolve(&stream).err().unwrap();
        assert!(refused.is_wrong_call() && refused.to_string().contains("give it"), "{refused}");
        let key = entry.keys.iter().find(|key| key.default.contains("rows")).unwrap().name;
        assert!(Spec::parse(&format!("{}:{key}=10", entry.name)).unwrap().resolve(&stream).is_ok());
    }
}

#[test]
fn bottou_needs_l2_and_typos_are_wrong_calls() {
    let refused = Spec::parse("bottou").unwrap().resolve(&Setting { l2: 0.0, ..SETTING }).err().unwrap();
    assert!(refused.is_wrong_call() && refused.to_string().contains("l2"), "{refused}");
    let refused = Spec::parse("cosin").unwrap_err();
    assert!(refused.to_string().contains("did you mean 'cosine'?"), "{refused}");
    assert!(Spec::parse("step:factor=2").is_err());
}
