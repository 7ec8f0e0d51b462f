"""Model files are the program's: what is trained here serves there, and back. LAZYGLM names the program."""

import os
import pickle
import subprocess
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import lazyglm
from lazyglm import AutoClassifier, ElasticNetClassifier, SGDClassifier, SGDRegressor

PROGRAM = os.environ.get("LAZYGLM")
needs_program = pytest.mark.skipif(PROGRAM is None, reason="LAZYGLM is not set: `make test` sets it")


def program(*words):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture
def file(tmp_path):
    X = sp.random(200, 30, density=0.2, random_state=0, format="csr")
    X.data = np.round(X.data, 4)
    y = np.where(X @ np.random.default_rng(0).normal(size=30) > 0, 1, -1)
    dump_svmlight_file(X, y, str(tmp_path / "data.svm"), zero_based=False)
    return tmp_path / "data.svm"


@needs_program
@pytest.mark.parametrize("loss", ["hinge", "log_loss", "modified_huber"])
def test_the_program_gives_the_same_scores(file, loss):
    X, y = load_svmlight_file(str(file), n_features=30)
    model = SGDClassifier(loss, penalty="elasticnet", alpha=1e-3, random_state=0).fit(X, y)
    model.save(file.parent / "model")
    scores = program("predict", file.parent / "model", file, "--as", "score")
    assert np.array_equal(np.array(scores, dtype=float), model.decision_function(X))
    classes = program("predict", file.parent / "model", file, "--as", "target")
    assert np.array_equal(np.array(classes, dtype=float), model.predict(X))
    assert "not measured" in " ".join(program("inspect", file.parent / "model"))


@needs_program
@pytest.mark.parametrize("loss", ["squared_error", "huber", "quantile", "poisson", "epsilon_insensitive"])
def test_so_it_is_for_numbers(file, loss):
    X, y = load_svmlight_file(str(file), n_features=30)
    model = SGDRegressor(loss, random_state=0, eta0=0.02).fit(X, y + 1)
    model.save(file.parent / "model")
    found = np.array(program("predict", file.parent / "model", file), dtype=float)
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-15)


@needs_program
@pytest.mark.parametrize("order", ["sequential", "shuffled"])
@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_learning_is_the_programs(file, precision, order):
    flags = ["--l1", "2e-4", "--l2", "8e-4", "--schedule", "constant", "--eta0", "0.1", "--epochs", "3", "--seed", "7"]
    flags += ["--order", order, "--precision", precision, "--loss", "logistic", "--features", "30", "--quiet"]
    program("train", file, "-o", file.parent / "model", *flags)
    theirs = lazyglm.load(file.parent / "model")
    ours = SGDClassifier(
        "log_loss", penalty="elasticnet", alpha=1e-3, l1_ratio=0.2, learning_rate="constant", eta0=0.1, max_iter=3, tol=None,
        random_state=7, shuffle=order == "shuffled", precision=precision, intercept_rate=1,
    )  # fmt: skip
    X, y = load_svmlight_file(str(file), n_features=30, dtype=np.float32 if precision == "f32" else np.float64)
    ours.fit(X, y)
    if precision == "f64":
        assert np.array_equal(ours.coef_, theirs.coef_) and np.array_equal(ours.intercept_, theirs.intercept_)
    else:  # `coef_` is in single precision then, and the file in double
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7)
    assert list(theirs.classes_) == [-1, 1]
    assert np.array_equal(theirs.predict(file), theirs.predict(X.astype(float)))


@needs_program
def test_named_columns_serve_on_tables(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "size": [1.0, 0.0, 2.0, 0.5]})
    model = SGDRegressor(random_state=0, eta0=1e-4).fit(frame, [1.0, 2.0, 3.0, 4.0])
    model.save(tmp_path / "model")
    frame[["size", "age"]].to_csv(tmp_path / "new.csv", index=False)
    found = np.array(program("predict", tmp_path / "model", tmp_path / "new.csv"), dtype=float)
    np.testing.assert_allclose(found, model.predict(frame), rtol=1e-12)
    back = lazyglm.load(tmp_path / "model")
    assert list(back.feature_names_in_) == ["age", "size"]
    np.testing.assert_allclose(back.predict(frame), model.predict(frame), rtol=1e-15)


@needs_program
def test_a_model_of_a_file_reads_new_files_alike(tmp_path):
    (tmp_path / "train.csv").write_text("age,city,target\n20,Oslo,yes\n30,Rome,no\n40,Oslo,yes\n25,Rome,no\n")
    model = SGDClassifier("log_loss", random_state=0).fit(tmp_path / "train.csv")
    model.save(tmp_path / "model")
    found = program("predict", tmp_path / "model", tmp_path / "train.csv", "--as", "score")
    assert np.array_equal(np.array(found, dtype=float), model.decision_function(tmp_path / "train.csv"))


def many_classes(folder):
    """A file of three classes by name."""
    X = sp.random(200, 30, density=0.2, random_state=0, format="csr")
    X.data = np.round(X.data, 4)
    y = (X @ np.random.default_rng(0).normal(size=(30, 3))).argmax(axis=1)
    dump_svmlight_file(X, y, str(folder / "numbers.svm"), zero_based=False)
    names = np.array(["ham", "eggs", "spam"])[y]
    lines = (folder / "numbers.svm").read_text().splitlines()
    words = [" ".join([name, *line.split()[1:]]) for name, line in zip(names, lines, strict=True)]
    (folder / "words.svm").write_text("\n".join(words) + "\n")
    return X, names


def by_class(printed, names):
    """The program's table of scores or probabilities: a line a row, after a line of names."""
    table = np.array(printed).reshape(-1, len(names))
    assert list(table[0]) == list(names)
    return table[1:].astype(float)


@needs_program
@pytest.mark.parametrize("loss", ["hinge", "log_loss", "modified_huber"])
def test_many_classes_serve_in_the_program(tmp_path, loss):
    X, y = many_classes(tmp_path)
    model = SGDClassifier(loss, penalty="elasticnet", alpha=1e-3, l1_ratio=0.7, random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    scores = by_class(program("predict", tmp_path / "model", tmp_path / "words.svm", "--as", "score"), model.classes_)
    assert np.array_equal(scores, model.decision_function(X))
    classes = program("predict", tmp_path / "model", tmp_path / "words.svm", "--as", "target")
    assert np.array_equal(classes, model.predict(X))
    if loss != "hinge":
        found = by_class(program("predict", tmp_path / "model", tmp_path / "words.svm", "--as", "probability"), model.classes_)
        np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-12, atol=1e-15)
    back = lazyglm.load(tmp_path / "model")
    assert np.array_equal(back.coef_, model.coef_) and np.array_equal(back.classes_, model.classes_)
    assert np.array_equal(back.decision_function(tmp_path / "words.svm"), model.decision_function(X))
    assert back.partial_fit(X, y).t_ > model.t_
    assert "spam" in " ".join(program("inspect", tmp_path / "model"))


@needs_program
@pytest.mark.parametrize("kind", ["ovr", "softmax"])
def test_many_classes_of_the_program_serve_here(tmp_path, kind):
    X, _ = many_classes(tmp_path)
    program("train", tmp_path / "words.svm", "-o", tmp_path / "model", "--multiclass", kind, "--quiet", "--features", "30")
    model = lazyglm.load(tmp_path / "model")
    for what, ours in (("score", model.decision_function(X)), ("probability", model.predict_proba(X))):
        found = by_class(program("predict", tmp_path / "model", tmp_path / "words.svm", "--as", what), model.classes_)
        np.testing.assert_allclose(found, ours, rtol=1e-12, atol=1e-15)
    model.save(tmp_path / "again")
    np.testing.assert_array_equal(lazyglm.load(tmp_path / "again").predict_proba(X), model.predict_proba(X))


@needs_program
def test_models_of_labels_predict_sets(tmp_path):
    (tmp_path / "labels.mlsvm").write_text("1,2 1:1\n2 2:1\n1 1:2 2:1\n" * 10)
    program("train", tmp_path / "labels.mlsvm", "-o", tmp_path / "model", "--multilabel", "--quiet")
    program("predict", tmp_path / "model", tmp_path / "labels.mlsvm", "-o", tmp_path / "out", "--quiet")
    theirs = [set(line.split(",")) - {""} for line in (tmp_path / "out").read_text().splitlines()]
    data, model = lazyglm.read(tmp_path / "labels.mlsvm"), lazyglm.load(tmp_path / "model")
    assert data.y[:2] == [{1, 2}, {2}]
    predicted = model.predict(data.X)
    assert [set(map(str, labels)) for labels in predicted] == theirs == [set(map(str, row)) for row in model.predict(tmp_path / "labels.mlsvm")]
    assert model.score(tmp_path / "labels.mlsvm") == np.mean([a == b for a, b in zip(predicted, data.y, strict=True)])


@needs_program
@pytest.mark.parametrize("classes", [2, 3])
def test_models_of_tf_idf_predict_here_as_in_the_program(tmp_path, classes):
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(rng.poisson(0.3, size=(200, 30)) * 1.0)
    y = (X @ rng.normal(size=(30, classes))).argmax(axis=1)
    dump_svmlight_file(X, y, str(tmp_path / "counts.svm"), zero_based=False)
    options = ["--multiclass", "softmax"] if classes > 2 else []
    program("train", tmp_path / "counts.svm", "-o", tmp_path / "model", "--scale", "tfidf", "--l2", "1e-3", "--l1", "0", "--quiet", *options)
    model = lazyglm.load(tmp_path / "model")
    program("predict", tmp_path / "model", tmp_path / "counts.svm", "-o", tmp_path / "out", "--as", "score", "--quiet")
    theirs = np.array([[float(x) for x in line.split()] for line in (tmp_path / "out").read_text().splitlines()[classes > 2 :]])
    for scores in (model.decision_function(X), model.decision_function(tmp_path / "counts.svm")):
        np.testing.assert_allclose(scores.reshape(200, -1), theirs, rtol=1e-6)
    again = pickle.loads(pickle.dumps(model))
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes() and model.score(X, y) > 0.8


def test_warnings_of_the_reader_are_warnings_of_python(tmp_path):
    (tmp_path / "dirty.csv").write_text("age,y\n" + "1,0\n2,1\n" * 200 + "unknown,1\nn/a,0\n")
    text = "dirty.csv: . cells? of the number column 'age' (is|are) not (a )?numbers? and counts? as missing; the first is 'unknown' in line 402"
    with pytest.warns(UserWarning, match=text) as caught:
        data = lazyglm.read(tmp_path / "dirty.csv", target="y")
    assert "age=missing" in data.feature_names and [one.filename for one in caught] == [__file__]
    assert "categorical='age'" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "age=unknown" in lazyglm.read(tmp_path / "dirty.csv", target="y", categorical="age").feature_names
    with pytest.warns(UserWarning, match=text) as caught:
        model = ElasticNetClassifier().fit(tmp_path / "dirty.csv", target="y")
    assert [one.filename for one in caught] == [__file__]
    with pytest.warns(UserWarning, match=text) as caught:
        model.predict(tmp_path / "dirty.csv")
    assert [one.filename for one in caught] == [__file__]


def test_a_multinomial_model_without_weights_is_loaded(tmp_path):
    X = np.random.default_rng(0).normal(size=(90, 5))
    model = ElasticNetClassifier(alpha=10).fit(X, np.arange(90) % 3)
    model.save(tmp_path / "model")
    back = lazyglm.load(tmp_path / "model")
    assert back.coef_.shape == (3, 5) and not back.coef_.any()
    np.testing.assert_allclose(back.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    "name, lines",
    [
        ("fast.txt", "__label__a __label__b hello my world\n__label__b foo bar\n__label__a baz\n__label__c hello bar\n"),
        ("labels.svm", "a,b 1:1 2:1\nb 2:1\na 3:1\nc 1:1 4:1\n"),
    ],
)
def test_targets_with_several_labels_are_sets_as_in_the_program(tmp_path, name, lines):
    (tmp_path / name).write_text(lines * 10)
    sets = [{"a", "b"}, {"b"}, {"a"}, {"c"}]
    assert lazyglm.read(tmp_path / name).y[:4] == sets
    assert list(lazyglm.read(tmp_path / name, multilabel=False).y[:2]) == ["a,b", "b"]
    model = ElasticNetClassifier(alpha=1e-3).fit(tmp_path / name)
    assert model.predict(tmp_path / name)[:4] == sets and model.score(tmp_path / name) == 1.0
    if PROGRAM is not None:
        program("train", tmp_path / name, "-o", tmp_path / "model", "--quiet")
        program("predict", tmp_path / "model", tmp_path / name, "-o", tmp_path / "out", "--quiet")
        assert all(set(line.split(",")) - {""} <= {"a", "b", "c"} for line in (tmp_path / "out").read_text().splitlines())
    with pytest.raises(ValueError, match="use SGDClassifier, ElasticNetClassifier or AutoClassifier"):
        SGDRegressor().fit(tmp_path / name)
    one = tmp_path / f"one-{name}"  # one label per line: classes
    one.write_text("".join(line for line in (lines * 10).splitlines(True) if not line.startswith(("a,b", "__label__a __label__b"))))
    classes = SGDClassifier("log_loss", random_state=0).fit(one)
    assert list(classes.classes_) == ["a", "b", "c"] and list(lazyglm.read(one).y[:2]) == ["b", "a"]
    assert classes.score(tmp_path / name) == 0.75 * classes.score(one)  # a set of two is no class


def test_a_comma_in_a_target_of_a_table_is_no_set(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n" + '1,"a,b"\n2,c\n' * 10)
    assert set(lazyglm.read(tmp_path / "a.csv", target="y").y) == {"a,b", "c"}


@needs_program
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_loaded_model_of_a_table_scores_a_file(tmp_path, kind):
    rows = [(k % 7, k % 3, 2.0 * (k % 7) - (k % 3)) for k in range(60)]
    table = {
        "csv": "a,b,price\n" + "".join(f"{a},{b},{price}\n" for a, b, price in rows),
        "jsonl": "".join(f'{{"a":{a},"b":{b},"price":{price}}}\n' for a, b, price in rows),
    }
    file = tmp_path / f"table.{kind}"
    file.write_text(table[kind])
    program("train", file, "-o", tmp_path / "model", "--target", "price", "--quiet")
    assert lazyglm.load(tmp_path / "model").score(file) > 0.99


@needs_program
def test_models_of_text_predict_strings(tmp_path):
    texts = ["free money now", "meeting at noon", "win money", "lunch at noon"] * 10
    kinds = ["spam" if "money" in text else "ham" for text in texts]
    lines = [f"{kind}\t{text}\n" for kind, text in zip(kinds, texts, strict=True)]
    (tmp_path / "mail.tsv").write_text("".join(lines))
    program("train", tmp_path / "mail.tsv", "-o", tmp_path / "model", "--format", "text", "--quiet")
    model = lazyglm.load(tmp_path / "model")
    assert model.predict(["money money", "lunch\nat noon"]).tolist() == ["spam", "ham"]
    assert model.predict(np.array(texts)).tolist() == kinds


FORMATS = {  # the same four rows, in the other formats the program reads
    "mail.vw": "1 |words free money\n-1 |words lunch noon:2\n1 |words money win\n-1 |words noon\n",
    "mail.jsonl": '{"target": 1, "free": 1, "money": 1}\n{"target": -1, "lunch": 1, "noon": 2}\n'
    '{"target": 1, "money": 1, "win": 1}\n{"target": -1, "noon": 1}\n',
    "mail.tsv": "target\tfree\tlunch\tmoney\tnoon\twin\n1\t1\t0\t1\t0\t0\n-1\t0\t1\t0\t2\t0\n1\t0\t0\t1\t0\t1\n-1\t0\t0\t0\t1\t0\n",
    "mail.txt": "1\tfree money\n-1\tlunch noon noon\n1\tmoney win\n-1\tnoon\n",
}


@needs_program
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_reads_here_as_in_the_program(tmp_path, name):
    path = tmp_path / name
    path.write_text(FORMATS[name])
    options = {"format": "text", "text": "words=1-1,value=tf,norm=none"} if name.endswith("txt") else {}
    data = lazyglm.read(path, **options)
    assert data.X.shape[0] == 4 and list(data.y) == [1, -1, 1, -1]
    dense = {str(word).rpartition("^")[2].rpartition("=")[2]: column for word, column in zip(data.feature_names, data.X.toarray().T, strict=True)}
    assert {"free", "money", "lunch", "noon", "win"} <= set(dense), sorted(dense)
    np.testing.assert_array_equal(dense["noon"], [0, 2, 0, 1])
    np.testing.assert_array_equal(dense["money"], [1, 0, 1, 0])
    if options:
        return  # a path alone is recognised by its name
    model = SGDClassifier("log_loss", alpha=1e-3, random_state=0, precision="f64").fit(path)
    model.save(tmp_path / "model")
    found = program("predict", tmp_path / "model", path, "--as", "score")
    assert np.array_equal(np.array(found, dtype=float), model.decision_function(path))
    assert np.array_equal(model.predict(path), [1, -1, 1, -1])


@pytest.mark.parametrize("index_base", [0, 1])
def test_what_is_saved_loads(tmp_path, file, index_base):
    X, y = load_svmlight_file(str(file), n_features=30)
    for estimator, targets in ((SGDClassifier, np.where(y > 0, "yes", "no")), (SGDRegressor, y)):
        model = estimator(penalty="l1", alpha=1e-3, random_state=0).fit(X, targets)
        model.save(tmp_path / "model", index_base=index_base)
        back = lazyglm.load(tmp_path / "model")
        assert type(back) is estimator and back.coef_.shape == model.coef_.shape
        assert np.array_equal(back.coef_, model.coef_) and np.array_equal(back.intercept_, model.intercept_)
        assert np.array_equal(back.predict(X), model.predict(X))
        back.partial_fit(X, targets)
        assert back.t_ > model.t_
    if index_base == 1:
        assert np.array_equal(back.predict(file), back.predict(X))


def test_what_cannot_be_saved_or_loaded_is_said(tmp_path):
    X = np.eye(3)
    model = SGDClassifier(random_state=0).fit(X, [0, 1, 1])
    with pytest.raises(ValueError, match="index_base"):
        model.save(tmp_path / "model", index_base=2)
    with pytest.raises(OSError):
        model.save(tmp_path / "no folder" / "model")
    (tmp_path / "junk").write_text("junk")
    with pytest.raises(ValueError, match="not a lazyglm model"):
        lazyglm.load(tmp_path / "junk")
    with pytest.raises(FileNotFoundError):
        lazyglm.load(tmp_path / "none")


@pytest.mark.parametrize("name, text", [("t.txt", "1\tbig dog\n0\tsad cat\n"), ("t.csv", "said,y\nbig red dog,1\nsad old cat,0\nbig old cat,1\n")])
def test_idf_is_not_for_data_that_become_arrays(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert lazyglm.read(tmp_path / name).X.shape[0] > 1
    with pytest.raises(ValueError, match="idf=yes is not for data that become arrays"):
        lazyglm.read(tmp_path / name, text="idf=yes")


def test_classes_of_bool_stay_bool(tmp_path):
    X = np.eye(6)
    model = SGDClassifier(random_state=0).fit(X, np.arange(6) % 2 == 0)
    model.save(tmp_path / "m")
    back = lazyglm.load(tmp_path / "m")
    assert back.classes_.dtype == bool and back.predict(X).tolist() == model.predict(X).tolist()


@needs_program
@pytest.mark.parametrize("estimator", [SGDRegressor(random_state=0, eta0=1e-4), lazyglm.ElasticNetRegressor(alpha=1e-3), lazyglm.AutoRegressor(random_state=0)], ids=repr)
def test_an_empty_cell_of_a_file_is_the_mean_of_its_column(tmp_path, estimator):
    """For a model of a frame of numbers, in the program and here, also once it was loaded."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"age": rng.normal(40, 5, 60), "size": rng.normal(-3, 1, 60)})
    model = estimator.fit(frame, frame["age"] / 10 + frame["size"])
    model.save(tmp_path / "model")
    (tmp_path / "new.csv").write_text("size,age\n,41.5\n-2.5,\n-2.5,NA\n")
    filled = pandas.DataFrame({"age": [41.5, frame["age"].mean(), frame["age"].mean()], "size": [frame["size"].mean(), -2.5, -2.5]})
    expected = model.predict(filled)
    back = lazyglm.load(tmp_path / "model")
    np.testing.assert_allclose(np.array(program("predict", tmp_path / "model", tmp_path / "new.csv"), dtype=float), expected, rtol=1e-9)
    np.testing.assert_allclose(model.predict(tmp_path / "new.csv"), expected, rtol=1e-9)
    np.testing.assert_allclose(back.predict(tmp_path / "new.csv"), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="NaN"):  # a frame in memory is an array
        model.predict(filled.where(filled != -2.5))


@needs_program
def test_the_means_are_those_of_the_first_rows(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1.0, 2.0, 3.0, 6.0]})
    model = SGDRegressor(random_state=0).partial_fit(frame, [1.0, 2.0, 3.0, 6.0]).partial_fit(frame + 1, [1.0, 2.0, 3.0, 6.0])
    pickle.loads(pickle.dumps(model)).save(tmp_path / "model")
    (tmp_path / "new.csv").write_text("age,more\n,1\n")
    found = np.array(program("predict", tmp_path / "model", tmp_path / "new.csv"), dtype=float)
    np.testing.assert_allclose(found, model.predict(pandas.DataFrame({"age": [3.0]})), rtol=1e-9)
