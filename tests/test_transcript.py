"""The commands that the documentation shows print what it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = [Path("docs/cli.md")]


def transcripts(text):
    """Yield the commands of a page and what each prints; a command ends where its quotes are closed."""
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines, length = piece.splitlines(keepends=True), 1
            while "".join(lines[:length]).count('"') % 2 or lines[length - 1].endswith("\\\n"):
                length += 1
            yield "".join(lines[:length]), "".join(lines[length:])


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_commands_print_what_the_page_shows(page, tmp_path):
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "120"}
    shown = list(transcripts(page.read_text(encoding="utf-8")))
    assert len(shown) > 5
    for command, expected in shown:
        run = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=env, capture_output=True, text=True)
        assert run.returncode == 0, command + run.stderr
        assert run.stderr + run.stdout == expected, command
