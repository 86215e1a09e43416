"""Answers as bytes: plain values as JSON, numbers as 32-bit floats."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np


def packed(header: dict[str, Any], arrays: list[Any]) -> bytes:
    """Return an answer as bytes: the length of the header, the header as JSON, then the arrays one after the other."""
    arrays = [x if x.dtype in (np.uint8, np.uint32) else x.astype("<f4") for x in map(np.asarray, arrays)]
    kinds = [[x.dtype.str[1:], x.size] for x in arrays]
    bodies = [x.tobytes() + b"\0" * (-x.nbytes % 4) for x in arrays]
    text = json.dumps(_finite(header | {"arrays": kinds}), allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    return struct.pack("<I", len(text)) + text + b"".join(bodies)


def _finite(value: Any) -> Any:
    """Return plain values with None for what JSON has no number for."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
