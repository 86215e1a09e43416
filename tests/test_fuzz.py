"""A short run of the fuzzers with a fixed seed, and all cases that were once mishandled; ``make fuzz`` runs longer."""

from pathlib import Path

import pytest
from fuzz import TARGETS
from fuzz.run import tried

KEPT = [line.split() for line in Path(__file__).parent.joinpath("fuzz", "kept.txt").read_text().splitlines()]
CASES = {"files-bytes": 100, "files-json": 100, "files-arrays": 60, "tables": 60, "estimators": 60, "chunks": 10}


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_is_mishandled(target):
    problems = {number: tried(target, 0, number) for number in range(CASES.get(target, 200))}
    assert not {number: problem for number, problem in problems.items() if problem}


@pytest.mark.parametrize("case", KEPT, ids=" ".join)
def test_what_was_mishandled_once_is_not_again(case):
    target, seed, number = case
    assert tried(target, int(seed), int(number)) is None
