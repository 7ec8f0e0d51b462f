"""Text: words counted and weighed, or hashed and learnt in chunks. `python text.py [--rows N]`"""

import argparse

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from lazyglm import ElasticNetClassifierCV, SGDClassifier


def letters(rows, seed=0):
    """Made mail: words by Zipf's law, and some that are commoner in one kind."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{k}" for k in range(5_000)])
    kinds = rng.integers(0, 2, size=rows)
    draw = rng.zipf(1.3, size=(rows, 40)) % 5_000
    telling = rng.integers(0, 50, size=(rows, 3)) + np.where(kinds, 100, 200)[:, None]
    return [" ".join(words[row]) for row in np.hstack([draw, telling])], np.array(["ham", "spam"])[kinds]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    texts, kinds = letters(parser.parse_args().rows)
    train, test, y_train, y_test = train_test_split(texts, kinds, random_state=0)

    counted = make_pipeline(TfidfVectorizer(), SGDClassifier("log_loss", penalty="elasticnet", alpha=1e-5, random_state=0))
    counted.fit(train, y_train)
    print(f"tf-idf, stochastic steps       {counted.score(test, y_test):.4f} right")

    exact = make_pipeline(TfidfVectorizer(), SGDClassifier("log_loss", alpha=1e-4, solver="newton", tol=1e-6))
    exact.fit(train, y_train)
    print(f"tf-idf, the minimum            {exact.score(test, y_test):.4f} right, gap {exact[-1].dual_gap_:.1e}")

    chosen = make_pipeline(TfidfVectorizer(dtype=np.float32), ElasticNetClassifierCV(l1_ratio=1.0, choose="one_se", cv=3, random_state=0))
    chosen.fit(train, y_train)
    weights = np.count_nonzero(chosen[-1].coef_)
    print(f"tf-idf, alpha by rows held out {chosen.score(test, y_test):.4f} right, alpha {chosen[-1].alpha_:.1e}, {weights} weights")

    hashed = HashingVectorizer(n_features=2**18)
    chunks = SGDClassifier("log_loss", penalty="elasticnet", alpha=1e-6, shuffle=False)
    for start in range(0, len(train), 1_000):  # as they come: no vocabulary, no second look
        rows = slice(start, start + 1_000)
        chunks.partial_fit(hashed.transform(train[rows]), y_train[rows], classes=["ham", "spam"])
    right = chunks.score(hashed.transform(test), y_test)
    print(f"hashed, in chunks              {right:.4f} right, {np.count_nonzero(chunks.coef_)} weights")
    assert min(counted.score(test, y_test), exact.score(test, y_test), right) > 0.6


if __name__ == "__main__":
    main()
