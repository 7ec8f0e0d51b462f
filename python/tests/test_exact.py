"""Laws: the lazy estimators do what a slow loop over every weight does, and go on where they stopped."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from lazyglm import SGDClassifier, SGDRegressor

RATES = ["constant", "optimal", "invscaling", "adaptive"]


def data(rows=60, columns=12, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = 0.5 * sp.random(rows, columns, density=0.4, random_state=seed, format="csr", dtype=np.float64)
    y = np.where(X @ rng.normal(size=columns) + 0.1 * rng.normal(size=rows) > 0, 1, -1)
    return X.astype(dtype), y


SLOPES = {
    "hinge": lambda s, y: np.where(y * s < 1, -y, 0.0),
    "log_loss": lambda s, y: -y / (1 + np.exp(y * s)),
    "squared_hinge": lambda s, y: -2 * y * max(0.0, 1 - y * s),
    "modified_huber": lambda s, y: -2 * y * min(2.0, max(0.0, 1 - y * s)),
    "perceptron": lambda s, y: -y if y * s <= 0 else 0.0,
    "squared_error": lambda s, y: s - y,
    "huber": lambda s, y: np.clip(s - y, -0.3, 0.3),
    "epsilon_insensitive": lambda s, y: np.sign(s - y) * (abs(s - y) > 0.3),
    "squared_epsilon_insensitive": lambda s, y: 2 * np.sign(s - y) * max(0.0, abs(s - y) - 0.3),
    "quantile": lambda s, y: -0.8 if s < y else (0.2 if s > y else 0.0),
    "poisson": lambda s, y: np.exp(s) - y,
}


def slowly(
    X, y, loss, *, l1, l2, alpha, rate, eta0=0.05, power_t=0.4, method="fobos", epochs=2, weights=None, average=0,
    least=None,
):  # fmt: skip
    """Every weight at every step, by the formulas; ``least`` is the rate of the intercept in the end, or None for the share of features that rows have."""
    X, slope = X.toarray(), SLOPES[loss]
    w, b, t = np.zeros(X.shape[1]), 0.0, 0
    seen, present, rows = [], 0, 0
    typical = alpha**-0.25
    steep = abs(slope(-typical, 1.0)) if loss.startswith("squared") or loss == "poisson" else 1.0
    t0 = 1 / (alpha * typical / max(1.0, steep))
    for _ in range(epochs):
        for i in range(len(y)):
            eta = {"optimal": 1 / (alpha * (t0 + t)), "invscaling": eta0 / (t + 1) ** power_t}.get(rate, eta0)
            g = slope(X[i] @ w + b, y[i]) * (1.0 if weights is None else weights[i])
            present, rows = present + np.count_nonzero(X[i]), rows + 1
            multiple = max(least, 1 / (1 + t / 100)) if least else min(1, max(0.01, present / (rows * len(w)), 1 / (eta * (1 + t / 4))))
            w, b, t = w - eta * g * X[i], b - multiple * eta * g, t + 1
            if method == "fobos":
                w = np.sign(w) * np.maximum(0, (np.abs(w) - eta * l1) / (1 + eta * l2))
            else:
                w = np.sign(w) * np.maximum(0, (1 - eta * l2) * np.abs(w) - eta * l1)
            seen += [np.append(w, b)] if 0 < average <= t else []
    mean = np.mean(seen, axis=0) if seen else np.append(w, b)
    return mean[:-1], mean[-1]


@pytest.mark.parametrize("loss", SLOPES)
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("method", ["fobos", "sgd"])
def test_lazy_is_what_a_slow_loop_does(loss, rate, method):
    X, y = data()
    alpha, ratio = 0.02, 0.4
    estimator = SGDRegressor if loss in ("quantile", "poisson") else SGDClassifier
    targets = np.abs(y) if loss == "poisson" else y
    options = {"quantile": 0.8} if estimator is SGDRegressor else {}
    model = estimator(
        loss, penalty="elasticnet", alpha=alpha, l1_ratio=ratio, max_iter=2, tol=None, shuffle=False, epsilon=0.3,
        learning_rate=rate, eta0=0.05, power_t=0.4, method=method, **options,
    ).fit(X, targets)  # fmt: skip
    least = {"log_loss": 0.01, "hinge": 1, "squared_error": 1}.get(loss)
    model.set_params(intercept_rate=least).fit(X, targets)
    w, b = slowly(X, targets, loss, l1=alpha * ratio, l2=alpha * (1 - ratio), alpha=alpha, rate=rate, method=method, least=least)
    np.testing.assert_allclose(model.coef_.ravel(), w, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(model.intercept_[0], b, rtol=1e-9, atol=1e-13)
    assert np.array_equal(model.coef_.ravel() == 0, w == 0)
    assert model.t_ == 1 + 2 * X.shape[0] and model.n_iter_ == 2


@pytest.mark.parametrize("average", [True, 50, 200])
@pytest.mark.parametrize("method", ["fobos", "sgd"])
@pytest.mark.parametrize("loss", ["hinge", "squared_error"])
def test_averages_are_those_of_the_steps(loss, method, average):
    X, y = data()
    options = dict(penalty="elasticnet", alpha=0.02, l1_ratio=0.4, shuffle=False, learning_rate="invscaling", eta0=0.05)
    options |= dict(power_t=0.4, method=method, average=average)
    model = SGDClassifier(loss, max_iter=2, tol=None, **options).fit(X, y)
    w, b = slowly(X, y, loss, l1=0.008, l2=0.012, alpha=0.02, rate="invscaling", method=method, average=int(average))
    np.testing.assert_allclose(model.coef_.ravel(), w, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(model.intercept_[0], b, rtol=1e-9, atol=1e-13)
    parts = SGDClassifier(loss, **options)
    for _ in range(2):
        for rows in np.split(np.arange(len(y)), [7, 30]):
            parts.partial_fit(X[rows], y[rows], classes=[-1, 1])
            parts.coef_, parts.intercept_  # noqa: B018
            parts = pickle.loads(pickle.dumps(parts))
    assert np.array_equal(parts.coef_, model.coef_) and np.array_equal(parts.intercept_, model.intercept_)


@pytest.mark.parametrize("rate", ["pa1", "pa2"])
@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
def test_passive_aggressive_steps_go_as_far_as_the_row_asks(loss, rate):
    X, y = data()
    estimator = SGDClassifier if loss == "hinge" else SGDRegressor
    model = estimator(loss, penalty="l1", alpha=1e-3, learning_rate=rate, eta0=0.5, max_iter=2, tol=None, shuffle=False)
    model.set_params(epsilon=0.3).fit(X, y)
    w, b, dense = np.zeros(X.shape[1]), 0.0, X.toarray()
    for i in list(range(len(y))) * 2:
        s, square = dense[i] @ w + b, dense[i] @ dense[i]
        cost = max(0.0, 1 - y[i] * s) if loss == "hinge" else max(0.0, abs(s - y[i]) - 0.3)
        if square > 0:
            step = min(0.5, cost / square) if rate == "pa1" else cost / (square + 0.5 / 0.5)
            step *= y[i] if loss == "hinge" else np.sign(y[i] - s)
            w, b = w + step * dense[i], b + step
            w = np.sign(w) * np.maximum(0, np.abs(w) - 0.5 * 1e-3)
    np.testing.assert_allclose(model.coef_.ravel(), w, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(model.intercept_[0], b, rtol=1e-9, atol=1e-13)


def test_sample_and_class_weights_multiply_the_slope():
    X, y = data()
    weights = np.random.default_rng(1).uniform(0.1, 2, size=len(y))
    model = SGDClassifier("log_loss", alpha=0.01, max_iter=2, tol=None, shuffle=False, class_weight={1: 3.0})
    model.fit(X, y, sample_weight=weights)
    times = weights * np.where(y > 0, 3.0, 1.0)
    w, b = slowly(X, y, "log_loss", l1=0, l2=0.01, alpha=0.01, rate="optimal", weights=times)
    np.testing.assert_allclose(model.coef_.ravel(), w, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_[0], b, rtol=1e-9)


def test_rows_of_weight_zero_are_as_if_absent():
    X, y = data()
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    kept = weights > 0
    new = lambda: SGDClassifier(random_state=3, max_iter=4, tol=None)  # noqa: E731
    one, other = new().fit(X, y, sample_weight=weights), new().fit(X[kept], y[kept])
    assert np.array_equal(one.coef_, other.coef_) and one.t_ == other.t_


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("penalty", ["elasticnet", None])
@pytest.mark.parametrize("estimator", [SGDClassifier, SGDRegressor])
def test_any_chunks_give_the_bits_of_one_fit(estimator, penalty, dtype):
    X, y = data(dtype=dtype)
    options = dict(penalty=penalty, alpha=0.01, max_iter=1, tol=None, shuffle=False, learning_rate="invscaling")
    whole = estimator(**options).fit(X, y)
    for seed in range(5):
        cuts = np.sort(np.random.default_rng(seed).integers(0, len(y), size=4))
        parts = estimator(**options)
        for rows in np.split(np.arange(len(y)), cuts):
            if len(rows):
                first = {"classes": [-1, 1]} if estimator is SGDClassifier else {}
                parts.partial_fit(X[rows], y[rows], **first)
                parts.coef_, parts.intercept_  # noqa: B018  looking changes nothing
                parts = pickle.loads(pickle.dumps(parts))  # nor does going elsewhere
        assert np.array_equal(parts.coef_, whole.coef_) and np.array_equal(parts.intercept_, whole.intercept_)
        assert parts.t_ == whole.t_


def test_epochs_of_partial_fit_are_those_of_fit_shuffled_too():
    X, y = data()
    whole = SGDClassifier(max_iter=3, tol=None, random_state=5).fit(X, y)
    parts = SGDClassifier(random_state=5)
    for _ in range(3):
        parts.partial_fit(X, y, classes=[-1, 1])
    assert np.array_equal(parts.coef_, whole.coef_) and np.array_equal(parts.loss_history_, whole.loss_history_)


def test_what_is_put_into_coef_is_gone_on_from():
    X, y = data()
    one = SGDClassifier(random_state=1).partial_fit(X, y, classes=[-1, 1])
    one.coef_ = np.zeros_like(one.coef_)
    one.intercept_ = np.zeros(1)
    other = SGDClassifier(random_state=1)
    other.partial_fit(X, y, classes=[-1, 1])
    other.coef_[:] = 0  # the array itself
    other.intercept_[:] = 0
    for model in (one, other):
        model.partial_fit(X, y)
    assert np.array_equal(one.coef_, other.coef_) and one.t_ == 1 + 2 * X.shape[0]
    assert not np.array_equal(one.coef_, SGDClassifier(random_state=1).partial_fit(X, y, classes=[-1, 1]).coef_)


def test_parameters_may_change_between_calls():
    X, y = data()
    model = SGDClassifier(random_state=1, penalty="l1", alpha=1e-4).partial_fit(X, y, classes=[-1, 1])
    assert np.count_nonzero(model.coef_) > 0
    model.set_params(alpha=100.0, learning_rate="constant", eta0=1.0).partial_fit(X, y)
    assert np.count_nonzero(model.coef_) == 0


def test_learners_are_made_anew_only_when_something_changed():
    X, y = data()
    model = SGDClassifier(random_state=1, average=3, precision="f32").partial_fit(X, y, classes=[-1, 1])
    assert model._go_on() is model._learners
    model.set_params(alpha=0.5)
    assert model._go_on() is not model._learners
    model.partial_fit(X, y).coef_  # noqa: B018
    assert model._go_on() is model._learners


def test_more_classes_are_models_of_one_against_the_rest():
    X, _ = data()
    y = np.array(["a", "b", "c"])[np.arange(X.shape[0]) % 3]
    options = dict(loss="log_loss", alpha=0.01, max_iter=3, tol=None, random_state=2)
    model = SGDClassifier(class_weight={"b": 2.0}, **options).fit(X, y)
    side_by_side = SGDClassifier(class_weight={"b": 2.0}, n_jobs=2, **options).fit(X, y)
    for k, name in enumerate("abc"):
        of_class = {1: 2.0} if name == "b" else None
        binary = SGDClassifier(class_weight=of_class, **options).fit(X, (y == name).astype(int))
        assert np.array_equal(model.coef_[k], binary.coef_[0]) and model.intercept_[k] == binary.intercept_[0]
    assert np.array_equal(model.coef_, side_by_side.coef_)
    assert model.predict_proba(X).shape == (X.shape[0], 3)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_it_stops_when_it_improves_no_more_and_says_when_it_did_not():
    from sklearn.exceptions import ConvergenceWarning

    X, y = data(rows=300)
    assert 5 < SGDClassifier(random_state=0).fit(X, y).n_iter_ < 1000
    with pytest.warns(ConvergenceWarning):
        SGDClassifier(random_state=0, max_iter=2).fit(X, y)


def test_the_stopping_rule_goes_by_the_running_loss_and_the_penalty():
    X, y = data(rows=200)
    options = dict(loss="log_loss", penalty="elasticnet", alpha=0.01, random_state=0, n_iter_no_change=3, tol=1e-3)
    stopped = SGDClassifier(**options).fit(X, y)
    best, stalled, epochs = np.inf, 0, 0
    while stalled < 3:  # by hand
        epochs += 1
        model = SGDClassifier(**{**options, "tol": None}, max_iter=epochs).fit(X, y)
        w = model.coef_
        objective = model.loss_history_[-1] + 0.01 * (0.15 * np.abs(w).sum() + 0.85 * 0.5 * (w**2).sum())
        stalled = stalled + 1 if objective > best - 1e-3 else 0
        best = min(best, objective)
    assert stopped.n_iter_ == epochs


@pytest.mark.parametrize("estimator", [SGDClassifier, SGDRegressor])
def test_early_stopping_holds_rows_out(estimator):
    X, y = data(rows=300)
    model = estimator(early_stopping=True, random_state=0, n_iter_no_change=3).fit(X, y)
    history = model.validation_history_
    best = len(history) - np.argmax(history[::-1])  # the last of the best epochs, to which the model goes back
    assert len(history) == model.n_iter_ >= best and model.t_ == 1 + 270 * best
    again = estimator(early_stopping=True, random_state=0, tol=None, max_iter=int(best)).fit(X, y)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    assert np.all(history <= 1) and estimator(random_state=0).fit(X, y).validation_history_ is None


def test_weights_do_not_depend_on_how_the_matrix_is_kept():
    X, y = data()
    options = dict(penalty="elasticnet", alpha=0.01, random_state=1, max_iter=3, tol=None)
    model = SGDClassifier(**options).fit(X, y)
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    shuffled = X.copy()
    for i in range(X.shape[0]):
        span = slice(X.indptr[i], X.indptr[i + 1])
        order = np.random.default_rng(i).permutation(X.indptr[i + 1] - X.indptr[i])
        shuffled.indices[span], shuffled.data[span] = X.indices[span][order], X.data[span][order]
    twice = sp.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    twice.has_canonical_format = False
    kept = [wide, shuffled, twice, sp.csr_array(X), X.toarray(), np.asfortranarray(X.toarray()), X.tocsc(), X.tocoo()]
    for other in kept:
        before = other.copy()
        assert np.array_equal(SGDClassifier(**options).fit(other, y).coef_, model.coef_)
        if sp.issparse(other) and other.format == "csr":
            assert np.array_equal(other.indices, before.indices) and np.array_equal(other.data, before.data)


def test_single_precision_follows_the_data():
    X, y = data(dtype=np.float32)
    assert SGDClassifier(max_iter=2, tol=None).fit(X, y).coef_.dtype == np.float32
    assert SGDClassifier(max_iter=2, tol=None, precision="f64").fit(X, y).coef_.dtype == np.float64
    assert SGDClassifier(max_iter=2, tol=None, precision="f32").fit(X.astype(float), y).coef_.dtype == np.float32


def test_warm_start_begins_where_it_ended():
    X, y = data()
    options = dict(random_state=1, max_iter=2, tol=None, shuffle=False)
    model = SGDClassifier(warm_start=True, **options).fit(X, y)
    coef, intercept = model.coef_.copy(), model.intercept_.copy()
    model.fit(X, y)
    other = SGDClassifier(**options).fit(X, y, coef_init=coef, intercept_init=intercept)
    assert np.array_equal(model.coef_, other.coef_) and model.t_ == other.t_


def test_sparsify_and_densify():
    X, y = data()
    for model in (SGDClassifier(penalty="l1", random_state=1).fit(X, y), SGDRegressor(penalty="l1").fit(X, y)):
        before, coef = model.predict(X), model.coef_
        assert sp.issparse(model.sparsify().coef_)
        assert np.array_equal(model.predict(X), before)
        assert np.array_equal(model.densify().coef_, coef) and model.coef_.shape == coef.shape


def test_poisson_predicts_counts():
    X, _ = data(rows=400)
    rng = np.random.default_rng(0)
    y = rng.poisson(np.exp(0.5 + X.toarray()[:, 0]))
    model = SGDRegressor("poisson", alpha=1e-6, random_state=0).fit(X, y)
    assert np.all(model.predict(X) > 0) and abs(model.predict(X).mean() / y.mean() - 1) < 0.1
    with pytest.raises(ValueError, match="poisson"):
        SGDRegressor("poisson").fit(X, -1.0 - y)


def test_quantile_has_so_many_below():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 2)), rng.normal(size=2000)
    model = SGDRegressor("quantile", quantile=0.9, alpha=1e-6, random_state=0, eta0=0.1, tol=None, max_iter=50).fit(X, y)
    assert abs(np.mean(y < model.predict(X)) - 0.9) < 0.03


def three(rows=120):
    X, _ = data(rows=rows)
    y = (X @ np.random.default_rng(5).normal(size=(12, 3))).argmax(axis=1)
    return X, np.array(["a", "b", "c"])[y]


FORMS = {
    "csr": lambda X: X,
    "dense": lambda X: X.toarray(),
    "wide": lambda X: sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape),
}
RUNS = [
    {"tol": 1e-2},
    {"tol": None, "max_iter": 3, "penalty": "elasticnet", "method": "sgd"},
    {"tol": 1e-3, "learning_rate": "adaptive", "eta0": 0.1, "max_iter": 60},
    {"tol": None, "max_iter": 4, "penalty": None, "learning_rate": "constant", "eta0": 0.1, "fit_intercept": False},
    {"tol": 1e-3, "class_weight": {"a": 3.0, "b": 0.5, "c": 1.0}},
]


@pytest.mark.filterwarnings("ignore:Maximum number of iteration")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("run", range(len(RUNS)))
def test_a_class_among_others_has_the_bits_of_a_model_alone(run, form, n_jobs):
    X, y = three()
    options = {"loss": "log_loss", "alpha": 1e-3, "random_state": 4, **RUNS[run]}
    weights = np.random.default_rng(2).uniform(0.5, 2, size=len(y)) if run == 4 else None
    many = SGDClassifier(**options, n_jobs=n_jobs).fit(FORMS[form](X), y, sample_weight=weights)
    stopped = []
    for k, name in enumerate(many.classes_):
        if run == 4:
            options["class_weight"] = {1: RUNS[run]["class_weight"][name], 0: 1.0}
        alone = SGDClassifier(**options).fit(FORMS[form](X), (y == name).astype(int), sample_weight=weights)
        assert np.array_equal(many.coef_[k], alone.coef_[0]) and many.intercept_[k] == alone.intercept_[0]
        assert np.array_equal(many.loss_history_[k], alone.loss_history_)
        stopped.append(alone.n_iter_)
    assert many.n_iter_ == max(stopped)
    assert run != 0 or len(set(stopped)) > 1, "classes stop on their own"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_chunks_of_many_classes_give_the_bits_of_one_fit(dtype):
    X, y = three()
    X = X.astype(dtype)
    options = dict(loss="hinge", penalty="elasticnet", alpha=1e-2, shuffle=False)
    whole = SGDClassifier(**options, max_iter=1, tol=None).fit(X, y)
    parts = SGDClassifier(**options)
    for rows in np.split(np.arange(len(y)), [3, 50, 51]):
        parts.partial_fit(X[rows], y[rows], classes=["a", "b", "c"])
        parts = pickle.loads(pickle.dumps(parts))
        assert parts.coef_.dtype == dtype
    assert np.array_equal(parts.coef_, whole.coef_) and np.array_equal(parts.intercept_, whole.intercept_)
    assert parts.t_ == whole.t_ == 1 + len(y)


def test_the_intercept_does_not_follow_the_last_rows_where_rows_have_few_features():
    """One epoch on text-like rows: at the full rate, the intercept costs accuracy. Rows without zeros have the full rate."""
    X = normalize(sp.random(8000, 2000, density=0.005, random_state=0, format="csr")).tocsr()
    y = np.asarray(X[:, :200].sum(axis=1) - X[:, 200:400].sum(axis=1)).ravel() + 0.2 * np.random.default_rng(0).normal(size=8000) > 0

    def accuracy(**options):
        models = [SGDClassifier("log_loss", max_iter=1, tol=None, random_state=seed, **options).fit(X[:4000], y[:4000]) for seed in range(5)]
        return np.mean([model.score(X[4000:], y[4000:]) for model in models])

    assert accuracy() > accuracy(intercept_rate=1) + 0.05
    full = [SGDClassifier(max_iter=2, random_state=0, tol=None, **options).fit(X[:50].toarray() + 1, y[:50]) for options in ({}, {"intercept_rate": 1})]
    assert np.array_equal(full[0].coef_, full[1].coef_) and np.array_equal(full[0].intercept_, full[1].intercept_)
