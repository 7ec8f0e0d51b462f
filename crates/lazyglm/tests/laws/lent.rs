//! Laws of rows that are lent and of models that are kept between calls: where rows lie, how calls are cut and who learns beside whom
//! changes no bit; scikit-learn's rule stops where it says.

use crate::common::{METHODS, log_uniform, penalty, rows};
use lazyglm::optim::resumable::{Manner, Resumable};
use lazyglm::optim::scikit_learn_rate::Rate;
use lazyglm::problem::lent::{Lent, LentRows};
use lazyglm::problem::source::Sequence;
use lazyglm::train::epoch_loop::Epochs;
use lazyglm::train::plateau::{Course, Plateau};
use lazyglm::train::scikit_learn::{Class, fit_classes, fit_one};
use lazyglm::util::random::Random;
use lazyglm::{Order, Precision, Rows, loss};
use proptest::prelude::*;

const COLUMNS: usize = 40;
const ROWS: usize = 120;

fn rule(tol: Option<f64>) -> Plateau<'static> {
    let slower = String::new();
    Plateau {
        tol,
        patience: 2,
        eta0: 0.1,
        adaptive: false,
        score: None,
        watch: None,
        look: &|| Ok(()),
        slower,
    }
}

fn rate() -> Rate<'static> {
    Rate { name: "invscaling", eta0: 0.1, alpha: 1e-3, power_t: 0.25 }
}

fn epochs(most: u64) -> Epochs {
    let sequence = Sequence { order: Order::Shuffled, seed: 7 };
    Epochs { before: 0, most, sequence, stride: usize::MAX }
}

/// Calls with the rows lent as they are, and gathered a window at a time.
fn both(rows: &Rows, targets: &[f64], weights: Option<&[f64]>, learn: &mut dyn FnMut(&Lent)) {
    let gather = |row: usize, pairs: &mut Vec<(u32, f64)>| {
        rows.borrow().for_each(row, |j, x| pairs.push((j as u32, x)));
    };
    let offsets: Vec<f64> = targets.iter().map(|y| 0.3 * y).collect();
    for lent in [LentRows::Sorted(rows.borrow()), LentRows::F64(&gather)] {
        let check = &|| Ok(());
        let offsets = Some(&offsets[..]);
        learn(&Lent { rows: lent, columns: COLUMNS, targets, weights, offsets, subset: None, check });
    }
}

fn bits(model: &Resumable) -> (Vec<u64>, u64, u64) {
    (model.read().iter().map(|w| w.to_bits()).collect(), model.mean_bias().to_bits(), model.steps())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn where_rows_lie_and_how_calls_are_cut_changes_no_bit(seed in any::<u64>(), average in 0u64..300, single in any::<bool>()) {
        let mut random = Random::new(seed);
        let rows = rows(&mut random, ROWS, COLUMNS);
        let targets: Vec<f64> = (0..ROWS).map(|_| if random.below(2) == 0 { 1.0 } else { -1.0 }).collect();
        let weights: Vec<f64> = (0..ROWS).map(|_| log_uniform(&mut random, 0.1, 5.0)).collect();
        let precision = if single { Precision::F32 } else { Precision::F64 };
        let penalty = penalty(&mut random, 0.05, 0.5);
        let manner = Manner { penalty, method: METHODS[random.below(2) as usize], precision, bias: true, average };
        let (logistic, start) = (loss::parse("logistic").unwrap(), Resumable::new(manner, vec![0.0; COLUMNS], 0.0, 0).unwrap());
        let mut found = Vec::new();
        both(&rows, &targets, Some(&weights), &mut |lent| {
            let mut whole = start.clone();
            fit_one(&mut whole, (&*logistic, rate()), lent, &rule(None), &epochs(4)).unwrap();
            found.push(bits(&whole));
            let mut cut = start.clone();
            for most in [1, 2, 1] {
                fit_one(&mut cut, (&*logistic, rate()), lent, &rule(None), &epochs(most)).unwrap();
                cut = Resumable::from_state(manner, cut.state()).unwrap();
            }
            found.push(bits(&cut));
        });
        prop_assert!(found.iter().all(|one| *one == found[0]));
    }

    #[test]
    fn classes_as_lanes_have_the_bits_of_classes_alone(seed in any::<u64>(), classes in 2usize..7) {
        let mut random = Random::new(seed);
        let rows = rows(&mut random, ROWS, COLUMNS);
        let targets: Vec<f64> = (0..ROWS).map(|_| random.below(classes as u64) as f64).collect();
        let penalty = penalty(&mut random, 0.05, 0.5);
        let manner = Manner { penalty, method: METHODS[0], precision: Precision::F64, bias: true, average: 0 };
        let (hinge, tol) = (loss::parse("hinge").unwrap(), Some(1e-3));
        let start = || vec![Resumable::new(manner, vec![0.0; COLUMNS], 0.0, 0).unwrap(); classes];
        both(&rows, &targets, None, &mut |lent| {
            let (mut together, mut alone) = (start(), start());
            let class = |(code, model)| Class { code, weight: 1.0 + code as f64, model };
            let all: Vec<Class> = together.iter_mut().enumerate().map(class).collect();
            let courses = fit_classes(all, (&*hinge, rate()), lent, &rule(tol), &epochs(9)).unwrap();
            for (k, model) in alone.iter_mut().enumerate() {
                let own: Vec<Course> =
                    fit_classes(vec![class((k, model))], (&*hinge, rate()), lent, &rule(tol), &epochs(9)).unwrap();
                assert_eq!(own[0].losses, courses[k].losses, "class {k} stops where it does alone");
            }
            assert!(together.iter().zip(&alone).all(|(a, b)| bits(a) == bits(b) && a.epochs == b.epochs));
        });
    }
}

#[test]
fn a_run_ends_after_so_many_epochs_without_improvement() {
    let rows = rows(&mut Random::new(1), ROWS, COLUMNS);
    let targets: Vec<f64> = (0..ROWS).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
    let penalty = lazyglm::ElasticNet::new(1e-3, 0.0).unwrap();
    let manner = Manner { penalty, method: METHODS[0], precision: Precision::F64, bias: true, average: 0 };
    let logistic = loss::parse("logistic").unwrap();
    both(&rows, &targets, None, &mut |lent| {
        let epochs_of = |tol: Option<f64>| {
            let mut model = Resumable::new(manner, vec![0.0; COLUMNS], 0.0, 0).unwrap();
            fit_one(&mut model, (&*logistic, rate()), lent, &rule(tol), &epochs(50)).unwrap()[0].losses.len()
        };
        assert_eq!(epochs_of(None), 50);
        assert_eq!(epochs_of(Some(1e9)), 3, "the first epoch, and two that do not improve by so much");
        assert!((3..50).contains(&epochs_of(Some(1e-3))));
    });
}

#[test]
fn some_of_the_rows_are_learnt_as_if_there_were_no_others() {
    let all = rows(&mut Random::new(2), ROWS, COLUMNS);
    let targets: Vec<f64> = (0..ROWS).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
    let some: Vec<usize> = (0..ROWS).filter(|i| i % 5 != 1).collect();
    let subset: Vec<u32> = some.iter().map(|&i| i as u32).collect();
    let (fewer, fewer_targets) = (all.select(&some), some.iter().map(|&i| targets[i]).collect::<Vec<f64>>());
    let penalty = lazyglm::ElasticNet::new(1e-3, 1e-3).unwrap();
    let manner = Manner { penalty, method: METHODS[0], precision: Precision::F64, bias: true, average: 0 };
    let logistic = loss::parse("logistic").unwrap();
    let mut found = Vec::new();
    let mut learn = |lent: &Lent| {
        let mut model = Resumable::new(manner, vec![0.0; COLUMNS], 0.0, 0).unwrap();
        fit_one(&mut model, (&*logistic, rate()), lent, &rule(None), &epochs(2)).unwrap();
        found.push(bits(&model));
    };
    both(&fewer, &fewer_targets, None, &mut learn);
    both(&all, &targets, None, &mut |lent| learn(&Lent { subset: Some(&subset), ..*lent }));
    assert!(found.iter().all(|one| *one == found[0]));
}
