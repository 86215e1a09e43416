"""A check finds what is not a feature, says what a fit does with it, and a fit does that."""

import json

import numpy as np
import pandas as pd
import pytest
from test_cli import done, refused, run

import mercer
from mercer.tables import TableError, learn, read
from mercer.tables.check import LEFT_OUT, REFUSED
from mercer.tables.table import as_table

N = 200
RNG = np.random.default_rng(0)
X = pd.Series(RNG.normal(size=N))
# column, its kind, and what a fit does with it
COLUMNS = {
    "numbers": (X, None, "used"),
    "counts": (RNG.poisson(5, N), None, "used"),
    "large counts": (RNG.integers(0, 10**7, N), None, "used"),  # all different, as chance has it
    "id": (np.arange(N) + 1000, "id", LEFT_OUT),
    "shuffled": (RNG.permutation(N), "id", LEFT_OUT),
    "customer_id": (RNG.integers(0, 10**9, N), "id", LEFT_OUT),
    "code": ([f"K{i:05d}" for i in range(N)], "id", LEFT_OUT),
    "note": ([f"it was {i % 150} times so" for i in range(N)], "text", LEFT_OUT),
    "day": (pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"), "date", LEFT_OUT),
    "moment": (pd.date_range("2024-01-01", periods=N, freq="min"), "date", LEFT_OUT),
    "german": (pd.date_range("2024-01-01", periods=N).strftime("%d.%m.%Y"), "date", LEFT_OUT),
    "clock": ([f"{i % 24:02d}:{i % 60:02d}" for i in range(N)], "date", LEFT_OUT),
    "yyyymmdd": (pd.date_range("2024-01-01", periods=N).strftime("%Y%m%d").astype(int), "date", LEFT_OUT),
    "flag": (X > 0, "boolean", "used as 0 and 1"),
    "answer": (np.where(X > 0.5, "Yes", "No"), "boolean", "used as 0 and 1"),
    "town": (RNG.choice(["Bern", "Chur", "Genf"], N), "category", "one-hot encoded"),
    "street": (RNG.choice([f"s{i}" for i in range(60)], N), "many", REFUSED),
    "money": ([f"${x:,.2f}" for x in RNG.uniform(900, 5000, N)], "numeric text", REFUSED),
    "always": (np.full(N, 3.0), "constant", "used"),
    "nearly": (np.where(np.arange(N) == 7, 1.5, 2.5), "nearly constant", "used"),
    "gaps": (X.where(X < 1), "missing", "used"),
    "nothing": (np.full(N, np.nan), "empty", LEFT_OUT),
    "twin": (X, "duplicate", "used"),
    "endless": (X.where(X.index != 5, -np.inf), "too large", REFUSED),
    "huge": (X + 1e200 * (np.arange(N) == 11), "too large", REFUSED),
    "spike": (X + 1e4 * (np.arange(N) == 11), "outlying", "used"),
    "wide": (1e5 * RNG.normal(size=N), None, "used"),
    "target": (RNG.integers(0, 3, N), "target", "used"),
}
FRAME = pd.DataFrame({name: column for name, (column, _, _) in COLUMNS.items()})
USABLE = FRAME.drop(columns=["street", "money", "gaps", "nothing", "endless", "huge"])


@pytest.fixture(scope="module", params=["frame", "csv", "csv.gz", "parquet"])
def table(request, tmp_path_factory):
    if request.param == "frame":
        return as_table(FRAME)
    path = tmp_path_factory.mktemp("check") / f"t.{request.param}"
    if request.param == "parquet":
        pytest.importorskip("pyarrow", exc_type=ImportError)
        FRAME.to_parquet(path, index=False)
    else:
        FRAME.to_csv(path, index=False)
    return read(path)


def test_every_kind_of_column_is_found_in_every_format(table):
    found = mercer.check(table)
    kinds = {name: [row.kind for row in found if row.column == name] for name in COLUMNS}
    for name, (_, kind, action) in COLUMNS.items():
        assert kinds[name] == ([] if kind is None else [kind]), name
        assert found.actions[name] == action, name
    assert [row.kind for row in found if not row.column] == ["scales"]
    assert all(row.option for row in found)
    assert "--include customer_id" in str(found)
    assert "<td>customer_id</td>" in found._repr_html_()


def test_the_findings_are_a_table():
    frame = pd.DataFrame(mercer.check(FRAME).table)
    assert list(frame.columns) == ["column", "kind", "found", "action", "option"]
    assert len(mercer.check(FRAME[["numbers", "counts"]])) == 0
    assert "Nothing was found" in str(mercer.check(FRAME[["numbers"]]))


def test_a_recipe_does_what_the_check_says():
    table = as_table(USABLE)
    recipe, actions = learn(table), mercer.check(table).actions
    assert recipe.columns == [name for name, action in actions.items() if action != LEFT_OUT]
    assert set(recipe.left_out) == {name for name, action in actions.items() if action == LEFT_OUT}
    assert list(recipe.categories) == ["town"]
    assert recipe.rows(table).shape == (N, len(recipe.columns) + 2)
    named = learn(table, include=["id"], exclude=["counts"])
    assert "id" in named.columns
    assert "counts" not in named.columns
    assert learn(table, ["numbers", "id"]).columns == ["numbers", "id"]
    with pytest.raises(TableError, match=r"'street'.*'money'.*--exclude"):
        learn(as_table(FRAME))
    with pytest.raises(TableError, match="no column is left to use"):
        learn(as_table(FRAME[["id", "day"]]))
    with pytest.raises(TableError, match="no column 'x' to include"):
        learn(table, include=["x"])
    with pytest.raises(ValueError, match="categorical='all'"):
        learn(table, categorical="all")


def test_booleans_give_the_same_rows_from_every_format(tmp_path):
    frame = FRAME[["numbers", "flag"]]
    frame.to_csv(tmp_path / "t.csv", index=False)
    expected = learn(as_table(frame)).rows(frame)
    np.testing.assert_array_equal(learn(read(tmp_path / "t.csv")).rows(read(tmp_path / "t.csv")), expected)
    np.testing.assert_array_equal(learn(read(tmp_path / "t.csv")).rows(frame), expected)


def test_targets():
    leak = FRAME.assign(leak=FRAME["target"].map({0: "a", 1: "b", 2: "c"}))[["numbers", "target", "leak"]]
    assert [(row.column, row.kind) for row in mercer.check(leak, target="target") if row.kind == "target"] == [
        ("leak", "target")
    ]
    found = {row.column: row for row in mercer.check(FRAME[["numbers", "counts"]], target="numbers")}
    assert found["numbers"].kind == "continuous target"
    assert not len(mercer.check(FRAME[["numbers", "wide"]], target="numbers", classes=False))
    assert not len(mercer.check(FRAME[["numbers", "counts"]], target="counts"))


def test_repeated_rows_and_many_alike_columns():
    twice = pd.concat([FRAME[["numbers", "town"]]] * 2, ignore_index=True)
    assert "200 rows repeat an earlier one" in [row.found for row in mercer.check(twice)]
    assert "earlier one" in [line.strip() for line in str(mercer.check(twice)).splitlines()]  # on a line of its own
    pixels = pd.DataFrame(np.zeros((5, 40)), columns=[f"p{i}" for i in range(40)])
    assert "constant: 40 columns" in str(mercer.check(pixels))


def test_the_command(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    assert "customer_id" in done("check", tmp_path / "t.csv").stdout
    told = json.loads(done("check", tmp_path / "t.csv", "--json").stdout)
    assert told["rows"] == N
    assert {row["column"] for row in told["findings"]} >= {"id", "day"}
    assert run("check", tmp_path / "t.csv", "--strict").exit_code == 2
    USABLE.drop(columns=["id"]).to_csv(tmp_path / "u.csv", index=False)
    assert "'shuffled'" in refused("fit", tmp_path / "u.csv", "-o", tmp_path / "m", "--strict")
    told = done("fit", tmp_path / "u.csv", "-o", tmp_path / "m").stderr
    assert "Left out: shuffled (id), customer_id (id), code (id), note (text), day (date), …" in told
    FRAME[["numbers", "wide"]].to_csv(tmp_path / "v.csv", index=False)
    assert run("check", tmp_path / "v.csv", "--strict").exit_code == 0


def test_a_continuous_target_is_asked_about(tmp_path):
    FRAME[["numbers", "wide", "counts"]].to_csv(tmp_path / "t.csv", index=False)
    classifier = ["--model", "classifier", "-o", tmp_path / "m", "-q", 1]
    line = refused("fit", tmp_path / "t.csv", *classifier, "--target", "wide")
    assert "200 different numbers" in line
    assert "--many-classes" in line
