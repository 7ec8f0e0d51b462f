"""The judge against sums written out by hand, and a judge that must object."""

import math
import tempfile
import unittest
from pathlib import Path

import numpy as np

from bench import judge, svmlight


def rows(text: str) -> svmlight.Rows:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        path.write_text(text)
        return svmlight.read(path)


TRAIN = rows("1 0:2 3:-1\n-1\n-1 3:0.5 # a comment\n")
TEST = rows("1 3:1\n-1 9:4\n")


class JudgeTest(unittest.TestCase):
    def test_objective_is_the_sum_written_out(self):
        verdict = judge.Judge(TRAIN, TEST, l1=0.1, l2=0.01).judge({0: 0.5, 3: -2.0}, 0.25)
        scores = [(0.5 * 2 + 2 + 0.25, 1), (0.25, -1), (-1 + 0.25, -1)]
        loss = sum(math.log(1 + math.exp(-y * s)) for s, y in scores) / 3
        self.assertAlmostEqual(verdict.loss, loss, places=14)
        self.assertAlmostEqual(verdict.objective, loss + 0.1 * 2.5 + 0.005 * 4.25, places=14)
        held = (math.log(1 + math.exp(1.75)) + math.log(1 + math.exp(0.25))) / 2
        self.assertAlmostEqual(verdict.held_out, held, places=14)
        self.assertEqual(verdict.nonzeros, 2)

    def test_weights_of_absent_features_cost_their_penalty(self):
        one = judge.Judge(TRAIN, TEST, l1=1.0, l2=0.0)
        more = one.judge({70: 3.0}, 0.0).objective - one.judge({}, 0.0).objective
        self.assertAlmostEqual(more, 3.0, places=14)

    def test_zeros_do_not_count_as_nonzeros(self):
        self.assertEqual(judge.Judge(TRAIN, TEST, 0, 0).judge({0: 0.0, 3: 1.0}, 0.0).nonzeros, 1)

    def test_large_scores_do_not_overflow(self):
        self.assertEqual(judge.mean_loss(np.array([-1e4]), np.array([1.0])), 1e4)

    def test_weights_that_are_not_finite_are_refused(self):
        with self.assertRaises(ValueError):
            judge.Judge(TRAIN, TEST, 0, 0).judge({0: math.nan}, 0.0)

    def test_a_wrong_report_is_noticed(self):
        verdict = judge.Verdict(objective=0.5, loss=0.5, held_out=0.5, nonzeros=0)
        judge.check(None, verdict)
        judge.check(0.5 * (1 + 9e-7), verdict)
        for wrong in (0.5 * (1 + 2e-6), math.nan):
            with self.assertRaises(judge.Disagreement):
                judge.check(wrong, verdict)


if __name__ == "__main__":
    unittest.main()
