"""The benchmark of no flags: which rows are held out, what is the best of a grid, and the losses of others, by hand."""

import contextlib
import importlib.util
import io
import math
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

from bench import defaults, made_sets
from bench.tests import small


def flag(flags: tuple, name: str) -> str | None:
    """What was given after `name`."""
    return str(flags[flags.index(name) + 1]) if name in flags else None


def program(_binary, verb: str, *flags) -> dict | None:
    """Stands for lazyglm: losses are least at one point of each grid, some runs fail and some diverge."""
    if verb == "tune":
        rates = [float(rate) for rate in flag(flags, "--eta0").split(",")]
        far = abs(int(flag(flags, "--epochs")) - 3)
        return {"points": [{"l1": 1e-5, "l2": 0.0, "eta0": rate, "mean": 0.5 + far + abs(rate - 0.2)} for rate in rates]}
    if verb == "evaluate":
        return {"loss": 0.5}
    solver, l1, l2 = (flag(flags, name) for name in ("--solver", "--l1", "--l2"))
    if solver == "newton":
        if l1 == "1e-3":
            return None
        if flag(flags, "--scale") == "tfidf":
            loss = 0.46 if (l1, l2) != ("3e-5", "1e-2") else 0.41
        else:
            loss = math.inf if l1 == "1e-7" else 0.4 if (l1, l2) == ("3e-5", "1e-4") else 0.3 if l1 == "0" else 0.45
    elif solver == "ftrl":
        loss = 0.42 if (l1, flag(flags, "--epochs")) == ("1e-6", "10") else 0.6
    else:
        loss = 0.5
    return {"validation": {"loss": loss}, "eta0": 0.1, "nonzeros": 7}


class GridTest(unittest.TestCase):
    def best(self, wide: bool) -> dict:
        with mock.patch.object(defaults, "call", program):
            return defaults.grid(Path("lazyglm"), Path("learn"), Path("judge"), 0.1, ["ftrl"], wide)

    def test_the_best_of_each_solver_and_where_it_was(self):
        best = self.best(wide=False)
        self.assertEqual(best["online"], (0.5, "l1 1e-05 l2 0 eta0 0.2 epochs 3"))
        self.assertEqual(best["newton"], (0.4, "l1 3e-5 l2 1e-4"))
        self.assertEqual(best["ftrl"], (0.42, "l1 = l2 = 1e-6 epochs 10"))
        self.assertNotIn("newton, tf-idf", best, "tf-idf is far behind at one penalty")

    def test_without_l1_only_if_asked_for(self):
        self.assertEqual(self.best(wide=True)["newton"], (0.3, "l1 0 l2 1e-6"))

    def test_no_flags_are_set_against_the_best(self):
        with tempfile.TemporaryDirectory() as folder, io.StringIO() as out:
            small.write(Path(folder)).train.rename(Path(folder) / "small.svm")
            asked = ["defaults", "--binary", "lazyglm", "--data", folder, "--sets", "small"]
            helped = mock.Mock(stdout="  ftrl       the best weights\n")
            with (
                mock.patch.object(sys, "argv", asked),
                mock.patch.object(defaults, "call", program),
                mock.patch.object(defaults.subprocess, "run", return_value=helped),
                mock.patch.object(defaults, "peers", return_value={"vw": 0.55}),
                contextlib.redirect_stdout(out),
            ):
                defaults.main()
            row = next(line for line in out.getvalue().splitlines() if line.startswith("small "))
            self.assertEqual(row.split()[1:3] + row.split()[4:6], ["0.50000", "7", "0.40000", "25.00%"])
            self.assertIn("; vw 0.55", row)
            self.assertIn("1 sets: median 25.00 %, worst 25.00 %; the bar of 0.5 % and 4 % is missed", out.getvalue())


class RowsTest(unittest.TestCase):
    def test_every_fifth_row_is_held_out_or_the_sets_own_are(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "a.svm").write_text("".join(f"1 {k}:1\n" for k in range(1, 13)))
            learn, judge = defaults.split(folder / "a.svm", "0.2", folder)
            self.assertEqual(judge.read_text().splitlines(), ["1 5:1", "1 10:1"])
            self.assertEqual(len(learn.read_text().splitlines()), 10)
            own = defaults.split(folder / "a.svm", str(folder / "a.t.svm"), folder)
            self.assertEqual(own, (folder / "a.svm", folder / "a.t.svm"))

    def test_both_parts_of_a_table_have_its_header(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "a.csv").write_text("x,target\n" + "".join(f"{k},{k % 2}\n" for k in range(10)))
            learn, judge = defaults.split(folder / "a.csv", "0.2", folder)
            self.assertEqual(judge.read_text(), "x,target\n4,0\n9,1\n")
            self.assertEqual(len(learn.read_text().splitlines()), 9)

    def test_a_run_that_fails_is_none(self):
        with mock.patch.object(defaults.subprocess, "run") as run:
            run.return_value = mock.Mock(returncode=0, stdout='{"eta0": 1}')
            self.assertEqual(defaults.call(Path("lazyglm"), "train", Path("a")), {"eta0": 1})
            self.assertEqual(run.call_args.args[0][1:3], ["train", "a"])
            run.return_value = mock.Mock(returncode=1, stdout="")
            self.assertIsNone(defaults.call(Path("lazyglm"), "train", Path("a")))


class PeersTest(unittest.TestCase):
    def setUp(self):
        room = tempfile.TemporaryDirectory()
        self.addCleanup(room.cleanup)
        self.room = Path(room.name)

    def test_the_loss_of_vowpal_wabbit_is_ours(self):
        class Workspace:
            """Learns nothing, and gives every row the score 2."""

            heard = []

            def __init__(self, flags):
                self.heard.append(flags)

            def learn(self, line):
                self.heard.append(line)

            def predict(self, line):
                return 2.0

        judge = self.room / "judge.svm"
        judge.write_text("7 1:1\n7 2:1\n3 1:1\n")
        with mock.patch.dict(sys.modules, {"vowpalwabbit": types.SimpleNamespace(Workspace=Workspace)}):
            of_classes = defaults.vw(judge, judge, True, 7.0)
            of_numbers = defaults.vw(judge, judge, False, 7.0)
        self.assertAlmostEqual(of_classes, (2 * math.log1p(math.exp(-2)) + math.log1p(math.exp(2))) / 3)
        self.assertAlmostEqual(of_numbers, 0.5 * (25 + 25 + 1) / 3)
        self.assertEqual([line.split(" |")[0] for line in Workspace.heard[1:4]], ["1", "1", "-1"])
        self.assertIn("squared", Workspace.heard[4])

    @unittest.skipUnless(importlib.util.find_spec("sklearn"), "scikit-learn is not installed")
    def test_the_loss_of_scikit_learn_is_its_own_log_loss(self):
        from sklearn.datasets import load_svmlight_file
        from sklearn.linear_model import SGDClassifier
        from sklearn.metrics import log_loss

        one = small.write(self.room)
        learn, judge = defaults.split(one.train, "0.2", self.room)
        with mock.patch.object(defaults, "vw", return_value=0.0):
            found = defaults.peers(learn, judge)["scikit-learn"]
        (X, y), (Z, z) = (load_svmlight_file(str(path), n_features=300, zero_based=True) for path in (learn, judge))
        X.indices, X.indptr = X.indices.astype("int32"), X.indptr.astype("int32")
        model = SGDClassifier(loss="log_loss", random_state=1).fit(X, y)
        self.assertAlmostEqual(found, log_loss(z, model.predict_proba(Z)), places=9)


class MadeSetsTest(unittest.TestCase):
    def test_each_set_is_the_same_bytes_again_and_has_targets_of_its_kind(self):
        small_sets = {"customers.csv": made_sets.customers, "genes.svm": made_sets.genes, "prices.csv": made_sets.prices}
        with tempfile.TemporaryDirectory() as name, mock.patch.object(made_sets, "FILES", small_sets):
            both = [made_sets.write_all(Path(name) / part) for part in ("a", "b")]
            self.assertEqual([len(judge.read_text().splitlines()) for _, judge in both[0]], [4001, 2000, 5001])
            self.assertEqual(both[0][0][1].read_text().splitlines()[0], both[0][0][0].read_text().splitlines()[0], "the header")
            first, second = ([file for file, _ in sets] for sets in both)
            for one, other in zip(first, second):
                self.assertEqual(one.read_bytes(), other.read_bytes(), one.name)
            customers, genes, prices = (file.read_text().splitlines() for file in first)
            self.assertEqual({line.rsplit(",", 1)[1] for line in customers[1:]}, {"leaves", "stays"})
            self.assertTrue(any(",," in line for line in customers), "some numbers are missing")
            self.assertEqual((len(genes), {line.split(" ", 1)[0] for line in genes}), (400, {"1", "-1"}))
            targets = sorted(float(line.rsplit(",", 1)[1]) for line in prices[1:])
            self.assertGreater(targets[-1], 15 * targets[len(targets) // 2], "a heavy tail")
            stamp = first[0].parent / "stamp"
            before = first[0].stat().st_mtime_ns
            made_sets.write_all(first[0].parent)
            self.assertEqual(first[0].stat().st_mtime_ns, before, "not made again")
            stamp.unlink()
            first[0].write_text("cut short")
            made_sets.write_all(first[0].parent)
            self.assertEqual(first[0].read_bytes(), second[0].read_bytes())


if __name__ == "__main__":
    unittest.main()
