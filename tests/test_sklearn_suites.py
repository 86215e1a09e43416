"""Scikit-learn's own tests of KernelPCA and Isomap, run from its wheel with our class in the place of its own.

They run in a process of their own: the class is replaced before the tests are collected, and their warnings are theirs.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import sklearn

PLUGIN = """
import atexit, os, pathlib
import sklearn.decomposition, sklearn.decomposition._kernel_pca, sklearn.manifold._isomap
from mercer.dropin import KernelPCA

made = 0
plain = KernelPCA.__init__

def counting(self, *args, **kwargs):
    global made
    made += 1
    plain(self, *args, **kwargs)

counting.__signature__ = __import__("inspect").signature(plain)
KernelPCA.__init__ = counting
for module in (sklearn.decomposition, sklearn.decomposition._kernel_pca, sklearn.manifold._isomap):
    module.KernelPCA = KernelPCA

def pytest_sessionfinish(session):
    print(f"\\nmade {made} of ours")
"""


def run(tests, tmp_path):
    (tmp_path / "substitute.py").write_text(PLUGIN)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "substitute",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
    ]
    command += [
        "--noconftest",
        "-p",
        "sklearn.conftest",
        "-c",
        os.devnull,
        "--rootdir",
        str(tmp_path),
        str(tests),
    ]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    made = re.search(r"made (\d+) of ours", done.stdout)
    passed = re.search(r"(\d+) passed", done.stdout)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return int(made.group(1)), int(passed.group(1))


def suite(package, name):
    return Path(sklearn.__file__).parent / package / "tests" / name


def test_kernel_pca(tmp_path):
    made, passed = run(suite("decomposition", "test_kernel_pca.py"), tmp_path)
    assert made > 100
    assert passed >= 39


def test_isomap(tmp_path):
    made, passed = run(suite("manifold", "test_isomap.py"), tmp_path)
    assert made > 20
    assert passed >= 30
