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
sys.path.insert(0, str(ROOT / "docs" / "_ext"))
import backlinks  # noqa: E402
import executed  # noqa: E402

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PAGES = [page for page in PAGES if not {"_build", "gallery", "generated"} & set(page.parts)]


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if ">>>" in page.read_text(encoding="utf-8")], ids=name)
def test_examples_of_pages_run(page):
    shown = doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8"))
    assert not [example.source for example in shown if hides(example)]
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8", verbose=False)
    assert result.failed == 0
    assert result.attempted > 0


def hides(example):
    """Whether an example shows a comparison or an ellipsis where a value could be."""
    return "bool(" in example.source or re.search(r"\b(True|False)\b|\.\.\.", example.want)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not re.match(r"[a-z]+:", link):
            assert (page.parent / link).exists(), f"{link} of {name(page)}"


RUNS = [page for page in PAGES if executed.BLOCK.search(page.read_text(encoding="utf-8"))]
# what looks measured: decimals, percentages, units
MEASURED = re.compile(r"\d\.\d|\d ?%|\d (?:dB|ms|MB|GB|s|seconds|minutes|hours|times)\b|\d×")
# pages whose decimals are numbers of equations, of versions, or of decisions
UNMEASURED = {"CHANGELOG.md", "docs/design.md", "docs/equations.md"}
A_FEW = 5  # figures that a page may have as settings
COMMAND = re.compile(r"python (benchmarks|docs|tools)/|mercer reproduce|make [a-z]")


def prose(text):
    """Text without code, formulas, links, numbers of equations and values that are filled in."""
    text = re.sub(r"```.*?```|\$[^$]+\$|\{val\}`[^`]+`", "", text, flags=re.DOTALL)
    return re.sub(r"`[^`]*`|\]\([^)]*\)|PRML [\d., ]+", "", text)


@pytest.mark.parametrize("page", RUNS, ids=name)
def test_figures_of_executed_pages_are_computed(page):
    assert MEASURED.findall(prose(page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page not in RUNS and name(page) not in UNMEASURED], ids=name
)
def test_measured_figures_have_a_command_and_a_date(page):
    text = page.read_text(encoding="utf-8")
    lead, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    # the beginning of a page speaks for all of it; a table needs its source there or in its own section
    sources = {text: text}
    sources |= {"\n".join(re.findall(r"^\|.*", part, re.MULTILINE)): lead + part for part in [lead, *sections]}
    for figures, source in sources.items():
        if len(MEASURED.findall(prose(figures))) > A_FEW:
            assert COMMAND.search(source), figures[:80]
            assert re.search(r"20\d\d-\d\d-\d\d", source), figures[:80]


@pytest.mark.parametrize("page", [page for page in RUNS if "% needs:" in page.read_text(encoding="utf-8")], ids=name)
def test_stored_outputs_belong_to_the_code_of_their_page(page):
    text = page.read_text(encoding="utf-8")
    found = executed.stored(str(page.relative_to(ROOT / "docs").with_suffix("")))
    assert found.code == executed.digest(text)
    for cell in found.cells:
        assert all((executed.STORED / figure).is_file() for figure in cell.figures)


FIGURE = re.compile(r"([\d.]+)(×| MB| s\b)")
RUNS_DIFFER = 0.3  # by so much on a busy machine


def test_figures_of_the_readme_are_those_of_the_benchmarks():
    """Every ratio, time and size of the section on speed is in the line of its case."""
    measured = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Speed")[2].partition("##")[0]
    cases = re.findall(r"^\| `([\w-]+)`.* \| (.*) \|$", readme, re.MULTILINE)
    assert cases
    for case, figures in [*cases, ("exact-100000", readme.partition("their exact")[2])]:
        line = FIGURE.findall(re.search(rf"^\| {case}: .*$", measured, re.MULTILINE)[0])
        for figure, unit in FIGURE.findall(figures):
            found = [float(value) for value, of in line if of == unit]
            assert any(abs(float(figure) / value - 1) < RUNS_DIFFER for value in found), f"{case}: {figure}{unit}"


PAGE = """
# A page

```{run}
:alt: A line.
import matplotlib.pyplot as plt

x = 0.25
plt.plot([0, 1])
print("printed", x)
```

A share of {val}`x:.0%`.

```{shell}
$ echo from a shell
$ python -c "print('a word ' * 20); print('a  table ' * 20)"
```

```{run}
:hide: yes
print("hidden", x)
```
"""


def test_pages_show_what_their_code_prints_and_draws(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(executed, "BUILT", tmp_path)
    text = executed.filled("page", PAGE)
    assert "\nprinted 0.25\n" in text
    assert "A share of 25%." in text
    assert "$ echo from a shell\nfrom a shell" in text
    assert f"a{' word a' * 12}\nword" in text  # lines of text are broken, those of tables are not
    assert ("a  table " * 20).strip() in text
    assert text.index("hidden 0.25") < text.index("The code")  # code that is hidden stands below its output
    assert ":alt: A line." in text
    assert [path.name for path in tmp_path.iterdir()] == ["page-0-1.png"]


def test_pages_that_cannot_run_show_stored_outputs(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(executed, "STORED", tmp_path)
    monkeypatch.setattr(executed, "DOCS", tmp_path)
    (tmp_path / "page.md").write_text(PAGE, encoding="utf-8")
    executed.store("page")
    text = executed.filled("page", "% needs: no_such_module data/no_such_set\n" + PAGE)
    assert "A share of 25%." in text
    assert "Stored results, since no_such_module, data/no_such_set are missing" in text
    assert "`python docs/_ext/executed.py page`" in text


reference = backlinks.reference
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


@pytest.mark.parametrize("name", reference())
def test_every_public_name_has_an_example_that_prints_a_result(name):
    text = inspect.getdoc(reference()[name])
    assert "Examples\n--------" in text
    shown = doctest.DocTestParser().get_examples(text)
    assert any(example.want.strip() for example in shown)
    assert not [example.source for example in shown if hides(example)]


def test_every_entry_of_the_reference_leads_to_its_theory_and_back_to_where_it_is_used():
    for name in reference():
        section = backlinks.theory(name)
        assert any(section.heading == other.heading for other in backlinks.sections(section.page))
        assert f"<{section.url}>" in backlinks.links(name)
    assert "guides/clustering" in [page.name for page in backlinks.users("mercer.KernelPCAMixture")]
    assert "parameters/preimage" in [page.name for page in backlinks.users("mercer.preimage.FixedPoint")]  # by its name
    assert backlinks.makers("mercer.select.Search") == ["mercer.select.kernel"]
    assert backlinks.slug("What, then? (a test)") == "what-then-a-test"


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


NO_WORDS = "fro,nd,te,atleast,sav,arro,abd"  # names in code, file extensions and signatures
