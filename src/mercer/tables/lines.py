"""The lines of a text, read with suspicion: UTF-8, no NUL bytes, and one kind of line end."""

import io
from itertools import islice

from .table import TableError

ENDS = {"\n": "\\n", "\r\n": "\\r\\n", "\r": "\\r"}


class Lines:
    """The lines of a binary stream, by blocks; ``count`` of them were given. Empty lines at the end do not count."""

    def __init__(self, stream, source):
        self.source, self.count = source, 0
        self._seen, self._end, self._quoted, self._held = 0, "", False, []
        if stream.peek(2)[:2] in {b"\xff\xfe", b"\xfe\xff"}:
            raise TableError(f"{source}: it is UTF-16 text. Save it as UTF-8.")
        self._text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")

    def close(self):
        """Let go of the stream, which stays open."""
        self._text.detach()

    def __iter__(self):
        return self

    def __next__(self):
        block = self.take(1)
        if not block:
            raise StopIteration
        self._held, self.count = block[1:] + self._held, self.count - len(block) + 1
        return block[0]

    def take(self, most):
        """The next lines: about ``most`` of them, or none at the end."""
        block = self._held + self._read(most)
        while (full := _without_last_empty(block)) == 0:
            more = self._read(most)
            if not more:
                return []
            block += more
        block, self._held = block[:full], block[full:]
        self.count += full
        return block

    def _read(self, most):
        try:
            block = list(islice(self._text, most))
        except UnicodeDecodeError as error:
            raise TableError(
                f"{self.source}: after line {self._seen}: byte 0x{error.object[error.start]:02x} is not UTF-8. "
                "Save the table as UTF-8, or convert it: iconv -f latin1 -t utf8."
            ) from None
        if block and not self._end:
            self._end = _end(block[0])
        if self._suspicious("".join(block)):
            self._look(block)
        self._seen += len(block)
        return block

    def _suspicious(self, text):
        """Whether the lines have to be looked at one by one."""
        ends = text.count("\r") + text.count("\n")
        alike = ends == text.count(self._end) * len(self._end) if self._end else ends == 0
        return "\0" in text or '"' in text or self._quoted or not alike

    def _look(self, block):
        """Find the first line that is not as the others; line ends inside of quotes do not count."""
        for i, line in enumerate(block, self._seen + 1):
            if "\0" in line:
                raise TableError(f"{self.source}: line {i} has a NUL byte. Is it a text at all, and UTF-8?")
            self._quoted ^= line.count('"') % 2 == 1
            end = _end(line)
            if end and end != self._end and not self._quoted:
                raise TableError(
                    f"{self.source}: line {i} ends with {ENDS[end]} and line 1 with {ENDS[self._end]}: two files in "
                    "one? Make the line ends alike (dos2unix)."
                )


def _end(line):
    return "\r\n" if line.endswith("\r\n") else line[-1:] if line.endswith(("\r", "\n")) else ""


def _without_last_empty(block):
    """How many lines are left when the empty ones at the end are not counted."""
    full = len(block)
    while full and not block[full - 1].strip():
        full -= 1
    return full
