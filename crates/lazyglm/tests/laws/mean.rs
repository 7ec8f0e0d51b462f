//! Laws of the mean of several runs: it is their mean, whatever the chunks, and one run is that run.

use crate::common::problem::{Problem, learns_alike_in_chunks};
use crate::common::{log_uniform, penalty};
use lazyglm::optim::ftrl::Ftrl;
use lazyglm::optim::learner::Learner;
use lazyglm::optim::run_average::RunAverage;
use lazyglm::optim::scales::Scales;
use lazyglm::util::random::{Random, permutation};
use lazyglm::{SOLVERS, Settings, loss, synth, train};
use proptest::prelude::*;

const ROWS: usize = 200;

/// A problem, and a model that has learnt nothing of it.
fn drawn(random: &mut Random) -> (Problem, Ftrl) {
    let loss = loss::parse("logistic").unwrap();
    let problem = Problem::draw(random, &*loss, ROWS, 20);
    let scales = Scales::of(problem.examples());
    let (penalty, eta) = (penalty(random, 1e-2, 1e-2), log_uniform(random, 1e-2, 1.0));
    let model = Ftrl::new(penalty, eta, scales.rms(), scales.units(&*loss, true), true);
    (problem, model)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn it_is_the_mean_of_runs_in_orders_of_their_own(seed in any::<u64>(), runs in 1u64..6) {
        let random = &mut Random::new(seed);
        let (problem, model) = drawn(random);
        let (examples, loss) = (problem.examples(), loss::parse("logistic").unwrap());
        let orders = [0, 1].map(|epoch| permutation(ROWS, seed, epoch));
        let mut mean = RunAverage::of(model.clone(), runs, seed);
        for order in &orders {
            mean.learn(&*loss, examples, order).unwrap();
        }

        let (mut weights, mut bias) = (vec![0.0; 20], 0.0);
        for run in 0..runs {
            let mut model = model.clone();
            for order in &orders {
                let way = if run == 0 { (0..ROWS as u32).collect() } else { permutation(ROWS, seed, run) };
                let mut order: Vec<u32> = order.iter().map(|&i| way[i as usize]).collect();
                model.learn(&*loss, examples, &order).unwrap();
                order.sort_unstable();
                prop_assert!(order.iter().copied().eq(0..ROWS as u32), "every row once");
            }
            weights.iter_mut().zip(model.weights()).for_each(|(sum, w)| *sum += w / runs as f64);
            bias += model.bias() / runs as f64;
        }
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-14 * (1.0 + a.abs());
        prop_assert!(mean.weights().iter().zip(&weights).all(|(a, b)| near(*a, *b)) && near(mean.bias(), bias));
        prop_assert_eq!(mean.t(), 2 * ROWS as u64);
    }

    #[test]
    fn any_chunks_give_the_bits_of_one_fit_and_looking_changes_none(seed in any::<u64>(), cuts in 1u64..20) {
        let random = &mut Random::new(seed);
        let ((problem, model), loss) = (drawn(random), loss::parse("logistic").unwrap());
        learns_alike_in_chunks(|| RunAverage::of(model.clone(), 3, seed), &*loss, problem.examples(), random, cuts);
    }
}

#[test]
fn the_mean_of_runs_is_better_than_most_of_them_and_only_some_solvers_know_it() {
    let shape = synth::Shape { rows: 400, features: 2_000, ..Default::default() };
    let whole = synth::documents(&shape).task;
    let [learnt, held] = [0..300, 300..400].map(|rows| whole.select(&rows.collect::<Vec<usize>>()));
    for solver in SOLVERS {
        let held_out = |runs, seed| {
            let (solver, eta0) = (solver.solver, Some(0.5));
            let settings = Settings { solver, eta0, runs, seed, epochs: 1, ..Settings::default() };
            train(&learnt, Some(&held), &settings, &mut |_| {})
                .map(|trained| (trained.report.runs, trained.report.validation.unwrap().loss))
        };
        assert!([0, u64::MAX].iter().all(|runs| held_out(*runs, 1).is_err()), "{}", solver.solver.name());
        if !solver.runs {
            let refused = held_out(4, 1).unwrap_err().to_string();
            assert!(refused.contains("runs") && refused.contains(solver.solver.name()), "{refused}");
            continue;
        }
        let single: Vec<f64> = (1..=8).map(|seed| held_out(1, seed).unwrap().1).collect();
        let (runs, mean) = held_out(8, 1).unwrap();
        let middle = single.iter().sum::<f64>() / 8.0;
        assert!(runs == 8 && mean < middle, "{}: {mean} {single:?}", solver.solver.name());
    }
}
