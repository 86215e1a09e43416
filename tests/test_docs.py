"""The documentation says what is: its examples run, its links lead somewhere, and every public name is in it."""

import doctest
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PAGES = [page for page in PAGES if not {"_build", "gallery", "generated"} & set(page.parts)]


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if ">>>" in page.read_text(encoding="utf-8")], ids=name)
def test_examples_of_pages_run(page):
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8", verbose=False)
    assert result.failed == 0
    assert result.attempted > 0


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not re.match(r"[a-z]+:", link):
            assert (page.parent / link).exists(), f"{link} of {name(page)}"


def reference():
    """What the reference lists: full name ↦ object."""
    listed, module = {}, ""
    for line in (ROOT / "docs" / "reference.rst").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   \w+(\.\w+)?", line):
            name = f"{module}.{line.strip()}"
            home, _, last = name.rpartition(".")
            listed[name] = getattr(import_module(home), last)
    return listed


PACKAGES = ("", ".kernels", ".preimage", ".select", ".monitor", ".plots", ".datasets", ".io", ".testing", ".eigen")
# What stands beside public names and is no user's: parts of other modules, constants, and what is used within mercer.
WITHIN = {
    *("ColumnScaleWarning", "ComponentsWarning", "IndefiniteKernelWarning", "KernelWidthWarning"),
    *("LandmarkWarning", "NoiseWarning", "RepeatedRowsWarning"),
    "captured",
    *("Profile", "sqdist"),
    *("grid", "in_batches", "line", "projection", "squared_error", "walk"),
    *("Covariance", "Dense", "Eigenpairs", "Gram", "Operator", "Ritz", "Uncentred", "bind_preimage", "eigenpairs"),
}
# What functions return: shown where those are.
RESULTS = {
    *("AutoChoice", "Choice", "ClusterChoice", "ComponentChoice", "Cost", "Search", "Stability", "Widths"),
    *("ModelFile", "ModelFileError", "Unstorable"),
}


def public(package):
    """The classes and functions of a package that are its own."""
    module = import_module(f"mercer{package}")
    names = getattr(module, "__all__", None) or [
        name for name in vars(module) if getattr(vars(module)[name], "__module__", "") == module.__name__
    ]
    found = {name: getattr(module, name) for name in names if not name.startswith("_")}
    return {name for name, value in found.items() if inspect.isclass(value) or inspect.isfunction(value)} - WITHIN


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_in_the_reference(package):
    listed = {name.rpartition(".")[2] for name in reference()}
    assert public(package) - listed == set()


@pytest.mark.parametrize("name", [name for name in reference() if name.rpartition(".")[2] not in RESULTS])
def test_every_public_name_has_an_example(name):
    text = inspect.getdoc(reference()[name])
    assert "Examples\n--------" in text
    assert ">>>" in text


def takes_parameters(name):
    """Whether a name is a function or an estimator; what scikit-learn documents is documented there."""
    value = reference()[name]
    return inspect.isfunction(value) or (hasattr(value, "fit") and "dropin" not in name)


@pytest.mark.parametrize("name", [name for name in reference() if takes_parameters(name)])
def test_every_parameter_is_documented(name):
    value = reference()[name]
    sections = re.split(r"^(\w+)\n-+$", inspect.getdoc(value), flags=re.MULTILINE)
    table = sections[sections.index("Parameters") + 1] if "Parameters" in sections else ""
    told = ", ".join(re.findall(r"^(\w[\w, ]*) :", table, flags=re.MULTILINE)).split(", ")
    assert set(inspect.signature(value).parameters) <= set(told)


def test_words_are_spelled_right():
    pytest.importorskip("codespell_lib", reason="pip install codespell")
    places = [str(page) for page in PAGES] + [str(ROOT / "src"), str(ROOT / "examples"), str(ROOT / "tests")]
    found = subprocess.run(
        [sys.executable, "-m", "codespell_lib", "--skip", "*.npz,*.mercer,*.so", "-L", NO_WORDS, *places],
        capture_output=True,
        text=True,
    )
    assert found.stdout == ""


NO_WORDS = "fro,nd,te,atleast,sav,arro"  # names in code, file extensions and signatures
