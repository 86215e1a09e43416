"""Which input variables drive each component."""

from .select.importance import Importance, importance

__all__ = ["Importance", "importance"]
