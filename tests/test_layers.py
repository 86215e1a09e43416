"""Imports go from the top of the house down, and some packages stay where they belong."""

import ast
from pathlib import Path

import pytest

import mercer

ROOT = Path(mercer.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
# the order of layers: a folder imports only from folders before it
FOLDERS = [
    "_core",
    "kernels",
    "linalg",
    "rkhs",
    "preimage",
    "plots",
    "models",
    "select",
    "datasets",
    "tables",
    "io",
    "testing",
    "app",
]
DOORS = {
    "__init__",
    "__main__",
    "dropin",
    "eigen",
    "importance",
    "monitor",
    "onnx",
}  # thin public modules at the top level
FUNCTIONS = {"landmarks", "merge", "register", "remove", "explore", "check", "report", "plan", "compress"}
DOOR_LINES = 60
HOMES = {
    "dask": {"_core/dask.py", "_core/dask_sums.py"},
    "distributed": {"_core/dask.py"},
    "threadpoolctl": {"_core/blas.py"},
    "array_api_compat": {"_core/arrays.py"},
    "matplotlib": {"plots"},
    "onnx": {"io"},
    "skl2onnx": {"io"},
    "pickle": set(),
    "cPickle": set(),
    "dill": set(),
}
PRIVATE = {"sklearn": "_core/sklearn.py", "scipy": "_core/scipy.py"}  # where private names of these may be imported


def unit(path):
    """The folder or module right below mercer that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


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


def test_every_folder_has_its_place():
    folders = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert folders == set(FOLDERS)


def test_the_top_level_has_thin_doors_only():
    modules = {path.stem: path for path in ROOT.glob("*.py")}
    assert set(modules) == DOORS
    assert not set(modules) & FUNCTIONS
    for name, path in modules.items():
        assert name == "__init__" or len(path.read_text(encoding="utf-8").splitlines()) <= DOOR_LINES


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_go_downward(folder):
    below = FOLDERS[: FOLDERS.index(folder)]
    for path in (ROOT / folder).rglob("*.py"):
        above = units_imported(path) - {*below}
        if folder == "app":  # what people touch uses the package as they do
            above = {name for name in above if name in {*FOLDERS}}
        assert not above, f"{path.relative_to(ROOT)} imports {above}, which is not below it"


def test_linear_algebra_knows_one_operator_of_kernels():
    users = {str(p.relative_to(ROOT)) for p in (ROOT / "linalg").rglob("*.py") if "kernels" in units_imported(p)}
    assert users == {"linalg/operators.py"}


@pytest.mark.parametrize("package", HOMES)
def test_a_package_stays_at_home(package):
    for path in FILES:
        here = str(path.relative_to(ROOT))
        if package in {name.split(".")[0] for name in imported(path)}:
            assert here in HOMES[package] or unit(path) in HOMES[package], f"{here} imports {package}"


@pytest.mark.parametrize("package", PRIVATE)
def test_private_names_are_touched_in_one_file(package):
    for path in FILES:
        private = {name for name in imported(path) if name.startswith(f"{package}.") and "._" in name}
        assert not private or str(path.relative_to(ROOT)) == PRIVATE[package], f"{path} imports {private}"


def test_few_places_ask_which_library_an_array_is_from():
    """All of them are in the core, or at doors that refuse what they cannot serve."""
    asks = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("is_foreign(")
        for path in FILES
        if unit(path) != "_core"
    }
    assert sum(asks.values()) <= MOST_ASKS, {name: n for name, n in asks.items() if n}


MOST_ASKS = 15


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
