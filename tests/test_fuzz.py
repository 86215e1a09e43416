"""A short run of the fuzzers with a fixed seed, and all cases that were once mishandled; ``make fuzz`` runs longer."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz import TARGETS
from fuzz.run import tried

KEPT = [line.split() for line in Path(__file__).parent.joinpath("fuzz", "kept.txt").read_text().splitlines()]
CASES = {"files-bytes": 100, "files-json": 100, "files-arrays": 60, "objects": 100, "chunks": 10}
RUN = ["native", "--cases", "30", "--jobs", "2", "--seed", "0", "--forget"]


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_is_mishandled(target):
    problems = {number: tried(target, 0, number) for number in range(CASES.get(target, 200))}
    assert not {number: problem for number, problem in problems.items() if problem}


@pytest.mark.parametrize("case", KEPT, ids=" ".join)
def test_what_was_mishandled_once_is_not_again(case):
    target, seed, number = case
    assert tried(target, int(seed), int(number)) is None


def test_a_run_divides_the_cases_among_processes():
    command = [sys.executable, "-m", "fuzz.run", *RUN]
    result = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"native +30 tried +0 mishandled", result.stdout)
