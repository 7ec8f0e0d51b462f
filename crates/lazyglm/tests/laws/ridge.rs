//! Laws of problems without l1 on many columns: conjugate gradients on all weights reach the optimum, with a certificate.

use crate::common::log_uniform;
use lazyglm::loss::{self, Loss};
use lazyglm::objective::certify;
use lazyglm::optim::newton::{NewtonStop, Options, Problem, Solution, solve};
use lazyglm::util::random::Random;
use lazyglm::{ElasticNet, Examples, Rows, WeightedPenalty};

const COLUMNS: u32 = 900;

fn rows(random: &mut Random, n: usize) -> Rows {
    let mut rows = Rows::new();
    for _ in 0..n {
        let mut ids: Vec<u32> =
            (0..20).map(|_| (random.uniform().powi(3) * f64::from(COLUMNS)) as u32).collect();
        ids.push(COLUMNS - 1); // every row has this column
        ids.sort_unstable();
        ids.dedup();
        let row: Vec<(u32, f64)> = ids.iter().map(|&j| (j, log_uniform(random, 0.1, 3.0))).collect();
        rows.push(&row).unwrap();
    }
    rows
}

fn targets(random: &mut Random, loss: &dyn Loss, n: usize) -> Vec<f64> {
    let one = |i: usize| match loss.admits() {
        loss::Admits::Classes => [1.0, -1.0][usize::from(random.below(3) == 0)],
        loss::Admits::NonNegative | loss::Admits::Positive => 1.0 + (i % 4) as f64,
        _ => random.uniform() * 4.0 - 1.0,
    };
    (0..n).map(one).collect()
}

fn minimise(examples: Examples, loss: &dyn Loss, penalty: WeightedPenalty, bias: bool) -> Solution {
    let problem = Problem { examples, loss, weighted_penalty: penalty, bias };
    solve(&problem, None, &Options { tolerance: 1e-7, steps: 200 }, &mut |_| true)
}

#[test]
fn without_l1_many_columns_reach_the_optimum_with_a_certificate() {
    let mut random = Random::new(31);
    let (n, data) = (500, rows(&mut Random::new(30), 500));
    let factors: Vec<f64> = (0..COLUMNS).map(|j| 0.5 + f64::from(j % 3)).collect();
    for spec in ["squared", "logistic", "poisson", "huber", "squared-hinge"] {
        let loss = loss::parse(spec).unwrap();
        let targets = targets(&mut random, &*loss, n);
        let mut weights: Vec<f64> = (0..n).map(|_| log_uniform(&mut random, 0.1, 5.0)).collect();
        let mean = weights.iter().sum::<f64>() / n as f64;
        weights.iter_mut().for_each(|w| *w /= mean);
        for l2 in [1e-4, 1e-2] {
            for bias in [true, false] {
                let examples = Examples::new(data.borrow(), &targets, Some(&weights)).unwrap();
                let plain = ElasticNet { l1: 0.0, l2 };
                let penalty = WeightedPenalty { factors: Some(&factors), ..WeightedPenalty::of(plain) };
                let found = minimise(examples, &*loss, penalty, bias);
                assert_eq!(found.stop, NewtonStop::Gap, "{spec} {l2} {bias}");
                let proof = certify(examples, &*loss, penalty, &found.weights, bias.then_some(found.bias));
                let gap = proof.relative_gap.unwrap();
                assert!(gap < 2e-7, "{spec}, l2 {l2}, bias {bias}: a gap of {gap:e}");
            }
        }
    }
}

#[test]
fn the_quadratic_model_of_the_squared_loss_is_exact_so_that_one_step_suffices() {
    let data = rows(&mut Random::new(32), 800);
    let loss = loss::parse("squared").unwrap();
    let targets = targets(&mut Random::new(33), &*loss, 800);
    let examples = Examples::new(data.borrow(), &targets, None).unwrap();
    for l2 in [1e-6, 1e-4, 1e-2] {
        let found = minimise(examples, &*loss, WeightedPenalty::of(ElasticNet { l1: 0.0, l2 }), true);
        assert_eq!(found.stop, NewtonStop::Gap);
        assert!(found.steps <= 1, "{} steps at l2 = {l2}", found.steps);
    }
}
