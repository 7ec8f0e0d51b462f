"""No tuning against tuned tf-idf with LogisticRegressionCV, on five sets of text: wanted as good, in a tenth of the time.

Both begin with counts. AutoClassifier has no setting. The peer computes tf-idf with sublinear counts and searches ten values of C with five folds.
"""

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

from bench.python import matrices
from bench.python.timed import clock, within

SETS = {
    "sms": ("sms_spam.tsv", None),
    "imdb": ("imdb_train.svm", "imdb_test.svm"),
    "20news": ("20news_train.svm", "20news_test.svm"),
    "medline": ("medline_sections.svm", None),
    "eLife": ("elife_methods.svm", None),
}


def judged(seconds, model, test, target):
    return seconds, log_loss(target, model.predict_proba(test), labels=model.classes_), (model.predict(test) == target).mean()


def ours(X, y, test, target):
    from lazyglm import AutoClassifier

    seconds, model = clock(AutoClassifier(random_state=1, n_jobs=2).fit, X, y)
    return judged(seconds, model, test, target)


def theirs(X, y, test, target):
    search = LogisticRegressionCV(Cs=10, l1_ratios=(0.0,), cv=5, scoring="neg_log_loss", max_iter=1000, n_jobs=2, use_legacy_attributes=False)
    seconds, model = clock(make_pipeline(TfidfTransformer(sublinear_tf=True), search).fit, X, y)
    return judged(seconds, model, test, target)


def run(data, asked, say):
    for name in asked.sets.split(",") if asked.sets else SETS:
        X, y, test, target = matrices.split(data, *SETS[name])
        say(f"  {name}: {X.shape[0]:,} rows, {X.shape[1]:,} features, {len(np.unique(y))} classes")
        mine = None
        for who, work in (("lazyglm", ours), ("scikit-learn", theirs)):
            found = within(asked.limit, work, X, y, test, target)
            if found is None:
                beyond = "" if mine is None else f": more than {asked.limit / mine[0]:.1f} x"
                say(f"    {who:13} not done after {asked.limit:g} s{beyond}", set=name, who=who, seconds=None)
                continue
            mine = mine or found
            text = f"{found[0]:8.3f} s   held-out log-loss {found[1]:.4f}, accuracy {found[2]:.4f}   {found[0] / mine[0]:.1f} x"
            say(f"    {who:13} {text}", set=name, who=who, seconds=found[0], loss=found[1], accuracy=found[2])
