"""Pages of HTML that need nothing beside themselves: the report, and the demo's story."""

from .page import Figure, Section, Table, page
from .report import report

__all__ = ["Figure", "Section", "Table", "page", "report"]
