"""ONNX: fitted models as graphs that run without Python.

Importing this module registers mercer's estimators with skl2onnx, if it is installed, which then converts pipelines
that contain them.
"""

from importlib.util import find_spec

from .io.onnx import register_converters, to_onnx

if find_spec("skl2onnx"):
    register_converters()

__all__ = ["register_converters", "to_onnx"]
