//! Laws of the verbs that are asked of one shard of the rows.

use crate::common::problem::{Problem, losses};
use crate::common::{log_uniform, penalty, sign};
use lazyglm::loss;
use lazyglm::optim::prox_steps;
use lazyglm::optim::shard::{self, Local, Move, Point};
use lazyglm::util::random::{Random, permutation};
use lazyglm::{ElasticNet, Examples, Loss, Method, Rows, WeightedPenalty, objective};
use std::sync::Arc;

/// g(u − w) + ½h(u − w)² + λ₁|u| + ½λ₂u²: what the zero test says is least at zero.
fn model(u: f64, w: f64, g: f64, h: f64, weighted_penalty: &WeightedPenalty) -> f64 {
    g * (u - w) + 0.5 * h * (u - w) * (u - w) + weighted_penalty.value(&[u])
}

#[test]
fn the_zero_test_is_the_minimum_of_the_model() {
    let random = &mut Random::new(1);
    let mut outcomes = [0; 2];
    for draw in 0..4000 {
        let penalty = penalty(random, 1.0, 1.0);
        let weighted_penalty = WeightedPenalty { nonnegative: draw % 3 == 0, ..WeightedPenalty::of(penalty) };
        let h = log_uniform(random, 1e-3, 1e3);
        let w =
            log_uniform(random, 1e-4, 1e2) * if weighted_penalty.nonnegative { 1.0 } else { sign(random) };
        let g = h * w + sign(random) * penalty.l1 * log_uniform(random, 0.1, 10.0) * f64::from(draw % 5 != 0);
        let mut weights = [w];
        let zeroed = shard::zero_test(&mut weights, &[g], &[h], &weighted_penalty);
        outcomes[zeroed] += 1;
        // Convex, so zero is the minimum if no step from it, however small, goes down.
        let slope = g - h * w;
        let step = 1e-3 * (slope.abs() - penalty.l1).abs() / (h + penalty.l2);
        let down = |u: f64| model(u, 0.0, slope, h, &weighted_penalty) < 0.0;
        let least = !down(step) && (weighted_penalty.nonnegative || !down(-step));
        assert_eq!(zeroed == 1, least, "w = {w}, g = {g}, h = {h}, {weighted_penalty:?}");
    }
    assert!(outcomes.iter().all(|&times| times > 500), "both ways are drawn: {outcomes:?}");
}

#[test]
fn the_zero_test_knows_the_price_of_each_weight_and_leaves_what_is_not_a_number() {
    let weighted_penalty = WeightedPenalty {
        factors: Some(&[1.0, 0.0, 1.0]),
        ..WeightedPenalty::of(lazyglm::ElasticNet { l1: 1.0, l2: 0.0 })
    };
    let mut weights = [0.5, 0.5, f64::NAN];
    assert_eq!(shard::zero_test(&mut weights, &[0.0; 3], &[1.0; 3], &weighted_penalty), 1);
    assert_eq!(weights[..2], [0.0, 0.5], "the second weight is free");
    assert!(weights[2].is_nan(), "a diverged run shows");
}

/// A problem in one piece: rows, targets, weights, and a point.
struct Drawn {
    problem: Problem,
    point: Vec<f64>,
    other: Vec<f64>,
    metric: Vec<f64>,
}

impl Drawn {
    fn new(random: &mut Random, count: usize, columns: usize, loss: &dyn Loss) -> Drawn {
        let problem = Problem::draw(random, loss, count, columns);
        let mut point = |zeros: u64| -> Vec<f64> {
            let one = |random: &mut Random| match random.below(4) < zeros {
                true => 0.0,
                false => sign(random) * log_uniform(random, 1e-3, 0.5),
            };
            (0..columns).map(|_| one(random)).collect()
        };
        let (point, other) = (point(1), point(2));
        let metric = (0..columns).map(|_| log_uniform(random, 0.01, 3.0)).collect();
        Drawn { problem, point, other, metric }
    }

    fn at(&self) -> Point<'_> {
        Point { weights: &self.point, bias: 0.3 }
    }
}

/// Every loss whose slope does not jump.
fn smooth() -> impl Iterator<Item = Arc<dyn Loss>> {
    losses().filter(|loss| loss.kinks(1.0).is_empty())
}

/// The steps of a pass as they are defined, on all weights.
fn dense_pass(examples: Examples, loss: &dyn Loss, local: &Local) -> (Vec<f64>, f64) {
    let columns = local.at.weights.len();
    let zeroed = |j: usize| local.zeroed.is_some_and(|zeroed| zeroed[j]);
    let mut w: Vec<f64> = (0..columns).map(|j| if zeroed(j) { 0.0 } else { local.at.weights[j] }).collect();
    let mut b = local.at.bias;
    for i in permutation(examples.len(), local.seed, 0) {
        let (i, mut row) = (i as usize, vec![0.0; columns]);
        examples.rows.for_each(i, |j, x| row[j] = x);
        let dot = |w: &[f64]| w.iter().zip(&row).map(|(w, x)| w * x).sum::<f64>();
        let (y, share) = (examples.targets[i], examples.weight(i) * local.weight_scale);
        let offset = examples.offset(i);
        let score = dot(&w) + b + offset;
        let change = loss.slope(score, y) - loss.slope(dot(local.at.weights) + local.at.bias + offset, y);
        let second_derivative = loss.curvature().or(loss.second_derivative(score, y)).unwrap();
        let size = row.iter().zip(local.metric).map(|(x, m)| m * x * x).sum::<f64>()
            + local.bias_gradient.map_or(0.0, |_| local.bias_metric);
        let pull = share * change / (1.0 + local.eta * share * second_derivative * size);
        for j in 0..columns {
            let rate = local.eta * local.metric[j];
            w[j] -= rate * (pull * row[j] + local.gradient[j]);
            let [low, high] = local.weighted_penalty.range(j);
            w[j] = Method::Fobos.step(local.weighted_penalty.at(j), rate, w[j]).clamp(low, high);
        }
        b -= local.bias_gradient.map_or(0.0, |g| local.eta * local.bias_metric * (pull + g));
    }
    (w, b)
}

#[test]
fn many_steps_of_drift_and_prox_at_once() {
    let random = &mut Random::new(6);
    let mut crossed = [0; 3];
    for draw in 0..20_000 {
        let penalty = penalty(random, 0.1, 1.0);
        let rate = log_uniform(random, 1e-4, 1.0);
        let near = [0.0, 1.0, log_uniform(random, 0.5, 2.0), log_uniform(random, 1e-3, 1e3)][draw % 4];
        let gradient = sign(random) * if penalty.l1 > 0.0 { penalty.l1 * near } else { near };
        let steps = 1 + random.below([3, 40, 400][draw % 3]) as u32;
        let start = match draw % 7 {
            0 => 0.0,
            1 => sign(random) * log_uniform(random, 1e-8, 1e2),
            _ => {
                sign(random)
                    * rate
                    * f64::from(steps)
                    * (gradient.abs() + penalty.l1)
                    * log_uniform(random, 0.01, 10.0)
            }
        };
        let mut largest = start.abs();
        let dense = (0..steps).fold(start, |w, _| {
            let w = Method::Fobos.step(penalty, rate, w - rate * gradient);
            largest = largest.max(w.abs());
            w
        });
        let lazy = prox_steps::drift(penalty, rate, gradient, f64::from(steps), start);
        let scale = largest + rate * gradient.abs();
        assert!(
            (lazy - dense).abs() <= 1e-12 * scale,
            "{lazy} {dense}: {penalty:?}, {rate}, {gradient}, {steps}, {start}"
        );
        crossed[if dense == 0.0 {
            0
        } else if dense * start < 0.0 {
            1
        } else {
            2
        }] += 1;
    }
    assert!(crossed.iter().all(|&times| times > 1000), "all ways are drawn: {crossed:?}");
}

#[test]
fn a_lazy_pass_is_the_dense_one() {
    let random = &mut Random::new(2);
    for loss in smooth() {
        for draw in 0..20 {
            let (count, columns) = (1 + random.below(300) as usize, 1 + random.below(40) as usize);
            let drawn = Drawn::new(random, count, columns, &*loss);
            let zeroed: Vec<bool> = (0..columns).map(|_| random.below(3) == 0).collect();
            let gradient: Vec<f64> =
                (0..columns).map(|_| sign(random) * log_uniform(random, 1e-6, 1e-2)).collect();
            let factors: Vec<f64> = (0..columns).map(|_| random.below(3) as f64).collect();
            let around = |w: &f64| [w.min(0.0) - 1e-3, w.max(0.0) + 1e-3]; // a start lies within the bounds
            let bounds: Vec<[f64; 2]> = drawn.point.iter().map(around).collect();
            let local = Local {
                at: drawn.at(),
                zeroed: (draw % 2 == 0).then_some(&zeroed),
                gradient: &gradient,
                bias_gradient: (draw % 3 == 0).then_some(1e-3),
                metric: &drawn.metric,
                bias_metric: 0.2,
                eta: log_uniform(random, 1e-3, 0.3),
                weighted_penalty: WeightedPenalty {
                    factors: (draw % 4 == 0).then_some(&factors),
                    bounds: (draw % 5 == 1).then_some(&bounds),
                    ..WeightedPenalty::of(penalty(random, 0.01, 0.1))
                },
                weight_scale: 0.7,
                seed: draw,
            };
            let lazy = shard::local_pass(drawn.problem.examples(), &*loss, &local);
            let (dense, bias) = dense_pass(drawn.problem.examples(), &*loss, &local);
            let holders = shard::column_stats(drawn.problem.examples()).counts;
            let scale = dense.iter().fold(1.0, |most: f64, w| most.max(w.abs()));
            for j in 0..columns {
                let start = if draw % 2 == 0 && zeroed[j] { 0.0 } else { drawn.point[j] };
                let expected = if holders[j] == 0 { 0.0 } else { dense[j] - start };
                let off = (lazy.weights[j] - expected).abs();
                assert!(off <= 1e-12 * scale, "{loss:?}, draw {draw}, weight {j}: {off:e} of {scale}");
            }
            assert!((lazy.bias - (bias - 0.3)).abs() <= 1e-12 * scale);
            assert_eq!(
                lazy,
                shard::local_pass(drawn.problem.examples(), &*loss, &local),
                "the same bits again"
            );
        }
    }
}

#[test]
fn at_the_minimum_a_pass_moves_nothing() {
    // Rows that do not hold every column; one of large values. Squared loss: residuals are chosen first, then the weights that make the gradient −λ₂w, then targets.
    let values = [[1.0, 0.5], [0.0, -2.0], [300.0, 0.0]];
    let residuals = [0.2, -0.4, 0.1];
    let l2 = 2.0;
    let gradient: Vec<f64> =
        (0..2).map(|j| (0..3).map(|i| residuals[i] * values[i][j]).sum::<f64>() / 3.0).collect();
    let point: Vec<f64> = gradient.iter().map(|g| -g / l2).collect();
    let target = |i: usize| values[i][0] * point[0] + values[i][1] * point[1] - residuals[i];
    let targets: Vec<f64> = (0..3).map(target).collect();
    let mut rows = Rows::new();
    for row in &values {
        let held: Vec<(u32, f64)> = (0..2).map(|j| (j as u32, row[j])).filter(|(_, x)| *x != 0.0).collect();
        rows.push(&held).unwrap();
    }
    let local = Local {
        at: Point { weights: &point, bias: 0.0 },
        zeroed: None,
        gradient: &gradient,
        bias_gradient: None,
        metric: &[1.0, 0.5],
        bias_metric: 0.0,
        eta: 0.01,
        weighted_penalty: WeightedPenalty::of(ElasticNet { l1: 0.0, l2 }),
        weight_scale: 1.0,
        seed: 3,
    };
    let examples = Examples::new(rows.borrow(), &targets, None).unwrap();
    let moved = shard::local_pass(examples, &*loss::parse("squared").unwrap(), &local);
    assert!(moved.weights.iter().all(|w| w.abs() < 1e-9), "{moved:?}");
}

#[test]
fn answers_of_shards_add_up_to_that_of_all_rows() {
    let random = &mut Random::new(4);
    for loss in smooth() {
        let drawn = Drawn::new(random, 200, 30, &*loss);
        let whole = drawn.problem.examples();
        let cut = 70;
        let mut parts = [Rows::new(), Rows::new()];
        for i in 0..200 {
            let mut row = Vec::new();
            whole.rows.for_each(i, |j, x| row.push((j as u32, x)));
            parts[usize::from(i >= cut)].push(&row).unwrap();
        }
        parts.iter_mut().for_each(|rows| rows.declare_columns(30));
        let part = |k: usize| {
            let span = if k == 0 { 0..cut } else { cut..200 };
            let (targets, weights) = (&whole.targets[span.clone()], &drawn.problem.weights[span.clone()]);
            let examples = Examples::new(parts[k].borrow(), targets, Some(weights)).unwrap();
            Examples { offsets: whole.offsets.map(|offsets| &offsets[span]), ..examples }
        };
        let close = |a: f64, b: f64, c: f64| {
            assert!((a + b - c).abs() <= 1e-12 * (1.0 + c.abs()), "{loss:?}: {a} + {b}, {c}")
        };
        let [a, b, c] = [part(0), part(1), whole].map(shard::column_stats);
        assert_eq!(a.rows + b.rows, c.rows);
        close(a.weight, b.weight, c.weight);
        (0..30).for_each(|j| assert_eq!(a.counts[j] + b.counts[j], c.counts[j]));
        (0..30).for_each(|j| close(a.squares[j], b.squares[j], c.squares[j]));
        let [a, b, c] =
            [part(0), part(1), whole].map(|of| shard::loss_gradient(of, &*loss, &drawn.point, 0.3));
        close(a.loss, b.loss, c.loss);
        close(a.slopes, b.slopes, c.slopes);
        close(a.second_derivatives, b.second_derivatives, c.second_derivatives);
        (0..30).for_each(|j| close(a.gradient[j], b.gradient[j], c.gradient[j]));
        // The gradient is the derivative, and the losses of a segment begin at the loss.
        let end = Point { weights: &drawn.other, bias: -0.1 };
        let along: f64 =
            (0..30).map(|j| c.gradient[j] * (drawn.other[j] - drawn.point[j])).sum::<f64>() - 0.4 * c.slopes;
        let losses = shard::line_losses(whole, &*loss, drawn.at(), end, &[0.0, 1e-6, 1.0]);
        close(losses[0], 0.0, c.loss);
        let slope = (losses[1] - losses[0]) / 1e-6;
        assert!((slope - along).abs() <= 1e-3 * (1.0 + along.abs()), "{loss:?}: {slope} {along}");
        close(losses[2], 0.0, shard::loss_gradient(whole, &*loss, &drawn.other, -0.1).loss);
    }
}

#[test]
fn the_sums_of_a_bound_make_the_bound_of_one_machine() {
    let random = &mut Random::new(5);
    for loss in smooth() {
        let drawn = Drawn::new(random, 100, 20, &*loss);
        let total: f64 = drawn.problem.weights.iter().sum();
        let weights: Vec<f64> = drawn.problem.weights.iter().map(|w| w * 100.0 / total).collect(); // of mean one
        let examples = Examples { weights: Some(&weights), ..drawn.problem.examples() };
        let penalty = ElasticNet { l1: 0.01, l2: 0.1 };
        let proof = objective::certify(examples, &*loss, penalty, &drawn.point, None);
        let at = Point { weights: &drawn.point, bias: 0.0 };
        let shares: Vec<f64> = (0..=2000).map(|k| f64::from(k) / 2000.0).collect();
        let sums = shard::dual_sums(examples, &*loss, at, Move::default(), &shares);
        let bound = |k: usize| {
            let over =
                |g: &f64| ((shares[k] * g / 100.0).abs() - penalty.l1).max(0.0).powi(2) / (2.0 * penalty.l2);
            -sums.conjugates[k] / 100.0 - sums.gradient.iter().map(over).sum::<f64>()
        };
        let best = (0..=2000).map(bound).fold(f64::NEG_INFINITY, f64::max);
        let (dual, objective) = (proof.dual.unwrap(), proof.objective);
        assert!(
            best <= objective && (best - dual).abs() <= 1e-4 * objective.abs(),
            "{loss:?}: {best} {dual}"
        );
        let slopes = shard::slope_sums(examples, &*loss, at, &[0.0, 0.5])[0];
        assert!((slopes - sums.slopes).abs() < 1e-12 * (1.0 + slopes.abs()));
    }
}
