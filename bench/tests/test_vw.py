"""Vowpal Wabbit's text and slots, and its weights against its own predictions."""

import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

from bench import contenders, svmlight
from bench.contenders import vw
from bench.tests import small

TEXT = "2 0:1 5:0.5\n1 # empty\n"


class SlotsTest(unittest.TestCase):
    def test_no_two_features_share_a_slot_nor_the_constants(self):
        for width in (10, 260_942, 2**18 - 1, 2**18, 2**20 + 3):
            b = vw.bits(width)
            self.assertGreaterEqual(1 << b, width + 1)
            ends = {(vw.first_slot(b) + j) % (1 << b) for j in (0, width - 1)}
            self.assertNotIn(vw.CONSTANT % (1 << b), ends)
        self.assertEqual(vw.bits(260_942), 18)

    def test_slots_lead_back_to_features(self):
        first, constant = vw.first_slot(18), vw.CONSTANT % 2**18
        text = f"bits:18\n:0\n{constant}:0.5\n{first + 7}:-1 3 4\n{(first + 260_000) % 2**18}:2e-3\n"
        self.assertEqual(vw.weights_of(text, 18), ({7: -1.0, 260_000: 2e-3}, 0.5))

    def test_text_differs_only_before_the_pairs(self):
        with tempfile.TemporaryDirectory() as folder:
            path, out = Path(folder) / "a.svm", Path(folder) / "a.vw"
            path.write_text(TEXT)
            svmlight.to_vw(path, out, "77", greater=2.0)
            self.assertEqual(out.read_text(), "1 |77 0:1 5:0.5\n-1 |77 \n")


@unittest.skipUnless(importlib.util.find_spec("vowpalwabbit"), "vowpalwabbit is not installed")
class WeightsTest(unittest.TestCase):
    def test_weights_give_its_own_predictions(self):
        with tempfile.TemporaryDirectory() as folder:
            one = small.write(Path(folder))
            tools = contenders.Tools(Path(), Path(sys.executable))
            settings = contenders.Settings(l1=1e-3, l2=1e-3)  # large enough that forgetting it would show
            for contender in vw.contenders(tools):
                contender.prepare(contenders.TEXT_TO_MODEL, one, settings)
                outcome = contender.run(contenders.TEXT_TO_MODEL, one, settings, 1)
                weights, bias = contender.learnt(outcome)
                said = Path(folder) / "said"
                contender.child("-i", outcome.model, "-t", "-d", one.folder / "train.vw", "-r", said)
                rows = svmlight.read(one.train)
                dense = np.array([weights.get(j, 0.0) for j in range(300)])
                scores = rows.dot(dense) + bias
                worst = max(abs(s - float(line)) for s, line in zip(scores, said.read_text().split()))
                self.assertLess(worst, 2e-5, contender.name)


if __name__ == "__main__":
    unittest.main()
