"""Rounds over partitions, on threads: what is true whatever the engine."""

import numpy as np
import pytest
import scipy.sparse as sp

from lazyglm import SGDClassifier
from lazyglm.distributed import Problem, Threads, checkpoint, fit, pack, rounds, run, tasks
from lazyglm.distributed.certificate import certify
from lazyglm.distributed.leader import Leader
from lazyglm.distributed.plane import Way
from lazyglm.distributed.rounds import State


def made(rows=6000, columns=1500, per_row=20, seed=1, scale=None):
    """Rows of unit length over features of Zipf frequencies; labels of a sparse truth."""
    random = np.random.default_rng(seed)
    frequency = np.arange(1, columns + 1) ** -1.1
    ids = np.searchsorted(np.cumsum(frequency / frequency.sum()), random.random(rows * per_row)).clip(max=columns - 1)
    X = sp.csr_array((np.ones(rows * per_row), ids, np.arange(0, rows * per_row + 1, per_row)), shape=(rows, columns))
    X.sum_duplicates()
    X = sp.csr_array(sp.diags_array(1 / np.sqrt(X.multiply(X).sum(axis=1))) @ X)
    truth = np.where(random.random(columns) < 0.2, 6 * random.normal(size=columns), 0)
    y = np.where(random.random(rows) < 1 / (1 + np.exp(-(X @ truth))), 1.0, -1.0)
    return (X if scale is None else sp.csr_array(X @ sp.diags_array(scale(random, columns)))), y


def parts(X, y, count, order=None, weights=None, **more):
    rows = np.arange(X.shape[0]) if order is None else order
    cut = np.array_split(rows, count)
    return [pack(X[r], y[r], None if weights is None else weights[r], partition=k, **more) for k, r in enumerate(cut)]


def best(X, y, problem, weights=None):
    return fit(Threads(parts(X, y, 1, weights=weights)), problem, solver="owlqn", tol=1e-11, max_rounds=600)


def objective(X, y, problem, weights, bias, sample_weight=None):
    margins = y * (X @ weights + bias)
    return np.average(np.logaddexp(0, -margins), weights=sample_weight) + problem.penalty(weights)


LOGISTIC = Problem("logistic", l1=1e-4, l2=1e-5)


@pytest.fixture(scope="module")
def data():
    X, y = made()
    found = best(X, y, LOGISTIC)
    assert found.certificate.relative_gap < 1e-5
    return X, y, found


def test_without_an_intercept_a_run_asks_for_nothing_twice(data):
    X, y, _ = data
    asked, engine = [], Threads(parts(X, y, 4))
    real = engine.reduce
    engine.reduce = lambda task, tokens, told: (asked.append(task), real(task, tokens, told))[1]
    found = fit(engine, Problem("logistic", l1=1e-4, l2=1e-5, intercept=False), tol=None, max_rounds=2)
    rounds_of = 2 * [tasks.local_pass, tasks.plane_losses, tasks.gradient]
    assert asked == [tasks.start, *rounds_of, tasks.end]
    assert 0 < found.certificate.relative_gap < 1
    # What was asked together is what is asked one by one.
    leader = Leader(Threads(parts(X, y, 4)), Problem("logistic", l1=1e-4, l2=1e-5, intercept=False))
    one_by_one = certify(leader, found.weights, 0.0, found.certificate.objective)
    assert one_by_one == found.certificate
    at = leader.at(found.weights, 0.0)
    assert at.objective == pytest.approx(found.certificate.objective, rel=1e-12)


@pytest.mark.parametrize(("count", "most"), [(1, 1e-4), (4, 2e-4), (16, 1e-3)])
def test_few_rounds_are_near_the_minimum_and_as_sparse(data, count, most):
    X, y, least = data
    found = fit(Threads(parts(X, y, count), threads=2), LOGISTIC, tol=None, max_rounds=6)
    assert found.certificate.objective / least.certificate.objective - 1 < most
    assert found.reductions <= 1 + 13 + 1  # statistics; a gradient, and two a round; the proof
    nonzeros, fewest = np.count_nonzero(found.weights), np.count_nonzero(least.weights)
    assert abs(nonzeros / fewest - 1) < 0.06
    assert found.certificate.objective == pytest.approx(objective(X, y, LOGISTIC, found.weights, found.bias), rel=1e-12)
    assert least.certificate.dual <= found.certificate.objective
    assert found.certificate.dual <= least.certificate.objective


@pytest.mark.parametrize("by", ["label", "feature"])
def test_the_order_of_partitions_does_not_matter_much(data, by):
    X, y, least = data
    order = np.argsort(y if by == "label" else X.indices[X.indptr[1:] - 1], kind="stable")
    found = fit(Threads(parts(X, y, 8, order)), LOGISTIC, tol=None, max_rounds=8)
    assert found.certificate.objective / least.certificate.objective - 1 < 0.01
    assert all(after <= before for before, after in zip(found.history, found.history[1:], strict=False))


def test_a_rate_ten_times_too_large_does_no_harm(data):
    X, y, least = data
    found = fit(Threads(parts(X, y, 8)), LOGISTIC, tol=None, max_rounds=12, rate=10.0)
    assert np.isfinite(found.weights).all()
    assert all(after <= before for before, after in zip(found.history, found.history[1:], strict=False))
    assert found.certificate.objective / least.certificate.objective - 1 < 0.05


def test_after_rounds_that_lead_nowhere_the_other_solver_takes_over(data, monkeypatch):
    X, y, least = data
    for name in ("FIRST", "SHORT", "THETAS"):
        monkeypatch.setattr(rounds, name, [1e9])  # no way leads down
    found = fit(Threads(parts(X, y, 8)), LOGISTIC, tol=1e-6, max_rounds=100)
    assert found.solver == "owlqn" and found.rejected == rounds.PATIENCE
    assert found.certificate.objective / least.certificate.objective - 1 < 1e-4


def test_owlqn_does_not_know_partitions(data):
    X, y, least = data
    one, many = (fit(Threads(parts(X, y, k)), LOGISTIC, solver="owlqn", tol=None, max_rounds=22) for k in (1, 13))
    assert one.weights == pytest.approx(many.weights, rel=1e-6, abs=1e-6)
    assert many.certificate.objective / least.certificate.objective - 1 < 1e-3


@pytest.mark.slow
def test_raw_counts_in_the_thousands_do_as_well_as_unit_rows():
    X, y = made(scale=lambda random, columns: np.exp(random.uniform(0, np.log(5000), columns)))
    problem = Problem("logistic", l1=1e-3, l2=1e-6)
    least = best(X, y, problem)
    found = fit(Threads(parts(X, y, 4)), problem)  # which says it is within 1e-3
    assert found.converged and found.certificate.objective / least.certificate.objective - 1 < 1e-3
    assert found.rounds < 40


def test_a_plane_has_the_zeros_of_its_end_and_the_way_itself():
    W, E, P = np.array([1.0, 2.0, 0.0, -1.0]), np.array([0.0, 3.0, 1.0, -2.0]), np.array([5.0, 1.0, 7.0, 0.5])
    way = Way(W, E.copy(), P, (1.0, 2.0, 4.0))
    first, second = way.line(0.5)
    assert first.tolist() == [0.0, 2.5, 3.5, -0.75] and second.tolist() == [0.0, 3.5, 4.5, -1.75]
    assert way.line(None) == (W, way.end) and way.bias_line(0.5) == (3.0, 4.0) and way.bias_line(None) == (1.0, 2.0)
    assert way.go(0.5, 2.0) == 5.0 and way.end.tolist() == [0.0, 4.5, 5.5, -2.75]


def test_a_plane_is_judged_by_the_objective_there(data):
    X, y, least = data
    leader = Leader(Threads(parts(X, y, 3)), LOGISTIC)
    random = np.random.default_rng(5)
    W, P = 0.1 * random.normal(size=(2, X.shape[1]))
    way = Way(W, np.where(random.random(X.shape[1]) < 0.5, least.weights, 0.0), P, (0.1, least.bias, -0.2))
    told = leader.plane(leader.at(W, 0.1), way, [(None, [0.3, 1.0]), (0.0, [0.5]), (0.7, [0.0, 1.4])])
    for objective_there, (phi, theta) in zip(told, [(None, 0.3), (None, 1.0), (0.0, 0.5), (0.7, 0.0), (0.7, 1.4)], strict=True):
        there = way._replace(end=way.end.copy())
        bias = there.go(phi, theta)
        assert objective_there == pytest.approx(objective(X, y, LOGISTIC, there.end, bias), rel=1e-12)


@pytest.mark.parametrize(
    ("history", "settled"),
    [
        ([1.0, 0.9, 0.8991, 0.8991], False),  # too few rounds to know how gains shrink
        ([2.0, 1.5, 1.1, 1.0004, 1.0], False),  # steep so far, and 0.1004 of 1 in two rounds: more may come
        ([1.002, 1.0018, 1.0016, 1.0013, 1.001], False),  # gains do not shrink
        ([1.004, 1.002, 1.001, 1.0005, 1.00025], True),  # a quarter of 0.00075 is left
        ([1.0042, 1.0032, 1.0024, 1.0017, 1.0014], False),  # two thirds of 0.001: 0.002 is left
    ],
)
def test_a_proof_is_tried_when_what_is_left_seems_small_not_when_a_round_is(history, settled):
    assert run._settled(State(np.zeros(1), 0.0, history=history), 1e-3) is settled


def test_bits_are_those_of_partitions_and_seeds_alone(data):
    X, y, _ = data
    shards = parts(X, y, 7)
    runs = [fit(Threads(shards, threads=t), LOGISTIC, tol=None, max_rounds=3, seed=s) for t, s in [(1, 0), (2, 0), (1, 1)]]
    assert runs[0].weights.tobytes() == runs[1].weights.tobytes() and runs[0].bias == runs[1].bias
    assert runs[0].weights.tobytes() != runs[2].weights.tobytes()


@pytest.mark.parametrize("solver", ["rounds", "owlqn"])
def test_a_run_goes_on_from_a_checkpoint_to_the_same_bits(tmp_path, solver):
    X, y = made(scale=lambda random, columns: np.exp(random.uniform(0, np.log(5000), columns)))  # where the last step matters
    engine, path, of = Threads(parts(X, y, 3)), tmp_path / "run.npz", {"problem": 1}
    whole = fit(engine, LOGISTIC, solver=solver, tol=None, max_rounds=6)

    class Stop(Exception):
        pass

    def keep(state):
        checkpoint.save(path, [state], of)
        if state.round == 3:
            raise Stop

    with pytest.raises(Stop):
        fit(engine, LOGISTIC, solver=solver, tol=None, max_rounds=6, after_round=keep)
    (state,) = checkpoint.load(path, of)
    assert state.round == 3 and (state.step is not None) == (solver == "rounds")
    resumed = fit(engine, LOGISTIC, solver=solver, tol=None, max_rounds=6, state=state)
    assert resumed.weights.tobytes() == whole.weights.tobytes() and resumed.bias == whole.bias
    assert resumed.history == whole.history
    with pytest.raises(ValueError, match="another problem"):
        checkpoint.load(path, {"problem": 2})
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="not a checkpoint"):
        checkpoint.load(path, of)


@pytest.mark.parametrize(
    "loss",
    [
        *("poisson", "squared-hinge"),
        *(pytest.param(loss, marks=pytest.mark.slow) for loss in ("squared", "huber:delta=1.35", "squared-epsilon-insensitive", "modified-huber")),
    ],
)
def test_every_smooth_loss(loss):
    X, y = made(rows=2000, columns=300)
    X = sp.csr_array(X * 3)
    if loss == "poisson":
        y = np.random.default_rng(0).poisson(1000 * np.exp(np.clip(X @ np.linspace(-1, 1, 300), -1, 1))).astype(float)
    problem = Problem(loss, l1=1e-3, l2=1e-3)
    least = best(X, y, problem)
    found = fit(Threads(parts(X, y, 4)), problem, tol=1e-5, max_rounds=60)
    gap = found.certificate.objective - least.certificate.objective
    assert -1e-9 * abs(least.certificate.objective) <= gap < 2e-3 * abs(least.certificate.objective)
    assert found.certificate.dual <= least.certificate.objective * (1 + 1e-12)


@pytest.mark.parametrize("loss", ["hinge", "perceptron", "quantile:tau=0.5", "epsilon-insensitive"])
def test_a_loss_with_a_kink_is_refused_with_a_suggestion(loss):
    with pytest.raises(ValueError, match=r"jumps.*use loss="):
        Problem(loss)


def test_weights_of_rows_are_copies_of_rows():
    X, y = made(rows=1500, columns=200)
    times = np.random.default_rng(3).integers(0, 4, 1500)
    problem = Problem("logistic", l1=1e-3, l2=1e-4)
    weighted = fit(Threads(parts(X, y, 3, weights=times.astype(float))), problem, solver="owlqn", tol=1e-10, max_rounds=300)
    copied = np.repeat(np.arange(1500), times)
    copies = fit(Threads(parts(X, y, 3, copied)), problem, solver="owlqn", tol=1e-10, max_rounds=300)
    assert weighted.certificate.objective == pytest.approx(copies.certificate.objective, rel=1e-6)
    rounds = fit(Threads(parts(X, y, 3, weights=times.astype(float))), problem, tol=1e-5)
    assert rounds.certificate.objective / copies.certificate.objective - 1 < 2e-3


def test_degenerate_partitions(data):
    X, y, least = data
    order = np.argsort(y, kind="stable")
    empty = np.array([], dtype=int)
    cuts = [empty, order[:1], order[1:2], order[2:2000], empty, order[2000:5000], order[5000:]]
    shards = [pack(X[r], y[r], partition=k) for k, r in enumerate(cuts)]
    found = fit(Threads(shards), LOGISTIC, tol=1e-6, max_rounds=40)
    assert found.certificate.objective / least.certificate.objective - 1 < 5e-3


def test_without_rows_or_partitions_it_says_so():
    with pytest.raises(ValueError, match="no partition has any rows"):
        fit(Threads([pack(sp.csr_array((0, 3)), np.zeros(0))]), LOGISTIC)
    with pytest.raises(ValueError, match="no partitions"):
        Threads([])


def test_what_is_no_number_is_refused_with_its_place():
    X, y = made(rows=10, columns=5, per_row=2)
    X.data[7] = np.nan
    row = int(np.searchsorted(X.indptr, 7, side="right")) - 1
    with pytest.raises(ValueError, match=rf"partition 3, row {row}: X contains nan"):
        pack(X, y, partition=3)
    with pytest.raises(ValueError, match="partition 0, row 2: y is nan"):
        pack(np.eye(3), [0.0, 1.0, np.nan])
    with pytest.raises(ValueError, match=r"row 1: sample_weight -1\.0 is below zero"):
        pack(np.eye(2), [0.0, 1.0], [1.0, -1.0])


def test_single_precision_on_the_wire_is_near(data):
    X, y, least = data
    found = fit(Threads(parts(X, y, 4)), LOGISTIC, tol=None, max_rounds=6, wire="f4")
    assert np.array_equal(found.weights, found.weights.astype(np.float32))
    assert found.certificate.objective / least.certificate.objective - 1 < 3e-3


def test_a_state_of_other_columns_is_refused(data):
    X, y, _ = data
    with pytest.raises(ValueError, match="columns"):
        fit(Threads(parts(X, y, 2)), LOGISTIC, state=State(np.zeros(3), 0.0))


def test_it_is_the_minimum_of_the_ordinary_estimator(data):
    X, y, least = data
    alpha = LOGISTIC.l1 + LOGISTIC.l2
    model = SGDClassifier("log_loss", penalty="elasticnet", alpha=alpha, l1_ratio=LOGISTIC.l1 / alpha, tol=None, max_iter=30)
    model.fit(X, y)
    theirs = objective(X, y, LOGISTIC, model.coef_.ravel(), model.intercept_[0])
    assert least.certificate.objective <= theirs < 1.05 * least.certificate.objective
