"""scikit-learn's weights against its own predictions, from text and from the saved matrix."""

import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

from bench import contenders, svmlight
from bench.tests import small


@unittest.skipUnless(importlib.util.find_spec("sklearn"), "scikit-learn is not installed")
class WeightsTest(unittest.TestCase):
    def test_weights_give_its_own_predictions(self):
        import joblib
        from sklearn.datasets import load_svmlight_file

        from bench.contenders import sklearn

        with tempfile.TemporaryDirectory() as folder:
            one = small.write(Path(folder))
            settings = contenders.Settings(l1=1e-3, l2=1e-3)
            learnt = []
            for contender in sklearn.contenders(contenders.Tools(Path(), Path(sys.executable))):
                for job in (contenders.TEXT_TO_MODEL, contenders.CACHE_EPOCH):
                    contender.prepare(job, one, settings)
                    outcome = contender.run(job, one, settings, 1)
                    learnt.append(contender.learnt(outcome))
            weights, bias = learnt[0]
            self.assertEqual(learnt[0], learnt[1])
            dense = np.array([weights.get(j, 0.0) for j in range(300)])
            said = joblib.load(outcome.model).decision_function(load_svmlight_file(str(one.train), zero_based=True)[0])
            np.testing.assert_allclose(svmlight.read(one.train).dot(dense) + bias, said, atol=1e-9)


if __name__ == "__main__":
    unittest.main()
