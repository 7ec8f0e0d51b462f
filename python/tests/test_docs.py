"""The reference has every public name and every parameter; the example scripts run."""

import ast
import importlib.util
import inspect
import runpy
import sys
from pathlib import Path

import pytest

import lazyglm
import lazyglm.dask

HERE = Path(__file__).resolve().parent.parent
DOCS = HERE.parent / "docs"


def extension():
    """The extension of the site that describes parameters."""
    spec = importlib.util.spec_from_file_location("estimators", DOCS / "_ext" / "estimators.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names_of(package):
    """`__all__` of a package, read from its source: Spark is not installed here."""
    tree = ast.parse((HERE / "lazyglm" / package / "__init__.py").read_text())
    return next(ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")


@pytest.mark.parametrize("package", ["", "dask", "spark"])
def test_every_public_name_is_in_the_reference(package):
    text = (DOCS / "reference" / "python.md").read_text()
    section = text.partition(f"currentmodule:: lazyglm{'.' * bool(package)}{package}\n")[2].partition("currentmodule::")[0]
    for name in names_of(package):
        assert any(line.split()[-1] == name for line in section.splitlines() if line.strip()), (package, name)


@pytest.mark.parametrize("package", [lazyglm, lazyglm.dask])
def test_every_parameter_has_words_in_the_reference(package):
    site = extension()
    for name in package.__all__:
        thing = getattr(package, name)
        if inspect.isclass(thing):
            for parameter in site.missing(thing, inspect.getdoc(thing).splitlines()):
                assert parameter.name in site.PARAMETERS, (name, parameter.name)


def test_every_parameter_of_fit_and_partial_fit_is_described():
    for name in lazyglm.__all__:
        thing = getattr(lazyglm, name)
        for method in ("fit", "partial_fit"):
            if not inspect.isclass(thing) or method not in dir(thing):
                continue
            call = inspect.getattr_static(thing, method)
            call = getattr(call, "fn", call)  # what available_if wraps
            text = inspect.getdoc(call)
            described = text.partition("Parameters\n----------\n")[2].partition("\nReturns\n")[0]
            names = {word.strip() for line in described.splitlines() if " : " in line and line[0] != " " for word in line.partition(" : ")[0].split(",")}
            assert names == set(inspect.signature(call).parameters) - {"self"}, (name, method)


def attributes_of(kind):
    """The public attributes of a class that fitting sets: annotated, or properties."""
    bases = [base for base in kind.__mro__ if base.__module__.startswith("lazyglm")]
    names = {name for base in bases for name in (*vars(base), *vars(base).get("__annotations__", ()))}
    return {name for name in names if name.endswith("_") and not name.startswith("_")}


def entries_of(section):
    """The names that a section of a docstring describes, and those without words."""
    lines = section.splitlines()
    heads = [(line.partition(" : ")[0], after) for line, after in zip(lines, [*lines, ""][1:], strict=True) if " : " in line and line[0] != " "]
    names = {name.strip() for head, _ in heads for name in head.split(",")}
    return names, [head for head, after in heads if not after.startswith(" ")]


@pytest.mark.parametrize("name", lazyglm.__all__)
def test_every_public_name_has_an_example_and_words_for_what_it_gives(name):
    thing = getattr(lazyglm, name)
    text = inspect.getdoc(thing)
    assert ">>> " in text.partition("Examples\n--------\n")[2]
    if not inspect.isclass(thing):
        assert "Parameters\n----------\n" in text and "Returns\n-------\n" in text
        return
    described, wordless = entries_of(text.partition("Attributes\n----------\n")[2].partition("\n\n")[0])
    assert described == attributes_of(thing) and not wordless
    for method in dir(thing):
        call = inspect.getattr_static(thing, method)
        call = getattr(call, "fn", call)  # what available_if wraps
        if method.startswith("_") or not inspect.isfunction(call) or not call.__module__.startswith("lazyglm"):
            continue
        words, given = inspect.getdoc(call), set(inspect.signature(call).parameters) - {"self"}
        assert entries_of(words.partition("Parameters\n----------\n")[2].partition("\nReturns\n")[0])[0] == given, method
        assert method == "save" or "Returns\n-------\n" in words, method


@pytest.mark.parametrize("script", sorted(path.name for path in (HERE / "examples").glob("*.py")))
def test_examples_run(script, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [script, "--rows", "4000"])
    runpy.run_path(str(HERE / "examples" / script), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) >= 2
