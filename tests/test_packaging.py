"""Packaging and continuous integration: make targets exist, versions agree, contents of wheels are checked."""

import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML reads the workflows")

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):(?!=)", MAKEFILE, re.MULTILINE))


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def jobs(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_steps_of_workflows_are_make_targets(path):
    """What runs there runs here: a step is an action, or one make target that exists."""
    for job in jobs(path):
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            if "run" in step:
                command = step["run"].split()
                assert command[0] == "make"
                assert command[1] in TARGETS


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_may_do_no_more_than_they_need(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"]
    actions = {step["uses"] for job in jobs(path) for step in job["steps"] if "uses" in step}
    assert all(re.fullmatch(r"[\w./-]+@(release/)?v\d+", action) for action in actions)


def test_every_phony_target_is_a_rule_and_help_names_them():
    phony = re.search(r"^\.PHONY: (.*?[^\\])$", MAKEFILE, re.MULTILINE | re.DOTALL)[1].replace("\\", "").split()
    assert set(phony) <= TARGETS
    shown = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ("test", "test-arrays", "test-oldest", "wheel", "docs", "release-check"):
        assert f"make {target} " in shown


def test_the_oldest_and_the_newest_pythons_are_tested():
    (matrix,) = [
        job["strategy"]["matrix"] for job in jobs(ROOT / ".github" / "workflows" / "tests.yml") if "strategy" in job
    ]
    oldest = PYPROJECT["project"]["requires-python"].removeprefix(">=")
    assert oldest in matrix["python"]
    assert len(matrix["python"]) >= 2


def test_continuous_integration_runs_all_tests():
    script = read(".ci/run")
    assert "make test\n" in script
    assert "make test-arrays\n" in script


def test_all_is_every_extra_of_a_user():
    extras = PYPROJECT["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    named = set(re.search(r"\[(.*)\]", everything)[1].split(","))
    assert named == set(extras) - {"all", "test", "lint", "docs", "release"}


def test_torch_is_not_in_an_extra():
    """`make test` installs none of the large array libraries."""
    wanted = " ".join(bound for bounds in PYPROJECT["project"]["optional-dependencies"].values() for bound in bounds)
    assert "torch" not in wanted
    test = re.search(r"^LIBRARIES_test = (.*)$", MAKEFILE, re.MULTILINE)[1]
    assert "torch" not in test


def test_versions_and_requirements_agree():
    version = PYPROJECT["project"]["version"]
    assert f"version: {version}\n" in read("CITATION.cff")
    recipe = read("conda/meta.yaml")
    assert f'version = "{version}"' in recipe
    for bound in PYPROJECT["project"]["dependencies"]:
        assert f"- {bound.replace('>=', ' >=')}\n" in recipe


def test_addresses_agree():
    """One address of the source, wherever it is written."""
    source = PYPROJECT["project"]["urls"]["Source"]
    pages = ["SECURITY.md", "CITATION.cff", "conda/meta.yaml", ".github/ISSUE_TEMPLATE/config.yml"]
    for page in pages:
        found = set(re.findall(r"https://github\.com/[\w-]+/[\w-]+", read(page)))
        assert found == {source}, page


def test_installation_is_described_alike():
    """Pages name the package; README, home and the page on installation say how to install from a clone."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        if "_build" in page.parts:
            continue
        named = re.findall(r"pip install '?(mercer|\.)[\['`\n ;)]", page.read_text(encoding="utf-8"))
        assert page.name in {"README.md", "index.md", "install.md"} or "." not in named, page
    assert "pip install mercer" in read("README.md")
    assert "Until the first release" in read("docs/install.md")


SETTINGS = [*sorted((ROOT / ".github").rglob("*.yml")), ROOT / ".readthedocs.yaml", ROOT / "CITATION.cff"]


@pytest.mark.parametrize("path", SETTINGS, ids=lambda path: path.name)
def test_settings_are_yaml(path):
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


def test_read_the_docs_installs_extras_that_exist():
    settings = yaml.safe_load(read(".readthedocs.yaml"))
    (install,) = settings["python"]["install"]
    assert set(install["extra_requirements"]) <= set(PYPROJECT["project"]["optional-dependencies"])
    assert (ROOT / settings["sphinx"]["configuration"]).exists()


def test_a_release_is_refused_where_versions_differ(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import release_check

    release_check.check_version()
    monkeypatch.setattr(release_check, "version", lambda: "9.9.9")
    for check in (release_check.check_version, release_check.check_changelog, release_check.check_files):
        with pytest.raises(AssertionError, match=r"9\.9\.9"):
            check()


@pytest.mark.parametrize("macros", [["MERCER_SCALAR"], [], ["Py_GIL_DISABLED"]], ids=lambda macros: "".join(macros))
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_extension_is_standard_c(compiler, macros):
    """No extension of a compiler outside the vectors, which are behind macros: other compilers see the scalar code."""
    include = Path(sysconfig.get_paths()["include"])
    if not shutil.which(compiler) or not (include / "Python.h").exists():
        pytest.skip(f"there is no {compiler}, or Python has no headers here")
    if "Py_GIL_DISABLED" in macros and sys.version_info < (3, 13):
        pytest.skip("Python 3.13 is the first with a free-threaded build")
    api = [] if "Py_GIL_DISABLED" in macros else ["Py_LIMITED_API=0x030B0000"]
    warnings = ["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Wvla", "-Wno-unused-parameter", "-Werror"]
    options = [*warnings, "-isystem", include, "-fsyntax-only", *(f"-D{macro}" for macro in [*api, *macros])]
    command = [str(part) for part in [compiler, *options, ROOT / "src" / "mercer" / "_core" / "_native.c"]]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_template_compiles_to_neon(tmp_path):
    """The code of 64-bit ARM, by a cross compiler: products are fused multiply–adds of vectors."""
    compiler = next(filter(shutil.which, ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-gcc-12")), None)
    if compiler is None:
        pytest.skip("there is no compiler for 64-bit ARM (Debian: gcc-aarch64-linux-gnu)")
    include, source = sysconfig.get_path("include"), ROOT / "src" / "mercer" / "_core" / "_native.c"
    options = ["-O2", "-fno-trapping-math", "-fno-math-errno", "-DPy_LIMITED_API=0x030B0000", "-isystem", include]
    command = [compiler, "-S", *options, "-Wall", "-Wextra", "-Werror", str(source), "-o", str(tmp_path / "native.s")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    code = (tmp_path / "native.s").read_text()
    assert code.count("fmla\tv") > 100


def test_figures_of_benchmarks_are_kept_and_written_into_their_page(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import results

    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    monkeypatch.setattr(results, "DOCS", tmp_path)
    monkeypatch.setattr("sys.argv", ["benchmarks/some.py", "--quick"])
    (tmp_path / "page.md").write_text("before\n\n<!-- some -->\nold\n<!-- end of some -->\nafter\n")
    first = results.Results("some")
    assert [first.once(lambda: [1.5, 2], "model", 0), first.once(pytest.fail, "model", 0)] == [[1.5, 2], [1.5, 2]]
    assert results.Results("some").once(pytest.fail, "model", 0) == [1.5, 2]  # another run goes on
    assert results.Results("some", again=True).figures == {}
    monkeypatch.setattr("sys.argv", ["benchmarks/some.py"])
    assert results.Results("some").figures == {}  # other settings do not
    for _ in range(2):
        first.publish("page.md", ["| a |"])
    text = (tmp_path / "page.md").read_text()
    assert text.startswith("before\n\n<!-- some -->\n\n`python benchmarks/some.py --quick`, 20")
    assert text.endswith(":\n\n| a |\n\n<!-- end of some -->\nafter\n")


def test_the_page_of_benchmarks_is_made_again_from_the_results_that_are_kept(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import kept
    from cases import BARS, CASES
    from limits import Limits
    from measure import Figures, Result
    from report import facts, page

    cases = {case.name: case for case in CASES}
    results = [
        Result(cases["exact-20000"], Figures("mercer", 1.0, 2.0, peak=6e7), Figures("arpack", 9.5, 15.0, peak=3e9)),
        Result(cases["exact-10000"], failed=MemoryError("too large")),
        Result(cases["growth-exact"], series={5000: 0.2, 10000: 0.5}),
    ]
    limits = Limits(gemm=60.0, exp=1.5, bandwidth=14.0, cores=2)
    run = results, facts("python benchmarks/run.py", 0.1, limits), limits
    kept.write(*run, tmp_path / "run.json")
    pages = [
        page(found, measured, False, machine) for found, measured, machine in (run, kept.read(tmp_path / "run.json"))
    ]
    assert pages[0] == pages[1]
    assert f"* **exact-20000**, ≥ {BARS[20_000]:g}×: got 9.5×" in pages[0]
    assert "**failed**: exact-10000: MemoryError: too large" in pages[0]


def test_benchmarks_are_kept_over_time(tmp_path, monkeypatch):
    """Rows are appended to one file, and the picture has a panel for each measure."""
    pytest.importorskip("matplotlib", reason="matplotlib draws the picture")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import history

    path, picture = tmp_path / "history.csv", tmp_path / "history.svg"
    for day in (1, 2):
        same = dict.fromkeys(history.FIELDS, "x") | {"date": f"2026-01-0{day}T00:00Z", "unit": "MB", "value": day}
        history.append(path, [same | {"measure": name} for name in ("one", "two", "three")])
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1 + 2 * 3
    history.plot(path, picture)
    assert "</svg>" in picture.read_text(encoding="utf-8")
    assert history.size([Path(__file__)]) == Path(__file__).stat().st_size / history.MB


def test_contents_of_wheels_are_checked(tmp_path, monkeypatch):
    import zipfile

    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import wheel as tool

    path = tmp_path / "mercer-0-cp311-abi3-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mercer/__init__.py", "")
        archive.writestr("mercer/_core/_native.c", "")
    with pytest.raises(AssertionError, match=r"should not contain \['mercer/_core/_native.c'\]"):
        tool.check_wheel(path)
    assert f"{sys.version_info[0]}.{sys.version_info[1]}" in tool.pythons()
