"""The kind of a column: numbers, booleans, an id, a date, categories or free text."""

import re
from typing import NamedTuple

import numpy as np

from .table import Table, categories_of, is_missing

FEW = 20  # categories that are one-hot encoded by default
DISTINCT = 0.5  # share of different cells above which texts are not categories
SURPRISE = 0.01  # whole numbers are ids if random ones would be all different with less probability than this
LOOKED_AT = 1000  # number of different texts that decide the kind
MOSTLY = 0.9  # share of them that must have the form of a date or a number

_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_TIME = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[ap]m)?"
_DAY = r"(\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})"
_DAY += rf"|\d{{1,2}}[ -]{_MONTH}[ -]\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}})"
DATE = re.compile(rf"({_DAY}([t ] ?{_TIME})?( ?(z|utc|[-+]\d{{2}}:?\d{{2}}))?|{_TIME})", re.IGNORECASE)
NUMBER = re.compile(r"[-+$€£]?\s?\d[\d.,'\s]*\s?(%|[$€£]|[a-z]{1,3})?", re.IGNORECASE)  # with a unit of a few letters
ID_NAME = re.compile(r"(?i:(.*[\s_.-])?(id|uuid|guid|index|idx|key|unnamed: ?\d+|rownames?))|.*[a-z](ID|Id)")
TIME_NAME = re.compile(r".*(date|time|timestamp|datetime).*", re.IGNORECASE)
EPOCH = (1e9, 4.2e9)  # seconds since 1970, from 2001 to 2103


class Kind(NamedTuple):
    """The kind of a column (``name``), and why (``found``)."""

    name: str
    found: str


def kind_of(table: Table, name: str) -> Kind:
    """Return the kind of a column: number, boolean, id, date, category, many, text, numeric text, mixed, too large or
    empty."""
    values = table.columns[name]
    missing = is_missing(values)
    if missing.all():
        return Kind("empty", "no cell has a value")
    if name in table.mixed:
        return Kind("mixed", "numbers and texts")
    if (problem := table.overflow(name)) is not None:
        return Kind("too large", problem.removeprefix(f"{table.source}: ").removesuffix("."))
    if values.dtype != object:
        return _of_numbers(values[~missing], name)
    return _of_texts(table, name, values[~missing])


def _of_numbers(values: np.ndarray, name: str) -> Kind:
    if np.any(values != np.round(values)):
        return Kind("number", "numbers")
    distinct = np.unique(values)
    if distinct.tolist() == [0, 1]:
        return Kind("boolean", "0 and 1")
    if len(distinct) > 2 and _are_dates(distinct, name):
        return Kind("date", f"dates or times as whole numbers, from {distinct[0]:.0f} to {distinct[-1]:.0f}")
    named = len(distinct) > FEW and bool(ID_NAME.fullmatch(name))
    unlikely = len(values) ** 2 / (2 * max(distinct[-1] - distinct[0] + 1, 1)) > -np.log(SURPRISE)  # birthday problem
    if len(distinct) == len(values) and (unlikely or (named and len(values) > 2)):
        return Kind("id", f"{len(distinct)} different whole numbers")
    if named:
        return Kind("id", f"{len(distinct)} different whole numbers in a column with the name of an id")
    return Kind("number", "numbers")


def _are_dates(distinct: np.ndarray, name: str) -> bool:
    """Return True for numbers such as 20240131, and for seconds since 1970 in a column named after time."""
    year, month, day = distinct // 10_000, distinct // 100 % 100, distinct % 100
    written = (year >= 1900) & (year < 2100) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    seconds = np.all((distinct > EPOCH[0]) & (distinct < EPOCH[1]))
    return bool(np.all(written)) or bool(seconds and TIME_NAME.fullmatch(name))


def _of_texts(table: Table, name: str, texts: np.ndarray) -> Kind:
    words = categories_of(texts)
    if table.parsed(name) is not None:
        boolean = not any(word[0].isdigit() or word[0] in "+-." for word in words)
        return Kind("boolean", f"{' and '.join(words)}") if boolean else Kind("number", "numbers stored as text")
    some = words[:: max(1, len(words) // LOOKED_AT)]
    if np.mean([bool(DATE.fullmatch(word)) for word in some]) >= MOSTLY:
        return Kind("date", f"dates or times, such as {words[0]}")
    if np.mean([bool(NUMBER.fullmatch(word)) for word in some]) >= MOSTLY:
        return Kind("numeric text", f"numbers written as text, such as {words[0]!r}")
    if len(words) == len(texts) > 2:
        return Kind("id", f"{len(words)} different texts")
    if len(words) <= FEW:
        return Kind("category", f"{len(words)} categories")
    if len(words) > DISTINCT * len(texts):
        return Kind("text", f"{len(words)} different texts in {len(texts)} cells")
    return Kind("many", f"{len(words)} categories")
