"""ONNX: fitted estimators as graphs that run without Python."""

from . import monitor  # noqa: F401  # enters its methods
from .converters import register_converters
from .export import to_onnx

__all__ = ["register_converters", "to_onnx"]
