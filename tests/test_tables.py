"""Tables are read strictly and written exactly; what a recipe has learned it does to every table."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from mercer.tables import FORMATS, Table, TableError, choose, format_of, learn, read, text, write
from mercer.tables.table import MOST_COLUMNS, as_table


def every(names, named=True, beside=()):
    return names


def parsed(data, **options):
    """The table in some bytes of CSV."""
    return text.read_text(io.BufferedReader(io.BytesIO(data)), "t.csv", every, **options)


def values(data, **options):
    return {name: column.tolist() for name, column in parsed(data, **options).columns.items()}


# what is not sound: bytes, and words of the error
BAD = {
    "ragged, too long": (b"a,b\n1,2\n3,4,5\n", ["line 3 has 3 fields", "line 1 has 2"]),
    "ragged, too short": (b"a,b\n1,2\n3\n", ["line 3 has 1 field"]),
    "ragged after quotes": (b'a,b\n"1\n0",2\n3,4\n5\n', ["line 5 has 1 field"]),
    "semicolons": (b"a;b\n1;2\n", ["semicolons", "--delimiter ';'"]),
    "BOM and semicolons": (b"\xef\xbb\xbfa;b\n1,5;2\n", ["semicolons", "--delimiter ';'", "--decimal ','"]),
    "tabs": (b"a\tb\n1\t2\n", ["tabs", "--delimiter tab"]),
    "empty": (b"", ["empty"]),
    "empty lines": (b"\n\n\n", ["empty"]),
    "BOM alone": (b"\xef\xbb\xbf", ["empty"]),
    "header only": (b"a,b\n", ["no rows"]),
    "header only, empty lines": (b"a,b\n\n\n", ["no rows"]),
    "no header": (b"1,2\n3,4\n", ["--no-header"]),
    "NUL bytes": (b"a,b\n1,2\n3,\x004\n", ["line 3", "NUL"]),
    "NUL bytes in the header": (b"a,\0b\n1,2\n", ["line 1", "NUL"]),
    "mixed line ends": (b"a,b\r\n1,2\r\n3,4\n5,6\r\n", ["line 3", "\\n", "\\r\\n"]),
    "mixed line ends, old Mac": (b"a,b\n1,2\r3,4\n", ["line 2", "\\r"]),
    "names twice": (b"a,b,a\n1,2,3\n", ["columns 1 and 3", "'a'"]),
    "a name missing": (b",b\n1,2\n", ["column 1 has no name"]),
    "an empty line": (b"a,b\n1,2\n\n3,4\n", ["line 3 is empty"]),
    "quotes that do not end": (b'a,b\n1,"2\n3,4\n', ["quotes"]),
    "quotes inside": (b'a,b\n1,"2"x\n3,4\n', ["quotes"]),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), ["UTF-16"]),
    "Latin-1": ("ä,b\n1,2\n".encode("latin1"), ["not UTF-8", "0xe4"]),
    "a binary file": (bytes(range(256)), ["not UTF-8"]),
}


@pytest.mark.parametrize("name", BAD)
def test_a_table_that_is_not_sound_is_refused_in_one_line(name):
    data, words = BAD[name]
    with pytest.raises(TableError) as error:
        parsed(data)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("t.csv: ")
    for word in words:
        assert word in str(error.value)


# what is read as a table, but not as numbers: bytes, column, and words of the error
NO_NUMBERS = {
    "words in numbers": (b"a,b\n1,2\n3,x\n5,y\n", "b", ["line 3", "'b'", "'x'", "2 such cells", "3, 4"]),
    "words": (b"a,b\n1,red\n3,blue\n", "b", ["contains text", "'blue', 'red'", "--exclude 'b'", "one-hot"]),
    "inf": (b"a,b\n1,2\n3,inf\n", "b", ["line 3", "'b'", "not finite"]),
    "too large": (b"a,b\n1,2\n3,-1e999\n", "b", ["line 3", "'b'", "not finite"]),
    "too large to be squared": (b"a,b\n1,2\n3,-1e160\n", "b", ["line 3", "'b'", "-1e+160 is too large"]),
    "underscores": (b"a,b\n1,2\n3,1_000\n", "b", ["line 3", "'1_000'"]),
    "hexadecimal": (b"a,b\n1,2\n3,0x10\n", "b", ["line 3", "'0x10'"]),
    "decimal commas": (b"a;b\n1;2,5\n", "b", ["'2,5'", "--decimal ','"]),
    "thousands": (b"a;b\n1;2\n1;2.500,5\n", "b", ["line 3", "'2.500,5'"]),
}


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_a_cell_that_is_no_number_is_named(name):
    data, column, words = NO_NUMBERS[name]
    options = {"delimiter": ";"} if b";" in data else {}
    options |= {"decimal": ","} if name == "thousands" else {}
    table = parsed(data, **options)
    with pytest.raises(TableError) as error:
        table.numbers(column)
    for word in words:
        assert word in str(error.value)
    np.testing.assert_array_equal(table.numbers("a")[0], 1)


GOOD = {
    b"a,b\n1,2\n3,4\n": {"a": [1, 3], "b": [2, 4]},
    b"a,b\n1,2\n3,4": {"a": [1, 3], "b": [2, 4]},
    b"a,b\r\n1,2\r\n3,4\r\n\r\n": {"a": [1, 3], "b": [2, 4]},
    b"a,b\r1,2\r3,4\r": {"a": [1, 3], "b": [2, 4]},
    b"\xef\xbb\xbfa,b\n1,2\n": {"a": [1], "b": [2]},
    b'"a, x","b ""q"""\n1,2\n': {"a, x": [1], 'b "q"': [2]},
    b'a,b\r\n"x\ny",2\r\n': {"a": ["x\ny"], "b": [2]},
    b" a , b\n 1 , 2e3\n": {"a": [1], "b": [2000]},
    b"a\n1\n2\n": {"a": [1, 2]},
    b"a,b\n1,red\n,\n": {"a": [1, np.nan], "b": ["red", None]},
    b"a,b\n1,NA\nnan,2\n": {"a": [1, np.nan], "b": [np.nan, 2]},
    "größe,y\n1,2\n".encode(): {"größe": [1], "y": [2]},
}


@pytest.mark.parametrize("data", GOOD, ids=repr)
@pytest.mark.parametrize("block", [1, 3, 2**19])
def test_what_is_sound_is_read_whatever_the_blocks_are(data, block, monkeypatch):
    monkeypatch.setattr(text, "BLOCK", block)
    found = values(data)
    assert list(found) == list(GOOD[data])
    for name, expected in GOOD[data].items():
        assert repr([float(x) if isinstance(x, int) else x for x in expected]) == repr(found[name])


def test_other_delimiters_decimal_commas_and_no_header():
    assert values(b"a;b\n1,5;-2\n", delimiter=";", decimal=",") == {"a": [1.5], "b": [-2.0]}
    assert values(b"1,2\n3,4\n", header=False) == {"x0": [1.0, 3.0], "x1": [2.0, 4.0]}
    assert values(b'"1","2"\n3,4\n', header=False) == {"x0": [1.0, 3.0], "x1": [2.0, 4.0]}
    with pytest.raises(TableError, match="delimiter and the decimal"):
        parsed(b"a,b\n", decimal=",")


def test_line_numbers_count_lines_and_not_rows():
    table = parsed(b'a,b\n"x\ny",1\nz,oops\n')
    assert table.lines.tolist() == [2, 4]
    with pytest.raises(TableError, match="line 4"):
        table.numbers("b")


@pytest.mark.parametrize("block", [4, 2**19])
def test_labels_are_spelled_alike_in_every_block(block, monkeypatch):
    monkeypatch.setattr(text, "BLOCK", block)
    table = parsed(b"a,y\n1,1\n1,2\n1,1.0\n1,other\n1,1\n")
    assert table.labels("y").tolist() == ["1", "2", "1", "other", "1"]
    assert parsed(b"a,y\n1,1\n1,2.0\n").labels("y").tolist() == [1, 2]
    assert parsed(b"a,y\n1,0.5\n1,2\n").labels("y").tolist() == [0.5, 2]
    with pytest.raises(TableError, match="line 3.*target is missing"):
        parsed(b"a,y\n1,1\n1,\n").labels("y")


def test_columns_that_are_not_asked_for_may_hold_anything():
    data = b"a,b,c\n1,x,inf\n2,3,4\n"
    stream = io.BufferedReader(io.BytesIO(data))
    table = text.read_text(stream, "t.csv", lambda names, named: ["a"])
    assert table.numbers("a").tolist() == [1, 2]
    assert table.others == ("b", "c")


@pytest.mark.parametrize("cell", ["5", "oops"])
def test_columns_come_in_the_order_asked_for(cell):
    stream = io.BufferedReader(io.BytesIO(f"a,b,c\n1,2,3\n4,{cell},6\n".encode()))
    table = text.read_text(stream, "t.csv", lambda names, named: ["c", "b", "a"])
    assert list(table.columns) == ["c", "b", "a"]
    assert table.numbers("c").tolist() == [3, 6]
    assert table.numbers("a").tolist() == [1, 4]


def test_names_are_chosen_and_checked():
    names = ["a", "b", "c"]
    assert choose(names, "t") == names
    assert choose(names, "t", ["c", "a"]) == ["a", "c"]
    assert choose(names, "t", exclude=["b"], labels=["c"]) == ["a"]
    with pytest.raises(TableError, match="no column 'd'.*It has 'a', 'b', 'c'"):
        choose(names, "t", ["d"])
    with pytest.raises(TableError, match="no column is left"):
        choose(names, "t", exclude=names)
    wide = [f"c{i}" for i in range(100_000)]
    with pytest.raises(TableError, match=f"100000 columns.*{MOST_COLUMNS}.*--columns"):
        choose(wide, "t")
    assert len(choose(wide, "t", ["c5"])) == 1


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet='ab,;"\n\r\t 1.-_é\0') | st.binary(), st.sampled_from([1, 2**19]))
def test_any_bytes_are_a_table_or_one_clear_line(data, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK", block)
        try:
            table = parsed(data if isinstance(data, bytes) else data.encode())
        except TableError as error:
            table, line = None, str(error)
    if table is None:
        assert "\n" not in line
    else:
        assert {len(column) for column in table.columns.values()} == {len(table.lines)}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.text("ab ,\"\n'1é"), st.text("cd\r\n;")), min_size=1))
def test_words_are_those_of_the_csv_module(rows):
    """Two columns of words that mean nothing else, written and read."""
    rows = [(f"<{a}>", f"<{b}>") for a, b in rows]
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows([("left", "right"), *rows])
    table = parsed(stream.getvalue().encode())
    assert list(zip(table.columns["left"], table.columns["right"], strict=True)) == rows


finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(finite, finite, finite), min_size=1, max_size=20), st.sampled_from(["csv", "tsv", "npy", "npz"])
)
def test_numbers_are_written_so_that_reading_gives_them_back(tmp_path_factory, rows, format):
    path = tmp_path_factory.mktemp("t") / f"t.{format}"
    X = np.array(rows)
    write({f"x{i}": column for i, column in enumerate(X.T)}, path)
    back = read(path, every)
    np.testing.assert_array_equal(np.column_stack(list(back.columns.values())), X)


def test_parquet_there_and_back(tmp_path):
    pytest.importorskip("pyarrow", exc_type=ImportError)  # one that wants a later NumPy
    columns = {"a": np.array([1.5, 2.0]), "word": np.array(["x", None], object), "n": np.array([1, 2])}
    write(columns, tmp_path / "t.parquet")
    table = read(tmp_path / "t.parquet", every)
    assert table.numbers("a").tolist() == [1.5, 2.0]
    assert table.columns["word"].tolist() == ["x", None]
    assert table.numbers("n").tolist() == [1, 2]
    frame = pd.DataFrame({"a": [1.0, None], "c": pd.Categorical(["u", "v"]), "t": pd.to_datetime(["2020", "2021"])})
    frame.to_parquet(tmp_path / "p.parquet")
    table = read(tmp_path / "p.parquet", lambda names, named: ["a", "c"])
    assert np.isnan(table.numbers("a")[1])
    assert table.columns["c"].tolist() == ["u", "v"]
    assert read(tmp_path / "p.parquet", every).columns["t"][1] == "2021-01-01 00:00:00"
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(TableError, match="not a valid Parquet"):
        read(tmp_path / "bad.parquet", every)


def test_parquet_without_its_library_names_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(TableError, match=r"mercer\[tables\]"):
        read(tmp_path / "t.parquet", every)


def test_arrays_and_what_is_no_table(tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "t.npz", X=X, y=np.array(["u", "v", "u"]), other=np.zeros((4, 4)))
    table = read(tmp_path / "t.npz", lambda names, named, beside: [*names, *beside])
    assert list(table.columns) == ["x0", "x1", "y"]
    assert not table.named
    np.savez_compressed(tmp_path / "one.npz", data=X)
    assert read(tmp_path / "one.npz", every).numbers("x1").tolist() == [1, 3, 5]
    for name, array, word in [
        ("cube", np.zeros((2, 2, 2)), "not a table"),
        ("words", np.array([["a"]]), "not a table"),
        ("none", np.zeros((0, 2)), "no rows"),
        ("objects", np.array([[None]]), "plain numbers"),
    ]:
        np.save(tmp_path / f"{name}.npy", array, allow_pickle=True)
        with pytest.raises(TableError, match=word):
            read(tmp_path / f"{name}.npy", every)
    np.savez(tmp_path / "two.npz", a=X, b=X)
    with pytest.raises(TableError, match="one is needed"):
        read(tmp_path / "two.npz", every)
    (tmp_path / "bad.npz").write_bytes(b"PK\3\4 nothing")
    with pytest.raises(TableError, match="not a valid"):
        read(tmp_path / "bad.npz", every)
    (tmp_path / "lie.npy").write_bytes((tmp_path / "cube.npy").read_bytes().replace(b"(2, 2, 2)", b"(9999999,)"[:9]))
    with pytest.raises(TableError):
        read(tmp_path / "lie.npy", every)


def test_words_do_not_go_into_a_matrix(tmp_path):
    with pytest.raises(TableError, match="'w' contains text"):
        write({"w": np.array(["a"], object)}, tmp_path / "t.npy")
    assert list(tmp_path.iterdir()) == []


def test_the_ending_tells_the_format_or_it_is_asked_for():
    assert [format_of(f"t.{name}") for name in FORMATS] == list(FORMATS)
    assert format_of("T.CSV") == "csv"
    assert format_of("-") is None
    assert format_of("t.dat", "csv") == "csv"
    with pytest.raises(TableError, match="--from or --to"):
        format_of("t.dat.gz")


@pytest.mark.parametrize("format", ["csv.gz", "tsv.gz"])
def test_compressed_files(tmp_path, format):
    columns = {"x0": np.arange(1000.0), "x1": np.sqrt(np.arange(1000.0))}
    write(columns, tmp_path / f"t.{format}")
    back = read(tmp_path / f"t.{format}")
    assert all(np.array_equal(back.columns[name], values) for name, values in columns.items())
    with pytest.raises(TableError, match="only CSV and TSV"):
        write(columns, tmp_path / "t.npz.gz")
    whole = (tmp_path / f"t.{format}").read_bytes()
    for damaged in (whole[:-300], whole[:200] + b"????" + whole[204:]):
        (tmp_path / f"d.{format}").write_bytes(damaged)
        with pytest.raises(TableError, match="cut short or damaged"):
            read(tmp_path / f"d.{format}")


# recipes


@pytest.fixture
def table():
    """Two columns of numbers with gaps, one of words."""
    return parsed(b"a,b,c\n1,10,red\n2,,blue\n4,30,red\n8,70,\n")


def test_scaling_is_that_of_scikit_learn():
    X = np.random.default_rng(0).normal(3, [1, 10, 0], size=(50, 3))
    recipe = learn(as_table(X), ["x0", "x1", "x2"])
    np.testing.assert_array_equal(recipe.rows(X), StandardScaler().fit_transform(X))
    np.testing.assert_allclose(np.column_stack(list(recipe.table(recipe.rows(X)).values())), X)
    plain = learn(as_table(X), ["x0", "x1", "x2"], scale=False)
    np.testing.assert_array_equal(plain.rows(X), X)


def test_a_gap_is_refused_dropped_or_filled(table):
    with pytest.raises(TableError, match=r"line 3, column 'b'.*1 of 4 rows.*--missing"):
        learn(table, ["a", "b"]).apply(table)
    X, kept = learn(table, ["a", "b"], missing="drop").apply(table)
    assert kept.tolist() == [0, 2, 3]
    np.testing.assert_array_equal(X, StandardScaler().fit_transform([[1, 10], [4, 30], [8, 70]]))
    X, kept = learn(table, ["a", "b"], missing="mean").apply(table)
    raw = np.array([[1, 10], [2, np.nan], [4, 30], [8, 70]])
    np.testing.assert_allclose(X, SimpleImputer().fit_transform(StandardScaler().fit_transform(raw)), atol=1e-15)
    assert len(kept) == 4


def test_an_imputer_fills_gaps_in_scaled_columns(table):
    X, _ = learn(table, ["a", "b"], missing="impute", imputer=SimpleImputer()).apply(table)
    np.testing.assert_allclose(X, learn(table, ["a", "b"], missing="mean").apply(table)[0], atol=1e-15)


def test_words_are_coded_as_scikit_learn_codes_them(table):
    recipe = learn(table, ["a", "c"], categorical="one-hot", missing="drop")
    X, kept = recipe.apply(table)
    assert kept.tolist() == [0, 1, 2]
    words = np.array([["red"], ["blue"], ["red"]])
    np.testing.assert_array_equal(X[:, 1:], OneHotEncoder(sparse_output=False).fit_transform(words))
    assert recipe.features == ["a", "c=blue", "c=red"]
    assert recipe.table(X)["c"].tolist() == ["red", "blue", "red"]
    with pytest.raises(TableError, match="line 2, column 'c': 'green' is not a category"):
        recipe.rows(parsed(b"a,c\n1,green\n"))
    with pytest.raises(TableError, match="contains text"):
        learn(table, ["a", "c"], categorical="error")


def test_a_gap_in_words_is_filled_with_the_shares():
    table = parsed(b"c\nred\nblue\nred\nred\nNA\n")
    X = learn(table, ["c"], categorical="one-hot", missing="mean").rows(table)
    np.testing.assert_allclose(X[-1], [0.25, 0.75])


def test_an_empty_column_is_refused():
    with pytest.raises(TableError, match="'b': empty"):
        learn(parsed(b"a,b\n1,\n2,NA\n"), ["a", "b"], missing="mean")


def test_columns_are_found_by_name_wherever_they_stand(table):
    recipe = learn(parsed(b"a,b\n1,2\n3,5\n"), ["a", "b"])
    np.testing.assert_array_equal(recipe.rows(parsed(b"z,b,a\n0,2,1\n")), recipe.rows(parsed(b"a,b\n1,2\n")))
    with pytest.raises(TableError, match="the column 'b' is missing"):
        recipe.rows(parsed(b"a,z\n1,2\n"))
    with pytest.raises(TableError, match="'a' and 1 more"):
        recipe.rows(parsed(b"y,z\n1,2\n"))


def test_columns_without_names_are_found_by_their_place():
    named = learn(parsed(b"a,b\n1,2\n3,5\n"), ["a", "b"])
    np.testing.assert_array_equal(named.rows(np.array([[1.0, 2.0]])), named.rows(parsed(b"a,b\n1,2\n")))
    bare = learn(as_table(np.array([[1.0, 2.0, 7.0], [3.0, 5.0, 8.0]])), ["x0", "x1"])
    np.testing.assert_array_equal(bare.rows(np.array([[1.0, 2.0, 0.0]])), named.rows(np.array([[1.0, 2.0]])))
    np.testing.assert_array_equal(bare.rows(parsed(b"a,b\n1,2\n")), named.rows(np.array([[1.0, 2.0]])))
    with pytest.raises(TableError, match="it has 4 columns, and the model needs 2"):
        bare.rows(np.zeros((1, 4)))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_are_tables(library):
    data = pytest.importorskip(library, reason=f"{library} is not installed").DataFrame(
        {"a": [1.0, 2.0, None], "c": ["u", "v", None], "n": [1, 2, 3]}
    )
    recipe = learn(as_table(data), ["a", "c", "n"], categorical="one-hot", missing="drop")
    assert recipe.rows(data).shape == (2, 4)
    assert as_table(Table({"a": np.ones(1)})).names == ["a"]


def test_parquet_is_read_by_row_groups(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": np.arange(10.0), "b": list("xyxyxyxyxy"), "c": np.arange(10) % 2 == 0})
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=3)
    table = read(tmp_path / "t.parquet", lambda names, named, more=(): ["c", "a"])
    np.testing.assert_array_equal(table.columns["a"], frame["a"])
    np.testing.assert_array_equal(table.columns["c"], frame["c"].astype(float))
    assert (list(table.columns), table.others) == (["c", "a"], ("b",))


@pytest.mark.parametrize("format", ["parquet", "feather"])
def test_damaged_arrow_files_are_refused(format, tmp_path):
    """Some damage is in names, texts and dates, which pyarrow converts without checking them."""
    pytest.importorskip("pyarrow", exc_type=ImportError)
    path, rng = tmp_path / f"t.{format}", np.random.default_rng(0)
    frame = pd.DataFrame({"a": np.arange(20.0), "c": list("uv") * 10, "t": pd.date_range("2020", periods=20)})
    getattr(frame, f"to_{format}")(path, compression="uncompressed" if format == "feather" else None)
    sound, refused = path.read_bytes(), 0
    for _ in range(500):
        data = bytearray(sound)
        for at in rng.integers(len(data), size=3):
            data[at] ^= 1 << rng.integers(8)
        path.write_bytes(data)
        try:
            read(path, every)
        except TableError:
            refused += 1
    assert refused


def test_dates_beyond_those_of_python_are_named(tmp_path):
    arrow = pytest.importorskip("pyarrow", exc_type=ImportError)
    from pyarrow import feather

    far = arrow.array([0, 10**9], arrow.int32()).cast(arrow.date32())
    feather.write_feather(arrow.table({"a": [1.0, 2.0], "day": far}), tmp_path / "t.feather")
    with pytest.raises(TableError, match="column 'day'.*--exclude 'day'"):
        read(tmp_path / "t.feather", every)
    assert read(tmp_path / "t.feather", lambda names, named: ["a"]).numbers("a").tolist() == [1, 2]
