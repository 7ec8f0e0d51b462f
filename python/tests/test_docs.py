"""The API reference is complete and as installed; the example scripts run."""

import inspect
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import lazyglm

HERE = Path(__file__).resolve().parent.parent


def written():
    done = subprocess.run([sys.executable, "-W", "error", HERE / "docs" / "make_api.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_reference_is_what_is_installed():
    text = (HERE / "docs" / "api.md").read_text()
    assert text == written(), "run: python docs/make_api.py > docs/api.md"


def test_every_public_name_is_in_it():
    text = (HERE / "docs" / "api.md").read_text()
    for name in lazyglm.__all__:
        thing = getattr(lazyglm, name)
        assert (f"## {name}\n" if inspect.isclass(thing) else f"`{name}(") in text
        section = text.partition(f"## {name}\n")[2].partition("\n## ")[0]
        for parameter in inspect.signature(thing).parameters if inspect.isclass(thing) else ():
            assert f"| `{parameter}` |" in section, (name, parameter)


@pytest.mark.parametrize("script", sorted(path.name for path in (HERE / "examples").glob("*.py")))
def test_examples_run(script, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [script, "--rows", "4000"])
    runpy.run_path(str(HERE / "examples" / script), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) >= 2
