"""What examples in docstrings need: pictures without a window, and none of them left open."""

import os
import sys

import pytest

os.environ.setdefault("MPLBACKEND", "agg")


@pytest.fixture(autouse=True)
def _close_figures(request):
    yield
    if request.node.name.startswith("mercer.plots") and "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
