"""Memory, measured from outside: each case runs in a process of its own and reports its peak."""

import subprocess
import sys
import textwrap

import pytest

resource = pytest.importorskip("resource")  # not on Windows

PRELUDE = """
import resource, sys
import numpy as np
import sklearn
from mercer import KernelPCA
from mercer.kernels import RBF

def peak():
    try:  # of this program alone; the other figure begins with that of the process which started it
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    except OSError:
        pass
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / 1024 if sys.platform != "darwin" else kilobytes / 2**20

rng = np.random.default_rng(0)
"""


def megabytes(code):
    """Run the code in a fresh process and return what it prints."""
    script = PRELUDE + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


@pytest.mark.parametrize("solver", ["auto", "randomized"])
def test_a_fit_of_20_000_rows_stores_no_matrix(solver):
    stored = 8 * 20_000**2 / 2**20
    used = megabytes(f"""
        X = rng.normal(size=(20_000, 10)) * 0.8 ** np.arange(10)
        model = KernelPCA(10, kernel=RBF("median"), solver={solver!r}, random_state=0).fit(X)
        assert model.n_components_ == 10
        print(peak())
    """)
    assert used < 500 < stored / 5


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_a_projection_takes_no_more_than_the_budget(kernel):
    beyond = megabytes(f"""
        model = KernelPCA(3, kernel={kernel!r}).fit(rng.normal(size=(300, 10)))
        X = rng.normal(size=(200_000, 10))
        with sklearn.config_context(working_memory=16):
            model.transform(X[:1000])
            before = peak()
            Y = model.transform(X)
        assert Y.shape == (200_000, 3)
        print(peak() - before - Y.nbytes / 2**20)
    """)
    whole = 8 * 200_000 * 300 / 2**20
    assert beyond < 64 < whole / 5


def test_residuals_take_no_more_than_the_budget():
    beyond = megabytes("""
        model = KernelPCA(3).fit(rng.normal(size=(300, 10)))
        X = rng.normal(size=(200_000, 10))
        with sklearn.config_context(working_memory=16):
            model.reconstruction_error(X[:1000])
            before = peak()
            model.reconstruction_error(X)
        print(peak() - before)
    """)
    assert beyond < 64
