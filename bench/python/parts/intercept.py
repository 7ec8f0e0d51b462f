"""Accuracy on held-out rows after one pass in chunks, one and five epochs, and by default; intercept_rate=1 is lazyglm's former default.

All other settings are the defaults, which are the same on both sides. Accuracy is the mean over three seeds, with its standard error.
"""

import numpy as np

from bench.python.parts.epoch import estimators
from bench.python.parts.sgd import both

DEFAULT = "sms,rcv1,imdb,medline,20news"
SEEDS = (1, 2, 3)
CHUNKS = 20
EPOCHS = {"chunks": 0, "1 epoch": 1, "5 epochs": 5, "default": None}


def trained(estimator, options, epochs, seed, X, y):
    """A model after so many epochs; 0 is one pass by partial_fit, and None the default."""
    stop = {"max_iter": epochs, "tol": None} if epochs else {}
    model = estimator(**options, **stop, random_state=seed)
    if epochs != 0:
        return model.fit(X, y)
    for rows in np.array_split(np.random.default_rng(seed).permutation(len(y)), CHUNKS):
        model.partial_fit(X[rows], y[rows], classes=np.unique(y))
    return model


def run(data, asked, say):
    contenders = {who: (estimator, {}) for who, estimator in estimators().items()}
    contenders["intercept_rate=1"] = (estimators()["lazyglm"], {"intercept_rate": 1.0})
    for name in (asked.sets or DEFAULT).split(","):
        kinds, y, target = both(data, name)
        say(f"  {name}: {len(y):,} rows, {len(np.unique(y))} classes" + " " * 10 + "".join(f"{text:>18}" for text in EPOCHS))
        for tf_idf, loss in ((False, "hinge"), (False, "log_loss"), (True, "hinge"), (True, "log_loss")):
            (X, held), of = kinds[tf_idf], "tf-idf" if tf_idf else "counts"
            for who, (estimator, options) in contenders.items():
                found = {}
                for text, epochs in EPOCHS.items():
                    each = [(trained(estimator, {"loss": loss, **options}, epochs, seed, X, y).predict(held) == target).mean() for seed in SEEDS]
                    found[text] = (float(np.mean(each)), float(np.std(each, ddof=1) / len(SEEDS) ** 0.5))
                say(f"    {of + ', ' + loss:17} {who:17}" + "".join(f"  {mean:.4f} +- {se:.4f}" for mean, se in found.values()), set=name, tf_idf=tf_idf, loss=loss, who=who, **found)
