"""The judge of bench/exact against sums written out by hand, and the rules by which times count."""

import math
import tempfile
import unittest
from pathlib import Path

import numpy as np

from bench import svmlight
from bench.exact import judge
from bench.exact.contest import distances, factor, not_within, time_to
from bench.exact.problem import Problem


def rows(text: str) -> svmlight.Rows:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        path.write_text(text)
        return svmlight.read(path)


ROWS = rows("0 0:2 3:-1\n2\n1 3:0.5\n")
CLASSES = np.array([0, 2, 1])
W = np.array([[0.5, 0, 0, -2.0], [0, 0, 0, 1.0], [-1.0, 0, 0, 0]])
B = np.array([0.25, -0.5, 0.0])
SCORES = [[1 + 2 + 0.25, -1 - 0.5, -2.0], [0.25, -0.5, 0.0], [-1 + 0.25, 0.5 - 0.5, 0.0]]
PENALTY = 0.1 * 4.5 + 0.005 * 6.25


class JudgeTest(unittest.TestCase):
    def test_softmax_objective_is_the_sum_written_out(self):
        loss = sum(math.log(sum(map(math.exp, s))) - s[y] for s, y in zip(SCORES, CLASSES)) / 3
        self.assertAlmostEqual(judge.objective("softmax", ROWS, CLASSES, W, B, 0.1, 0.01), loss + PENALTY, places=14)

    def test_one_vs_rest_objective_is_the_sum_over_the_classes(self):
        loss = sum(math.log(1 + math.exp(-s[c] if c == y else s[c])) for s, y in zip(SCORES, CLASSES) for c in range(3)) / 3
        self.assertAlmostEqual(judge.objective("ovr", ROWS, CLASSES, W, B, 0.1, 0.01), loss + PENALTY, places=14)

    def test_hinge_objective_is_the_sum_written_out(self):
        y = np.array([1.0, -1.0, 1.0])
        loss = (0 + 1.25 + 1.75) / 3  # scores 3.25, 0.25, -0.75
        found = judge.objective("hinge", ROWS, y, W[:1], B[:1], 0.1, 0.01)
        self.assertAlmostEqual(found, loss + 0.1 * 2.5 + 0.005 * 4.25, places=14)

    def test_path_objectives_are_those_of_each_model_at_its_own_penalty(self):
        for loss, y in [("logistic", np.array([1.0, -1.0, 1.0])), ("squared", np.array([0.5, -3.0, 2.0]))]:
            found = judge.path_objectives(loss, ROWS, y, W, B, [0.3, 0.2, 0.1])
            for k, l1 in enumerate([0.3, 0.2, 0.1]):
                s = [row[k] for row in SCORES]
                each = [math.log(1 + math.exp(-t * v)) if loss == "logistic" else (v - t) ** 2 / 2 for v, t in zip(s, y)]
                self.assertAlmostEqual(found[k], sum(each) / 3 + l1 * np.abs(W[k]).sum(), places=14)
            np.testing.assert_allclose(judge.path_losses(loss, ROWS, y, W[:1], B[:1]), found[0] - 0.3 * 2.5, rtol=1e-14)

    def test_large_scores_do_not_overflow(self):
        self.assertEqual(judge.softmax_loss(np.array([[0.0, 1e4]]), np.array([0])), 1e4)

    def test_weights_that_are_not_finite_are_refused(self):
        with self.assertRaises(ValueError):
            judge.objective("hinge", ROWS, CLASSES, W[:1] * math.nan, B[:1], 0.0, 0.0)

    def test_the_best_bias_of_hinge_loss_is_better_than_every_other(self):
        random = np.random.default_rng(1)
        for positives in (0, 1, 5, 17, 20):
            y = np.where(np.arange(20) < positives, 1.0, -1.0)
            some = rows("".join(f"1 0:{v:.3f}\n" for v in random.normal(size=20)))
            best = judge.best_hinge_bias(some, y, np.array([1.5]))
            loss = [judge.objective("hinge", some, y, np.array([[1.5]]), np.array([b]), 0, 0) for b in [best, *np.linspace(-9, 9, 999)]]
            self.assertLessEqual(loss[0], min(loss[1:]) + 1e-12)


class TimesTest(unittest.TestCase):
    TURNS = {
        "a": [[{"rung": 1, "seconds": 2.0, "F": [1.01, 5.0]}, {"rung": 2, "seconds": 4.0, "F": [1.0, 5.0]}]],
        "b": [[{"rung": 1, "seconds": 3.0, "F": [1.0, 5.1]}], [{"rung": 1, "seconds": 2.5, "F": [1.0, 5.1]}]],
    }

    def test_a_distance_is_that_of_the_worst_model_from_the_best_of_all_contenders(self):
        distances(self.TURNS)
        self.assertAlmostEqual(self.TURNS["a"][0][0]["distance"], 0.01)
        self.assertAlmostEqual(self.TURNS["b"][0][0]["distance"], 0.02)
        self.assertEqual(time_to(self.TURNS["a"], 1e-3), 4.0)
        self.assertEqual(time_to(self.TURNS["a"], 2e-2), 2.0)
        self.assertIsNone(time_to(self.TURNS["b"], 1e-3))
        self.assertEqual(not_within(self.TURNS["b"], 1e-3), 2.5)
        self.assertIsNone(not_within(self.TURNS["a"], 1e-3))

    def test_a_factor_is_a_bound_where_the_peer_did_not_arrive(self):
        self.assertEqual(factor(2.0, 5.0, None), "2.50")
        self.assertEqual(factor(2.0, None, 5.0), "> 2.50")
        self.assertEqual(factor(None, 5.0, None), "-")


class ProblemTest(unittest.TestCase):
    def test_held_out_rows_and_the_largest_useful_l1(self):
        with tempfile.TemporaryDirectory() as given, tempfile.TemporaryDirectory() as under:
            text = "".join(f"{3 + k % 3} 1:1 {2 + k % 3}:2\n" for k in range(20))
            (Path(given) / "x.svm").write_text(text)
            problem = Problem(Path(given), "x", Path(under))
            self.assertEqual((len(problem.rows), len(problem.held_rows), problem.kind), (18, 2, "many"))
            self.assertEqual(problem.held_y.tolist(), [0, 1])
            y = np.eye(3)[problem.y]
            X = np.zeros((18, problem.width))
            for k in range(18):
                X[k, 1], X[k, 2 + problem.y[k]] = 1, 2
            self.assertAlmostEqual(problem.l1_max(), np.abs(X.T @ (y.mean(axis=0) - y)).max() / 18, places=14)


if __name__ == "__main__":
    unittest.main()
