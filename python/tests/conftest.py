"""Which of scikit-learn's own tests are not for us, and which must fail."""

import pytest
from exceptions import EXCEPTIONS


def pytest_collection_modifyitems(config, items):
    kept, left_out = [], []
    for item in items:
        theirs = item.path.name == "test_their_tests.py"
        if theirs and ("OneClass" in item.name or "ocsvm" in item.name or "oneclass" in item.name):
            left_out.append(item)
            continue
        kept.append(item)
        if theirs:
            reasons = [reason for start, reason in EXCEPTIONS.items() if item.name.startswith(start)]
            for reason in reasons:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture
def global_random_seed():
    """A fixture of scikit-learn's own test suite."""
    return 42
