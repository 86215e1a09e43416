"""The page of equations is complete: every number is there, every call can be imported, every test exists."""

import ast
import re
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

import pytest

from mercer.app.reproduce import MODULES

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "equations.md"
REPRODUCE = "mercer reproduce "


def numbers(first, last, before=""):
    return {f"{before}{i}" for i in range(first, last + 1)}


# The numbers that the documents print, by the first word of the heading of their table.
NUMBERED = {
    # Section 12.3 begins with (12.71) and ends with (12.88).
    "Bishop": numbers(71, 88, "12.") | numbers(16, 17, "figure 12."),
    # The last equation is the reconstruction error, (18).
    "Tipping": numbers(1, 18) | numbers(1, 4, "figure "),
    # The last equation is the rule of the least limiting distance, (23).
    "Zhou": numbers(1, 23) | numbers(1, 2, "figure ") | numbers(1, 1, "table "),
    # (1) to (24) are in the text, (25) to (57) in the appendix.
    "De": numbers(1, 57) | numbers(1, 4, "figure ") | numbers(1, 4, "table "),
    # Only the five steps are numbered; the 26 formulas are counted as they appear.
    "Obermayer": numbers(1, 26) | numbers(1, 5, "step "),
}


def expanded(label):
    """The numbers of a cell such as ``12.77–12.79 †``; a label in words stands for itself."""
    label = label.removesuffix(" †")
    found = re.fullmatch(r"(12\.)?(\d+)–(12\.)?(\d+)", label)
    if found is None:
        return [label]
    return sorted(numbers(int(found[2]), int(found[4]), found[1] or ""))


def tables():
    """The lines of each document: first word of its heading ↦ cells."""
    found = {}
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        lines = [line for line in section.splitlines() if line.startswith("|")][2:]
        found[section.split()[0].rstrip(",")] = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return found


LINES = [pytest.param(*line, id=f"{name} {line[0]}") for name, lines in tables().items() for line in lines]


@cache
def functions_of(path):
    """The names of the tests in a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def names(cell):
    """What a cell has in backquotes; nothing else may stand in it."""
    assert re.fullmatch(r"`[^`]+`(, `[^`]+`)*", cell), cell
    return re.findall(r"`([^`]+)`", cell)


def test_there_is_a_table_for_each_document():
    assert list(tables()) == list(NUMBERED)


@pytest.mark.parametrize("name", NUMBERED)
def test_every_number_is_listed_once(name):
    listed = [number for line in tables()[name] for number in expanded(line[0])]
    assert len(listed) == len(set(listed))
    assert NUMBERED[name] <= set(listed)
    others = set(listed) - NUMBERED[name]  # statements without a number
    assert not [label for label in others if re.fullmatch(r"(figure |table |step )?[\d.]+", label)]


@pytest.mark.parametrize("number, what, call, test", LINES)
def test_calls_can_be_imported_and_tests_exist(number, what, call, test):
    assert what
    reason = call.removeprefix("not computed: ")
    assert reason
    if reason == call:
        for name in names(call):
            if name.startswith(REPRODUCE):
                assert name.removeprefix(REPRODUCE) in MODULES
            else:
                resolve_name(name)
    if test == "–":
        assert reason != call, "a call needs a test"
        return
    for name in names(test):
        path, _, function = name.partition("::")
        assert function in functions_of(path), name


def test_every_reproduction_is_on_the_page():
    calls = {name for lines in tables().values() for line in lines for name in re.findall(r"`([^`]+)`", line[2])}
    assert {call.removeprefix(REPRODUCE) for call in calls if call.startswith(REPRODUCE)} == set(MODULES)
