"""The data of the parts: svmlight files, and the messages of sms_spam.tsv, as counts."""

import csv
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

TEST_SHARE = 5  # of a set without test rows, every fifth row is held out


def one(data: Path, rows: int | None = None, name: str = "imdb_train.svm"):
    """The rows of a file with two classes; of a folder, those of one file in it."""
    import lazyglm

    read = lazyglm.read(data if data.is_file() else data / name)
    X, y = read.X[:rows], read.y[:rows]
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y


def split(data: Path, train: str, test: str | None = None):
    """X and y to train on, and X and y to test on."""
    import lazyglm

    if train.endswith(".tsv"):
        with open(data / train, encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
        X, y = CountVectorizer().fit_transform([line[1] for line in lines]).tocsr(), np.array([line[0] for line in lines])
    else:
        X, y = one(data / train)
    if test is not None:
        held = lazyglm.read(data / test, n_features=X.shape[1])
        return X, y, held.X, held.y
    held = np.arange(len(y)) % TEST_SHARE == 0
    return X[~held], y[~held], X[held], y[held]
