"""Strict reading and writing of tables: CSV, TSV, Parquet, ``.npy``, ``.npz`` and pipes."""

from .check import Check, Finding, check
from .formats import FORMATS, format_of, read, write
from .recipe import Recipe, learn
from .table import Table, TableError, choose

__all__ = [
    "FORMATS",
    "Check",
    "Finding",
    "Recipe",
    "Table",
    "TableError",
    "check",
    "choose",
    "format_of",
    "learn",
    "read",
    "write",
]
