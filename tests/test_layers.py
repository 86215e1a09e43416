"""Imports go downward, and three packages stay where they belong."""

import ast
from pathlib import Path

import pytest

import mercer

ROOT = Path(mercer.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
LAYERS = [
    {"tiles", "lazy", "kernels", "native", "_native", "_checks", "arrays"},
    {"gram", "landmarks", "ritz", "davidson", "eigen", "likelihood", "weights"},
    {"rkhs"},
    {"preimage", "reduce"},
    {"models", "dropin"},
]
ORDER = {"gram": 0, "landmarks": 1, "eigen": 2}  # inside their layer
HOMES = {
    "dask": {"lazy"},
    "distributed": {"lazy"},
    "matplotlib": {"plots"},
    "pickle": set(),
    "cPickle": set(),
    "dill": set(),
}


def unit(path):
    """The module or package right below mercer that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def level(name):
    return next((i for i, layer in enumerate(LAYERS) if name in layer), len(LAYERS))


def imported(path):
    """Full names of all that a file imports, wherever in the file it does so."""
    package = ["mercer", *path.relative_to(ROOT).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def units_imported(path):
    names = (name.split(".") for name in imported(path))
    return {parts[1] for parts in names if parts[0] == "mercer" and len(parts) > 1} - {unit(path), "__version__"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_downward(path):
    here = unit(path)
    for there in units_imported(path):
        assert level(there) <= level(here), f"{here} imports {there}, which lies above it"
        if here in ORDER and there in ORDER:
            assert ORDER[there] < ORDER[here], f"inside their layer, {here} comes before {there}"


def test_no_module_imports_itself_by_way_of_others():
    below = {}
    for path in FILES:
        below.setdefault(unit(path), set()).update(units_imported(path))
    del below["__init__"]  # it names the public modules, which are imported at their first use
    while below:
        free = {name for name, needs in below.items() if not needs & below.keys()}
        assert free, f"imports go round in {below}"
        below = {name: needs for name, needs in below.items() if name not in free}


@pytest.mark.parametrize("module", ["eigen"])
def test_solvers_know_no_kernels(module):
    assert "kernels" not in units_imported(ROOT / f"{module}.py")


@pytest.mark.parametrize("package", HOMES)
def test_a_package_stays_at_home(package):
    users = {unit(path) for path in FILES if package in {name.split(".")[0] for name in imported(path)}}
    assert users <= HOMES[package]


def test_the_rules_see_a_breach(tmp_path, monkeypatch):
    """An import that is relative, absolute, or hidden in a function is found."""
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    lower = tmp_path / "kernels"
    lower.mkdir()
    (lower / "bad.py").write_text(
        "from ..models import base\nimport mercer.rkhs\nfrom .. import plots\n"
        "def f():\n    from mercer import eigen\n    import pickle\n    from . import sibling\n"
    )
    assert units_imported(lower / "bad.py") == {"models", "rkhs", "plots", "eigen"}
    assert "pickle" in set(imported(lower / "bad.py"))
