"""The documentation says what is: its examples run, its links lead somewhere, and every public name is in it."""

import doctest
import inspect
import re
from pathlib import Path

import pytest

import mercer
from mercer import eigen, kernels, preimage

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
    return re.findall(r"^   (?:[a-z]+\.)?(\w+)$", (ROOT / "docs" / "reference.rst").read_text(), flags=re.MULTILINE)


def test_every_public_name_is_in_the_reference():
    public = {name for name in mercer.__all__ if not name.startswith("_")}
    public |= {kernel.__name__ for kernel in kernels.NAMES.values() if inspect.isclass(kernel)}
    public |= {solver.__name__ for solver in eigen.NAMES.values()}
    public |= {method.__name__ for method in preimage.METHODS.values()}
    assert public <= set(reference())


@pytest.mark.parametrize("public", sorted({name for name in mercer.__all__ if not name.startswith("_")}))
def test_every_public_name_has_a_documented_example(public):
    text = inspect.getdoc(getattr(mercer, public))
    assert text
    assert "Parameters" in text
