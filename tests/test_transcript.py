"""The commands that the documentation shows print what it shows."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from test_cli import done

PAGES = [Path("docs/cli.md")]


def transcripts(text):
    """Yield the commands of a page and what each prints; a command ends where its quotes are closed."""
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines, length = piece.splitlines(keepends=True), 1
            while "".join(lines[:length]).count('"') % 2 or lines[length - 1].endswith("\\\n"):
                length += 1
            yield "".join(lines[:length]), "".join(lines[length:])


def printed(command):
    """What a command prints: those of mercer run in this process, which has imported what they need."""
    if command.startswith("mercer "):
        result = done(*shlex.split(command)[1:])
        return result.stderr + result.stdout
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    run = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True, check=True)
    return run.stderr + run.stdout


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_commands_print_what_the_page_shows(page, tmp_path, monkeypatch):
    shown = list(transcripts(page.read_text(encoding="utf-8")))
    assert len(shown) > 5
    monkeypatch.chdir(tmp_path)
    for command, expected in shown:
        assert printed(command) == expected, command
