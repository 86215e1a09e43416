"""The documentation says what is: its examples run, its links lead somewhere, and every public name is in it."""

import doctest
import inspect
import re
import runpy
import subprocess
import sys
import types
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs" / "_ext"))
import backlinks  # noqa: E402
import checked  # noqa: E402
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


VERSIONS = r"\b(?:Python|pyspark|before|Before|Until|section) \d+\.\d+|\d+\.\d+\.\d+(?:\.\d+)?"


def prose(text):
    """Text without code, formulas, links, numbers of equations and versions, and values that are filled in."""
    text = re.sub(r"```.*?```|\$[^$]+\$|\{val\}`[^`]+`", "", text, flags=re.DOTALL)
    return re.sub(rf"`[^`]*`|\]\([^)]*\)|PRML [\d., ]+|{VERSIONS}", "", text)


@pytest.mark.parametrize("page", RUNS, ids=name)
def test_figures_of_executed_pages_are_computed(page):
    text = page.read_text(encoding="utf-8")
    assert MEASURED.findall(prose(text)) == []
    assert MEASURED.findall("\n".join(re.findall(r"^:alt: (.+)", text, re.MULTILINE))) == []


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


# pages that a command writes as a whole
WRITTEN = {"docs/benchmarks.md", *(name(page) for page in (ROOT / "docs" / "reproductions").glob("[!i]*.md"))}
PART = re.compile(r"<!-- ([\w-]+) -->.*?<!-- end of \1 -->", re.DOTALL)
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
# what prose states as a setting, a limit or a target, and nobody measured
SETTINGS = {
    # the headings of tables, which the script prints with them
    "docs/denoising.md": ["sd 0.5", "speckle, 40 %", "(noisy: 12.09 dB)", "(noisy: 7.45 dB)", "RBF(gamma=0.0078125)"],
    "docs/errata.md": ["(12.82), (12.87)", "(12.82)"],
    "docs/explorer.md": [
        "5 % to the 95 % quantile",
        "0.5 s at 2,000 rows, 1.5 s at 100,000",
        "(95 % within 50 ms",
        "(2 s for",
    ],
    "docs/files.md": ["8 times the size of the file plus 32 MB"],
    "docs/guides/dask.md": ["the sums are 2 MB", "a limit of 400 MB"],
    "docs/security.md": [
        *("8 times the size of the file plus 32 MB", "at most 5 s of the processor", "each 32 MB of that memory"),
        "10 s for a file of 20 MB",
    ],
}


def sourced(text):
    """Return the numbers of the tables of a section, and its paragraphs that name no command and date of their own."""
    tables = "\n".join(re.findall(r"^\|.*", text, re.MULTILINE))
    text = re.sub(r"```.*?```", "", PART.sub("", text), flags=re.DOTALL)
    paragraphs = re.split(r"\n\s*\n", re.sub(r"^\|.*", "", text, flags=re.MULTILINE))
    dated = [each for each in paragraphs if not (COMMAND.search(each) and re.search(r"20\d\d-\d\d-\d\d", each))]
    return [float(number.replace(",", "")) for number in NUMBER.findall(tables)], dated


def unsourced(page):
    """Return the measured figures in the prose of a page that are in no table of their section, up to rounding."""
    found = []
    for section in re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
        known, paragraphs = sourced(section)
        for paragraph in paragraphs:
            text = " ".join(prose(paragraph).split())
            for setting in SETTINGS.get(name(page), []):
                text = text.replace(setting, "")
            for match in MEASURED.finditer(text):
                start = re.search(r"[\d.,]*$", text[: match.start()]).start()
                number = NUMBER.search(text, start)[0]
                half = 0.5 * 10.0 ** -len(number.partition(".")[2]) + 1e-12
                if not any(abs(value - float(number.replace(",", ""))) <= half for value in known):
                    found.append(text[max(0, start - 30) : match.end() + 10])
    return found


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page not in RUNS and name(page) not in UNMEASURED | WRITTEN], ids=name
)
def test_figures_in_prose_are_those_of_a_table_or_have_their_source_beside_them(page):
    assert unsourced(page) == []


@pytest.mark.parametrize("page", [ROOT / page for page in sorted(WRITTEN)], ids=name)
def test_pages_that_commands_write_name_the_command_and_the_date(page):
    text = page.read_text(encoding="utf-8")
    assert re.search(r"20\d\d-\d\d-\d\d.*`(mercer reproduce|python benchmarks/run.py) ", text)


@pytest.mark.parametrize("text", ["It finds 93.47 % of them.", "It is 73× as fast.", "The error is 0.9347."])
def test_a_figure_that_was_typed_in_is_noticed(text, tmp_path, monkeypatch):
    for page in ("docs/monitoring.md", "docs/index.md", "docs/which-model.md", "docs/install.md"):
        changed = ROOT / page
        content = changed.read_text(encoding="utf-8")
        monkeypatch.setattr(Path, "read_text", lambda self, content=content, **given: f"{content}\n\n{text}\n")
        found = unsourced(changed)
        monkeypatch.undo()
        assert found, page


@pytest.mark.parametrize("page", [page for page in RUNS if "% needs:" in page.read_text(encoding="utf-8")], ids=name)
def test_stored_outputs_belong_to_the_code_of_their_page(page):
    text = page.read_text(encoding="utf-8")
    found = executed.stored(str(page.relative_to(ROOT / "docs").with_suffix("")))
    assert found.code == executed.digest(text)
    for cell in found.cells:
        assert all((executed.STORED / figure).is_file() for figure in cell.figures)


def test_dead_links_and_pictures_without_a_text_are_found(tmp_path):
    picture = '<img src="a.png" alt="A picture"><img src="a.png">'
    links = '<a href="b.html#there">1</a><a href="b.html#gone">2</a><a href="c.html">3</a><a href="https://x.y">4</a>'
    (tmp_path / "a.html").write_text(f"<main>{picture}{links}</main>", encoding="utf-8")
    (tmp_path / "b.html").write_text('<h1 id="there">B</h1><iframe src="_static/tour.html"></iframe>', encoding="utf-8")
    (tmp_path / "a.png").touch()
    assert sorted(checked.problems(tmp_path)) == [
        "a.html: b.html#gone leads nowhere",
        "a.html: c.html leads nowhere",
        "a.html: no text for the picture a.png",
        "b.html: _static/tour.html leads nowhere",
    ]


def test_the_installation_names_what_the_workflows_test():
    """Every system and every version of Python of the workflows is in the table."""
    told = (ROOT / "docs" / "install.md").read_text(encoding="utf-8").partition("## What is tested where")[2]
    for workflow in ("tests", "nightly"):
        text = (ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text(encoding="utf-8")
        for version in re.findall(r'"(3\.\d+)"', text):
            assert f"Python {version}" in told
        for target in re.findall(r"make (test[\w-]*|docs)", text):
            assert f"`make {target}`" in told
        for system in re.findall(r"\b(ubuntu|macos|windows)-", text):
            assert {"ubuntu": "Linux", "macos": "macOS", "windows": "Windows"}[system] in told


FIGURE = re.compile(r"([\d.]+)(×| MB| s\b)")
RUNS_DIFFER = 0.3  # by so much on a busy machine


def test_the_readme_is_short_and_shows_the_explorer():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) < 120
    assert "](docs/images/explorer-" in readme


def test_figures_of_the_readme_are_those_of_the_benchmarks():
    """Every ratio, time and size of the section on speed is in the line of its case."""
    measured = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Speed")[2].partition("##")[0]
    cases = re.findall(r"^\| `([\w-]+)`.* \| (.*) \|$", readme, re.MULTILINE)
    assert cases
    for case, figures in cases:
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


def test_every_build_executes_the_pages_that_run():
    """Their outputs depend on the code of mercer, which Sphinx does not look at."""
    names = {"index": "index.md", "first-half-hour": "first-half-hour.md"}
    env = types.SimpleNamespace(found_docs=names, doc2path=lambda name: ROOT / "docs" / names[name])
    assert executed.outdated(None, env, set(), set(), set()) == ["first-half-hour"]


def test_examples_of_docstrings_are_shown_as_they_are():
    conf = runpy.run_path(str(ROOT / "docs" / "conf.py"))
    lines = ["n_components_ of |x|", ">>> model.n_components_", "array_", "", "n_iter_"]
    conf["plain"](None, "class", "name", None, None, lines)
    assert lines == [r"n_components\_ of \|x\|", ">>> model.n_components_", "array_", "", r"n_iter\_"]
    page = ["# A page\n\n```pycon\n>>> 1\n1\n\n```\n\n```console\n$ ls\n\n```\n"]
    conf["endings"](None, "page", page)
    assert page == ["# A page\n\n```pycon\n>>> 1\n1\n```\n\n```console\n$ ls\n\n```\n"]


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
