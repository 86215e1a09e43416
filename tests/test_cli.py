"""What the command line promises: instant help, one line per error, exit codes 0, 2 and 130."""

import subprocess
import sys
import tomllib
from inspect import signature
from pathlib import Path

import pytest
from click.testing import CliRunner

import mercer
from mercer.cli import main

HELP = """
import sys
from mercer.cli import main
main(["--help"], standalone_mode=False)
print([name for name in ("numpy", "scipy", "sklearn", "matplotlib") if name in sys.modules])
"""


# click 8.1 mixes stderr into stdout unless told not to; later versions have no such option
APART = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}


def run(*args):
    return CliRunner(**APART).invoke(main, [str(arg) for arg in args])


def test_help_loads_no_heavy_library():
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    assert "mercer demo" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("args", [[], ["--help"], ["-h"], ["demo", "--help"]])
def test_help_teaches_with_success(args):
    result = run(*args)
    assert result.exit_code == 0
    assert "Usage:" in result.output


def test_every_command_explains_itself_and_its_options():
    for command in main.commands.values():
        assert command.help
        assert all(option.help for option in command.params)


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert run("--version").output == f"mercer {project['version']}\n"
    assert mercer.__version__ == project["version"]


def foreign(folder):
    (folder / "thesis.txt").write_text("mine")
    return folder


def page_of_another(folder):
    (folder / "index.html").write_text("<p>mine")
    return folder


def plain_file(folder):
    path = folder / "report"
    path.write_text("mine")
    return path


def under_a_file(folder):
    return plain_file(folder) / "deeper"


@pytest.mark.parametrize("place", [foreign, page_of_another, plain_file, under_a_file])
def test_a_place_that_is_not_the_demos_is_refused_in_one_line_and_left_alone(place, tmp_path):
    output = place(tmp_path)
    before = {path: path.read_text() for path in tmp_path.iterdir()}
    result = run("demo", "-o", output)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert {path: path.read_text() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("args", [["dmeo"], ["--colour"], ["demo", "--colour"], ["demo", "-o"], ["demo", "x"]])
def test_a_slip_of_the_keyboard_is_answered_in_one_line(args):
    result = run(*args)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


WITHOUT_MATPLOTLIB = """
import sys
sys.modules["matplotlib"] = None
from mercer.cli import main
main(["demo", "-o", sys.argv[1]])
"""


def test_without_matplotlib_the_demo_names_what_to_install(tmp_path):
    command = [sys.executable, "-c", WITHOUT_MATPLOTLIB, str(tmp_path / "new")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.endswith("pip install 'mercer[plots]'\n")
    assert not (tmp_path / "new").exists()


def test_an_interruption_exits_as_the_shell_expects(monkeypatch, tmp_path):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.demo.make", interrupted)
    assert run("demo", "-o", tmp_path / "new").exit_code == 130
