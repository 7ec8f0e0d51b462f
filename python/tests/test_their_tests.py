"""scikit-learn's own tests of its SGD estimators, as they are installed, pointed at ours.

What is not ours is left out (SGDOneClassSVM, and losses as Cython objects). What must fail is listed in `exceptions.py`, each
with its reason, and must go on failing: an entry that passes is an error.
"""

import importlib
import sys

import pytest
import sklearn.linear_model

import lazyglm

NAME = "sklearn.linear_model.tests.test_sgd"

#: Some of their tests compare weights of runs that diverge, of which scikit-learn does not warn.
pytestmark = pytest.mark.filterwarnings("ignore:SGD (has )?diverged:sklearn.exceptions.ConvergenceWarning")


def _imported():
    """Their module, whose helpers derive from ours."""
    theirs = sklearn.linear_model.SGDClassifier, sklearn.linear_model.SGDRegressor
    sklearn.linear_model.SGDClassifier, sklearn.linear_model.SGDRegressor = lazyglm.SGDClassifier, lazyglm.SGDRegressor
    try:
        sys.modules.pop(NAME, None)
        return importlib.import_module(NAME)
    finally:
        sklearn.linear_model.SGDClassifier, sklearn.linear_model.SGDRegressor = theirs
        sys.modules.pop(NAME, None)


try:
    module = _imported()
except ModuleNotFoundError:
    pytest.skip("this scikit-learn was installed without its tests", allow_module_level=True)

globals().update({name: test for name, test in vars(module).items() if name.startswith("test_")})


@pytest.fixture(autouse=True)
def ours(monkeypatch):
    monkeypatch.setattr(sklearn.linear_model, "SGDClassifier", lazyglm.SGDClassifier)
    monkeypatch.setattr(sklearn.linear_model, "SGDRegressor", lazyglm.SGDRegressor)
