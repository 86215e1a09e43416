"""The template of a plug-in, installed as a user installs it: its kernel is found by name wherever names are taken."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("setuptools", reason="setuptools builds the plug-in")
TEMPLATE = Path(__file__).parents[1] / "examples" / "plugin"

PYTHON = """
import sys
import numpy as np, mercer
X = np.loadtxt("data.csv", delimiter=",", skiprows=1)
assert "mercer_cauchy" not in sys.modules
model = mercer.KernelPCA(2, kernel="cauchy").fit(X)
assert type(model.kernel_).__module__ == "mercer_cauchy"
mercer.save(model, "python.mercer")
"""
FILE = """
import numpy as np, mercer
X = np.loadtxt("data.csv", delimiter=",", skiprows=1)
model = mercer.load("python.mercer")
assert model.kernel == "cauchy"
np.testing.assert_array_equal(model.transform(X), mercer.KernelPCA(2, kernel="cauchy").fit(X).transform(X))
assert mercer.io.read("cli.mercer").model.kernel_.gamma == 0.5
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A folder with the plug-in installed in it, and the variables by which Python finds it there."""
    folder = tmp_path_factory.mktemp("plugin")
    source = shutil.copytree(TEMPLATE, folder / "source")
    options = ["-q", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--no-index"]
    run([sys.executable, "-m", "pip", "install", *options, "--target", folder / "site", source], folder, os.environ)
    rows = np.random.default_rng(0).normal(size=(40, 3))
    np.savetxt(folder / "data.csv", rows, delimiter=",", header="a,b,c", comments="")
    return folder, {**os.environ, "PYTHONPATH": str(folder / "site")}


def run(command, folder, variables):
    done = subprocess.run([str(part) for part in command], cwd=folder, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_its_kernel_is_used_by_name(environment):
    """From Python, from the command line, and from model files in a process that has not imported the plug-in."""
    folder, variables = environment
    run([sys.executable, "-W", "error", "-c", PYTHON], folder, variables)
    command = "from mercer.app.cli import main; main()"
    options = ["--kernel", "cauchy", "--gamma", "0.5", "-q", "2", "-o", "cli.mercer"]
    run([sys.executable, "-c", command, "fit", "data.csv", *options], folder, variables)
    run([sys.executable, "-c", command, "transform", "cli.mercer", "data.csv", "-o", "out.csv"], folder, variables)
    run([sys.executable, "-W", "error", "-c", FILE], folder, variables)


def test_its_own_tests_pass(environment):
    folder, variables = environment
    run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "source/tests"], folder, variables)


def test_it_is_as_short_as_the_guide_says():
    lines = [len(path.read_text(encoding="utf-8").splitlines()) for path in TEMPLATE.rglob("src/*/*.py")]
    assert sum(lines) <= 40
