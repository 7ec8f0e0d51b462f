"""``converged`` is what a certificate proves: on raw word counts with heavy tails and few positives, where gains say little."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from test_distributed import made, objective, parts

from lazyglm import SGDClassifier
from lazyglm.distributed import Problem, Threads, fit, newton, run
from lazyglm.distributed.certificate import Certificate
from lazyglm.distributed.leader import Leader


def mails(rows=1500, columns=800, positive=0.15, seed=1):
    """Word counts of mails: Zipf words, lengths and repetitions with heavy tails, few positives, some labels wrong."""
    random = np.random.default_rng(seed)
    frequency = np.arange(1, columns + 1) ** -1.05
    of_class = [frequency, frequency * np.exp(random.normal(size=columns))]
    shares = [np.cumsum(weights / weights.sum()) for weights in of_class]
    spam = random.random(rows) < positive
    lengths = np.minimum(np.exp(random.normal(4.0, 1.2, rows)).astype(int) + 1, 5000)
    words = [np.searchsorted(shares[s], random.random(n)).clip(max=columns - 1) for s, n in zip(spam.astype(int), lengths, strict=True)]
    X = sp.csr_array((np.ones(lengths.sum()), np.concatenate(words), np.concatenate([[0], np.cumsum(lengths)])), shape=(rows, columns))
    X.sum_duplicates()
    repeated = random.random(X.nnz) < 0.02
    X.data *= np.where(repeated, np.ceil(10 * random.pareto(1.0, X.nnz) + 1), 1.0)
    return X, np.where(spam ^ (random.random(rows) < 0.03), 1.0, -1.0)


def least(X, y, problem):
    """The minimum, by the solver for one machine."""
    alpha = problem.l1 + problem.l2
    model = SGDClassifier("log_loss", penalty="elasticnet", alpha=alpha, l1_ratio=problem.l1 / alpha, solver="newton", tol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without l2 a gap of 1e-9 may be out of reach
        model.set_params(fit_intercept=problem.intercept, max_iter=1000).fit(X, y)
    assert model.dual_gap_ < 1e-3
    return objective(X, y, problem, model.coef_.ravel(), model.intercept_[0])


PROBLEMS = [
    Problem("logistic", l1=1e-3, l2=1e-6),
    Problem("logistic", l1=1e-2, l2=1e-4),
    Problem("logistic", l1=3e-4, l2=1e-4),
    Problem("logistic", l1=1e-3),
    Problem("logistic", l1=1e-3, l2=1e-2, intercept=False),
]


@pytest.fixture(scope="module")
def data():
    X, y = mails()
    return X, y, {problem: least(X, y, problem) for problem in PROBLEMS}


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: f"l1={problem.l1:g},l2={problem.l2:g}")
@pytest.mark.parametrize("solver", ["rounds", pytest.param("owlqn", marks=pytest.mark.slow)])
@pytest.mark.parametrize("tol", [1e-3, pytest.param(1e-4, marks=pytest.mark.slow)])
def test_a_run_that_has_converged_is_within_its_tolerance_of_the_minimum(data, problem, solver, tol):
    X, y, minima = data
    found = fit(Threads(parts(X, y, 4)), problem, tol=tol, solver=solver, max_rounds=300)
    reached = objective(X, y, problem, found.weights, found.bias)
    assert found.converged and found.certificate.relative_gap <= tol
    assert found.certificate.objective == pytest.approx(reached, rel=1e-12)
    assert found.certificate.dual <= minima[problem] * (1 + 1e-9)
    assert reached / minima[problem] - 1 <= tol


@pytest.mark.parametrize("rounds", [1, 5, 20, 40])
def test_a_run_that_is_cut_short_does_not_claim_more_than_is_proved(data, rounds):
    X, y, minima = data
    problem = PROBLEMS[0]
    found = fit(Threads(parts(X, y, 4)), problem, tol=1e-3, max_rounds=rounds)
    within = found.certificate.objective / minima[problem] - 1 <= 1e-3
    assert found.rounds <= rounds and (not found.converged or within)
    assert found.converged == found.certificate.proves(1e-3)
    if rounds <= 5:
        words = run.not_converged([found], 1e-3, "max_iter")
        assert not found.converged and words.startswith(f"not converged: after {rounds} rounds the relative duality gap is")


@pytest.mark.slow
def test_small_gains_are_no_proof(data, monkeypatch):
    """What was called converged before: gains below a third of the tolerance, some percent above the minimum."""
    X, y, minima = data
    problem = PROBLEMS[0]
    monkeypatch.setattr(run, "CRAWL", 1e9)  # rounds go on until their gains are small
    seen = []

    def after_round(state):
        if run._settled(state, 1e-3) and state.solver == "rounds":
            seen.append(state.history[-1] / minima[problem] - 1)

    found = fit(Threads(parts(X, y, 4)), problem, tol=1e-3, max_rounds=300, after_round=after_round)
    assert max(seen) > 5e-3 and found.converged


def test_without_a_penalty_or_a_proof_nothing_has_converged():
    X, y = made(rows=400, columns=20)
    found = fit(Threads(parts(X, y, 2)), Problem("logistic"), tol=1e-3)
    assert not found.converged and found.certificate.relative_gap is None and found.rounds < 100
    assert "without a penalty there is no lower bound" in run.not_converged([found], 1e-3, "max_iter")
    unproved = fit(Threads(parts(X, y, 2)), Problem("logistic", l1=1e-3), tol=1e-3, prove=False)
    assert not unproved.converged and unproved.rounds < 100


@pytest.mark.parametrize("wire", ["f8", "f4"])
def test_where_numbers_are_too_coarse_a_run_ends_and_says_what_it_reached(wire):
    X, y = made(rows=800, columns=60)
    found = fit(Threads(parts(X, y, 2)), Problem("logistic", l1=1e-3, l2=1e-3), tol=0.0, max_rounds=400, wire=wire)
    assert found.rounds < 200 and found.certificate.relative_gap < 1e-4
    assert found.converged == (found.certificate.relative_gap == 0)


def test_with_too_many_active_features_owlqn_takes_the_place_of_newton(data, monkeypatch):
    X, y, minima = data
    monkeypatch.setattr(newton, "LARGEST", 5)
    problem = PROBLEMS[1]
    found = fit(Threads(parts(X, y, 4)), problem, tol=1e-3, max_rounds=600)
    assert found.solver == "owlqn" and found.converged
    assert found.certificate.objective / minima[problem] - 1 <= 1e-3


def test_a_hessian_is_that_of_all_rows(data):
    X, y, _ = data
    problem = Problem("logistic", l1=1e-3)
    leader = Leader(Threads(parts(X, y, 3)), problem)
    at = leader.at(np.linspace(-1, 1, X.shape[1]) / 1000, 0.3)
    ids = np.array([0, 3, 7, 200, 799])
    rows = np.hstack([X[:, ids].toarray(), np.ones((X.shape[0], 1))])
    p = 1 / (1 + np.exp(-(X @ at.weights + 0.3)))
    assert leader.hessian(at, ids) == pytest.approx(rows.T @ (rows * (p * (1 - p))[:, None]) / X.shape[0], rel=1e-9)


def test_the_model_of_a_newton_step_is_minimised():
    random = np.random.default_rng(4)
    A = random.normal(size=(60, 12)) * np.exp(random.normal(size=12))
    H, g, z = A.T @ A / 60, random.normal(size=12), random.normal(size=12) * (random.random(12) < 0.5)
    for bias in (True, False):
        z[-1] = 0.0 if not bias else z[-1]
        v = newton.minimised(H, g, z, 0.3, 0.1, bias=bias)
        slope = g + H @ (v - z) + 0.1 * np.append(v[:-1], 0.0)
        at_zero = v[:-1] == 0
        assert (np.abs(slope[:-1][at_zero]) <= 0.3 * (1 + 1e-6)).all()
        assert slope[:-1][~at_zero] == pytest.approx(-0.3 * np.sign(v[:-1][~at_zero]), abs=1e-6)
        assert abs(slope[-1]) < 1e-6 if bias else v[-1] == 0.0


@pytest.mark.parametrize(
    ("objective_there", "dual", "proves"),
    [(1.0, 0.9995, True), (1.0, 0.99, False), (1.0, -0.1, False), (-1.0, -1.0005, True), (0.0, 0.0, True), (1.0, None, False)],
)
def test_a_certificate_proves_what_it_says(objective_there, dual, proves):
    assert Certificate(objective_there, dual, None).proves(1e-3) is proves
