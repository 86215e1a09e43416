"""What examples in docstrings need: pictures without a window, and none of them left open."""

import os
import sys
from importlib.util import find_spec

import pytest

# modules that need a library that is an extra
collect_ignore = [] if find_spec("onnx") else ["src/mercer/io/onnx/export.py"]
collect_ignore += [] if find_spec("uvicorn") else [f"src/mercer/app/explore/{name}.py" for name in ("guard", "server")]

os.environ.setdefault("MPLBACKEND", "agg")


@pytest.fixture(autouse=True)
def _close_figures(request):
    yield
    if request.node.name.startswith("mercer.plots") and "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
