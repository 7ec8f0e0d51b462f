"""Examples of the pages write files: each page runs in an empty folder of its own."""

import pytest


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Changes to an empty folder while the examples of a page run."""
    monkeypatch.chdir(tmp_path)
