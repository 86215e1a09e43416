"""What a type checker of a user knows of the package, whose names are imported lazily at run time."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mercer

ROOT = Path(__file__).parents[1]
STUB = Path(mercer.__file__).with_suffix(".pyi")
# An error that is expected is ignored by its code, and an ignored error that does not occur is an error.
PROGRAM = """# mypy: warn-unused-ignores
from typing import assert_type

import numpy as np

import mercer
from mercer.kernels import RBF, Kernel, Linear

X, y = mercer.datasets.moons(n=100)
kernel = RBF(gamma=2.0) + Linear()
assert_type(kernel, Kernel)
model = mercer.KernelPCA(n_components=2, kernel=kernel).fit(X)
assert_type(model, mercer.KernelPCA)
assert_type(mercer.compress(model, 10), mercer.KernelPCA)
assert_type(model.n_components_, int)
assert_type(model.score(X), float)
assert_type(mercer.KernelPCAClassifier().fit(X, y), mercer.KernelPCAClassifier)
assert_type(mercer.KernelPCAClassifier().fit(X, y).predict_proba(X), np.ndarray)
assert_type(mercer.KernelPCAMixture().fit(X), mercer.KernelPCAMixture)
assert_type(mercer.KernelPCAMonitor().fit(X), mercer.KernelPCAMonitor)
mercer.KernelPca  # type: ignore[attr-defined]
mercer.KernelPCA(n_components="two")  # type: ignore[arg-type]
model.transform()  # type: ignore[call-arg]
"""


def test_the_stub_names_what_the_package_has():
    imports = [node for node in ast.parse(STUB.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
    homes = {alias.asname: node.module for node in imports for alias in node.names}
    assert homes == {**dict.fromkeys(mercer._MODULES), **mercer._HOMES}


def test_a_program_of_a_user_is_checked(tmp_path):
    pytest.importorskip("mypy", reason="mypy checks the program")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    # the settings and the cache of `make lint`: without them mypy would read all of NumPy again
    command = [sys.executable, "-m", "mypy", str(path)]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
