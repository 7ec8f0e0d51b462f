//! Laws of lanes: each lane is the model it would be alone.

use crate::common::{METHODS, OpenLoop, difference, log_uniform, penalty};
use lazyglm::Precision;
use lazyglm::optim::kernel::{Folded, Lanes16};
use lazyglm::optim::lane_loss::{OneVsRest, Same};
use lazyglm::optim::lanes::{Pass, block};
use lazyglm::optim::reference::Dense;
use lazyglm::optim::sgd::{Online, Rule};
use lazyglm::optim::update::Update;
use lazyglm::problem::task::Sets;
use lazyglm::schedule::{Schedule, Setting, Spec};
use lazyglm::util::random::{Random, permutation};
use lazyglm::{ElasticNet, Examples, Method, Row, Value, ValuesRef, loss, schedule, synth};
use proptest::prelude::*;

const FEATURES: usize = 120;

/// A run of some lanes, and of each of them alone.
struct Race<'a> {
    examples: Examples<'a>,
    loss: &'a dyn lazyglm::Loss,
    penalties: Vec<ElasticNet>,
    method: Method,
    rates: Vec<Box<dyn Schedule>>,
    order: Vec<u32>,
    cuts: Vec<usize>,
}

type Weights = (Vec<f64>, f64);

impl Race<'_> {
    fn together(
        &self,
        width: Precision,
        lane_loss: &mut dyn lazyglm::optim::lane_loss::LaneLoss,
    ) -> Vec<Option<Weights>> {
        let mut block = block(self.examples.rows.columns(), &self.penalties, self.method, true, width);
        let rates: Vec<&dyn Schedule> = self.rates.iter().map(|rate| &**rate).collect();
        let mut rest = &self.order[..];
        let (rows, weights) = (self.examples.rows, self.examples.weights);
        for &cut in &self.cuts {
            let (now, later) = rest.split_at(cut.min(rest.len()));
            block.learn(lane_loss, &Pass { rates: &rates, rows, weights, order: now });
            let _looked: Vec<f64> = block.weights(0).collect();
            block.score(rows, &self.order[..5], &mut |_, _| {});
            rest = later;
        }
        block.learn(lane_loss, &Pass { rates: &rates, rows, weights, order: rest });
        (0..self.penalties.len())
            .map(|lane| {
                block.diverged(lane).is_none().then(|| (block.weights(lane).collect(), block.bias(lane)))
            })
            .collect()
    }

    fn alone<U: Update>(&self, lane: usize, targets: &[f64], update: U) -> Option<Weights> {
        let rate = if self.rates.len() == 1 { &self.rates[0] } else { &self.rates[lane] };
        let rule = Rule { loss: self.loss, schedule: &**rate };
        let mut model = Online::new(update, true);
        let examples = Examples { targets, ..self.examples };
        model.learn(&rule, examples, &self.order).ok()?;
        Some((model.update.weights(), model.bias))
    }
}

fn bits(weights: &Option<Weights>) -> Option<(Vec<u64>, u64)> {
    weights.as_ref().map(|(w, b)| (w.iter().map(|w| w.to_bits()).collect(), b.to_bits()))
}

fn one<V: Value>(lanes: &mut Lanes16, dense: &mut [Dense<true>], row: Row<V>, amounts: &[f64; 16]) {
    lanes.score(row, &[]);
    if amounts[0] != 0.0 {
        lanes.pull(row, amounts, &[false; 16]);
        dense.iter_mut().zip(amounts).for_each(|(dense, &amount)| dense.pull(row, amount));
    }
}

/// Few weights of many columns: a rebase visits only the ids alive at the last one and those touched since.
/// A rate that halves every 20 rows forces rebases.
#[test]
fn lanes_with_few_weights_of_many_columns_have_the_bits_of_models_alone() {
    let features = 40_000;
    let shape = synth::Shape { rows: 200, features, words: 4.0, planted: 10, seed: 3 };
    let task = synth::documents(&shape).task;
    let examples = task.examples();
    for method in METHODS {
        let penalties: Vec<ElasticNet> =
            [0.03, 0.01, 3e-3, 1e-3].map(|l1| ElasticNet { l1, l2: 1e-3 }).into();
        let setting = Setting { eta0: 0.5, l2: 1e-3, rows: Some(200), epochs: 1 };
        let rates = vec![Spec::parse("exponential:half=20").unwrap().resolve(&setting).unwrap()];
        let order = permutation(200, 1, 0);
        let race = Race { examples, loss: &*task.loss, penalties, method, rates, order, cuts: vec![100, 37] };
        let together = race.together(Precision::F64, &mut Same { loss: &*task.loss, examples });
        for (lane, together) in together.iter().enumerate() {
            let update = Folded::<f64>::new(vec![0.0; features], race.penalties[lane], method);
            let alone = race.alone(lane, task.numbers(), update);
            assert!(bits(together) == bits(&alone), "lane {lane}, {method:?}");
            let alive = together.as_ref().unwrap().0.iter().filter(|w| **w != 0.0).count();
            assert!((1..features / 64).contains(&alive), "{alive} weights in lane {lane}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_lane_in_f64_has_the_bits_of_a_model_alone(seed in any::<u64>(), lanes in 1usize..=8) {
        let mut random = Random::new(seed);
        let shape = synth::Shape { rows: 400, features: FEATURES, words: 8.0, planted: 10, seed: seed % 16 };
        let task = synth::documents(&shape).task;
        let loss = &loss::TABLE[random.below(loss::TABLE.len() as u64) as usize];
        let loss = loss::parse(loss.name).unwrap();
        let targets: Vec<f64> = match loss.admits() {
            loss::Admits::Classes => task.numbers().to_vec(),
            loss::Admits::Reals => task.numbers().iter().map(|y| 2.0 * y + 0.5).collect(),
            loss::Admits::NonNegative => task.numbers().iter().map(|y| y + 1.0).collect(),
            loss::Admits::Positive => task.numbers().iter().map(|y| y + 1.5).collect(),
        };
        let method = METHODS[random.below(2) as usize];
        let schedule = &schedule::TABLE[random.below(schedule::TABLE.len() as u64) as usize];
        let spec = Spec::parse(schedule.name).unwrap();
        let own_rates = random.below(2) == 0;
        let penalties: Vec<ElasticNet> = (0..lanes).map(|_| penalty(&mut random, 1.0, 0.5)).collect();
        let mut rate = |l2: f64| {
            let setting = Setting { eta0: log_uniform(&mut random, 1e-3, 1.0), l2: l2.max(1e-3), rows: Some(400), epochs: 2 };
            spec.resolve(&setting).unwrap()
        };
        let rates: Vec<_> = if own_rates { penalties.iter().map(|penalty| rate(penalty.l2)).collect() } else { vec![rate(0.1)] };
        let fits = |lane: usize| rates[if own_rates { lane } else { 0 }].eta(0) * penalties[lane].l2 < 0.9;
        prop_assume!(method == Method::Fobos || (0..lanes).all(fits));
        let order: Vec<u32> = (0..3).flat_map(|epoch| permutation(400, seed, epoch)).collect();
        let cuts = (0..random.below(4)).map(|_| random.below(300) as usize).collect();
        let weights: Option<Vec<f64>> =
            (random.below(2) == 0).then(|| (0..400).map(|_| log_uniform(&mut random, 0.1, 10.0)).collect());
        let offsets: Option<Vec<f64>> =
            (random.below(2) == 0).then(|| (0..400).map(|_| random.uniform() - 0.5).collect());
        let (weights, offsets) = (weights.as_deref(), offsets.as_deref());
        let examples = Examples { targets: &targets, weights, offsets, ..task.examples() };
        let race = Race { examples, loss: &*loss, penalties, method, rates, order, cuts };
        let together = race.together(Precision::F64, &mut Same { loss: &*loss, examples });
        for (lane, together) in together.iter().enumerate() {
            let start = || vec![0.0; FEATURES];
            let alone = race.alone(lane, &targets, Folded::<f64>::new(start(), race.penalties[lane], method));
            prop_assert_eq!(bits(together), bits(&alone), "lane {}, loss {}", lane, loss.spec());
        }
    }

    #[test]
    fn a_lane_in_f32_stays_as_near_to_dense_updates_as_a_model_alone(seed in any::<u64>(), steps in 1usize..1500) {
        let mut random = Random::new(seed);
        let method = METHODS[random.below(2) as usize];
        let run = OpenLoop::draw(&mut random, steps, method, false);
        let columns = run.start.len();
        let penalties: Vec<ElasticNet> = (0..16)
            .map(|_| ElasticNet { l1: run.penalty.l1 * log_uniform(&mut random, 1e-3, 1.0), l2: run.penalty.l2 * random.uniform() })
            .collect();
        let mut lanes = Lanes16::new(columns, &penalties, method);
        let mut dense: Vec<_> = penalties.iter().map(|&penalty| Dense::<true>::new(vec![0.0; columns], penalty, method)).collect();
        let (rows, mut largest) = (run.rows.borrow(), 0.0f64);
        for t in 0..steps {
            let factor = |lane: usize| run.amounts[t] * (1.0 + lane as f64);
            let amounts: [f64; 16] = std::array::from_fn(factor);
            match rows.values() {
                ValuesRef::F32(values) => one(&mut lanes, &mut dense, rows.row(values, t), &amounts),
                ValuesRef::F64(values) => one(&mut lanes, &mut dense, rows.row(values, t), &amounts),
            }
            lanes.charge([run.etas[t]; 16], rows.nonzeros() / steps);
            dense.iter_mut().for_each(|dense| dense.charge(run.etas[t]));
            largest = dense.iter().flat_map(|dense| dense.weights()).fold(largest, |most, w| most.max(w.abs()));
        }
        for (lane, dense) in dense.iter().enumerate() {
            let worst = difference(&lanes.weights(lane), &dense.weights(), largest.max(f64::MIN_POSITIVE)).worst;
            prop_assert!(worst <= 1e-5, "lane {lane}: {worst:e}");
        }
    }

    #[test]
    fn a_label_in_a_lane_is_learnt_as_if_it_were_the_only_one(seed in any::<u64>(), first in 0u32..5) {
        let mut random = Random::new(seed);
        let shape = synth::Shape { rows: 300, features: FEATURES, words: 8.0, planted: 10, seed: seed % 16 };
        let task = synth::documents(&shape).task;
        let mut sets = Sets::default();
        for _ in 0..300 {
            sets.push((0..12).filter(|_| random.below(4) == 0));
        }
        let loss = loss::parse(["logistic", "hinge"][random.below(2) as usize]).unwrap();
        let penalties = vec![penalty(&mut random, 0.1, 0.1); 6];
        let setting = Setting { eta0: 0.3, l2: 0.0, rows: Some(300), epochs: 1 };
        let rates = vec![Spec::parse("inverse-sqrt").unwrap().resolve(&setting).unwrap()];
        let order = permutation(300, seed, 0);
        let race = Race { examples: task.examples(), loss: &*loss, penalties, method: Method::Fobos, rates, order, cuts: vec![] };
        let together = race.together(Precision::F64, &mut OneVsRest { loss: &*loss, sets: &sets, first });
        for (lane, together) in together.iter().enumerate() {
            let has = |i: usize| sets.has(i, first as usize + lane);
            let targets: Vec<f64> = (0..300).map(|i| if has(i) { 1.0 } else { -1.0 }).collect();
            let alone = race.alone(lane, &targets, Folded::<f64>::new(vec![0.0; FEATURES], race.penalties[lane], Method::Fobos));
            prop_assert_eq!(bits(together), bits(&alone));
        }
    }
}

#[test]
fn a_lane_that_diverges_is_taken_out_and_the_others_go_on() {
    let task = synth::documents(&synth::Shape { rows: 400, features: FEATURES, ..Default::default() }).task;
    let loss = loss::parse("squared").unwrap();
    let rates = [0.01, 1e6, 0.001].map(|eta0| {
        let setting = Setting { eta0, l2: 0.0, rows: Some(400), epochs: 1 };
        Spec::parse("constant").unwrap().resolve(&setting).unwrap()
    });
    let (penalties, order) = (vec![ElasticNet { l1: 1e-3, l2: 0.0 }; 3], permutation(400, 1, 0));
    let race = Race {
        examples: task.examples(),
        loss: &*loss,
        penalties,
        method: Method::Fobos,
        rates: rates.into(),
        order,
        cuts: vec![100],
    };
    let together = race.together(Precision::F64, &mut Same { loss: &*loss, examples: task.examples() });
    assert!(together[1].is_none(), "a rate of a million");
    for lane in [0, 2] {
        let update = Folded::<f64>::new(vec![0.0; FEATURES], race.penalties[lane], Method::Fobos);
        assert_eq!(bits(&together[lane]), bits(&race.alone(lane, task.numbers(), update)));
        assert!(together[lane].is_some());
    }
}
