"""Results as tables of HTML, for notebooks."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(head: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> str:
    """Return a table, with a note below it; all text is escaped."""
    top = "".join(f"<th>{escape(str(cell))}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>" + (
        f"<p>{escape(note)}</p>" if note else ""
    )
