"""The lines of a text file, with checks: UTF-8, no NUL bytes, and one kind of line ending."""

import io
from collections.abc import Iterator
from itertools import islice
from typing import Any

from .table import TableError

ENDS = {"\n": "\\n", "\r\n": "\\r\\n", "\r": "\\r"}


class Lines:
    """The lines of a binary stream, read in blocks; empty lines at the end are skipped.

    ``count`` is the number of lines returned so far.
    """

    def __init__(self, stream: Any, source: str):
        self.source, self.count = source, 0
        self._seen, self._end, self._quoted = 0, "", False
        self._held: list[str] = []
        if stream.peek(2)[:2] in {b"\xff\xfe", b"\xfe\xff"}:
            raise TableError(f"{source}: the text is UTF-16. Save it as UTF-8.")
        self._text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")

    def close(self) -> None:
        """Detach from the stream, which stays open."""
        self._text.detach()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        block = self.take(1)
        if not block:
            raise StopIteration
        self._held, self.count = block[1:] + self._held, self.count - len(block) + 1
        return block[0]

    def take(self, most: int) -> list[str]:
        """Return about ``most`` lines, or none at the end."""
        block = self._held + self._read(most)
        while (full := _count_to_last_text(block)) == 0:
            more = self._read(most)
            if not more:
                return []
            block += more
        block, self._held = block[:full], block[full:]
        self.count += full
        return block

    def _read(self, most: int) -> list[str]:
        try:
            block = list(islice(self._text, most))
        except UnicodeDecodeError as error:
            raise TableError(
                f"{self.source}: after line {self._seen}: byte 0x{error.object[error.start]:02x} is not UTF-8. "
                "Save the table as UTF-8, or convert it: iconv -f latin1 -t utf8."
            ) from None
        if block and not self._end:
            self._end = _end(block[0])
        if self._needs_check("".join(block)):
            self._check(block)
        self._seen += len(block)
        return block

    def _needs_check(self, text: str) -> bool:
        """Return True if the lines must be checked one by one."""
        ends = text.count("\r") + text.count("\n")
        equal = ends == text.count(self._end) * len(self._end) if self._end else ends == 0
        return "\0" in text or '"' in text or self._quoted or not equal

    def _check(self, block: list[str]) -> None:
        """Raise an error at a NUL byte or a different line ending outside of quotes."""
        for i, line in enumerate(block, self._seen + 1):
            if "\0" in line:
                raise TableError(f"{self.source}: line {i} has a NUL byte. Is the file UTF-8 text?")
            self._quoted ^= line.count('"') % 2 == 1
            end = _end(line)
            if end and end != self._end and not self._quoted:
                raise TableError(
                    f"{self.source}: line {i} ends with {ENDS[end]} and line 1 with {ENDS[self._end]}. "
                    "Use the same line ending everywhere (dos2unix)."
                )


def _end(line: str) -> str:
    return "\r\n" if line.endswith("\r\n") else line[-1:] if line.endswith(("\r", "\n")) else ""


def _count_to_last_text(block: list[str]) -> int:
    """Return the number of lines without the empty ones at the end."""
    full = len(block)
    while full and not block[full - 1].strip():
        full -= 1
    return full
