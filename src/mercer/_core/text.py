"""Escape control and bidirectional characters in text from files and tables, so that it is safe to show."""

import unicodedata

# Cc: controls, among them escape sequences of terminals; Cf: invisible, among them those that reorder text; Cs: lone
# surrogates, which no stream accepts; Zl, Zp: separators of lines and paragraphs; Co, Cn: without a meaning.
HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"}


def visible(text: str) -> str:
    r"""Return the text on one line, with control, bidirectional and other invisible characters as escapes.

    Examples
    --------
    >>> visible("a\x1b[31m\u202eb\nc")
    'a\\x1b[31m\\u202eb\\nc'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c.encode("unicode_escape").decode("ascii") if is_hidden(c) else c for c in text)


def is_hidden(character: str) -> bool:
    """Return True for a character that is not shown as itself."""
    return unicodedata.category(character) in HIDDEN


def plural(n: int, noun: str) -> str:
    """Return for example "1 row" or "2,000 rows"."""
    return f"{n:,} {noun}{'s' * (n != 1)}"
