"""What the command line promises: Python's results, instant help, one line per error, exit codes 0, 2 and 130."""

import csv
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from inspect import signature
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_tables import BAD

import mercer
from mercer.app.cli import main
from mercer.kernels import RBF

pytestmark = pytest.mark.filterwarnings("ignore:The .* calibration rows are correlated in time:UserWarning")
HELP = """
import sys
from mercer.app.cli import main
main(["--help"], standalone_mode=False)
print([name for name in ("numpy", "scipy", "sklearn", "matplotlib", "pandas") if name in sys.modules])
"""


# click 8.1 mixes stderr into stdout unless told not to; later versions have no such option
APART = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}


def run(*args, **options):
    return CliRunner(**APART).invoke(main, [str(arg) for arg in args], **options)


def done(*args, **options):
    """The result of a command that must succeed."""
    result = run(*args, **options)
    assert result.exit_code == 0, result.stderr
    return result


def frame(result):
    """The table on standard output; numbers to the last bit, which pandas alone does not promise."""
    return table_of(result.stdout)


def table_of(text, delimiter=","):
    rows = list(csv.reader(text.splitlines(), delimiter=delimiter))
    return pd.DataFrame({name: _column(cells) for name, *cells in zip(*rows, strict=True)})


def _column(cells):
    try:
        return np.array([int(cell) if cell.lstrip("-").isdigit() else float(cell) for cell in cells])
    except ValueError:
        return np.array(cells, dtype=object)


def refused(*args, **options):
    """The one line of a command that must be refused."""
    result = run(*args, **options)
    assert result.exit_code == 2, (result.output, result.exception)
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert result.stdout == ""
    return result.stderr


# help


def test_help_loads_no_heavy_library():
    told = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    assert "mercer demo" in told.stdout
    assert told.stdout.splitlines()[-1] == "[]"


COMMANDS = sorted(main.commands)


@pytest.mark.parametrize("args", [[], ["--help"], ["-h"], *([name, "--help"] for name in COMMANDS)], ids=" ".join)
def test_help_teaches_with_success(args):
    assert "Usage:" in done(*args).stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_and_its_options(name):
    command = main.commands[name]
    assert command.help
    assert all(option.help for option in command.params if isinstance(option, click.Option))
    short = command.get_short_help_str(limit=60)
    assert not short.endswith("..."), short


def test_commands_are_those_of_the_contract():
    assert {
        "compress",
        "demo",
        "denoise",
        "fit",
        "check",
        "info",
        "inverse",
        "plan",
        "predict",
        "report",
        "reproduce",
        "sample",
        "score",
        "transform",
    } <= set(COMMANDS)


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert run("--version").output == f"mercer {project['version']}\n"
    assert mercer.__version__ == project["version"]


@pytest.mark.parametrize(
    "args",
    [
        ["dmeo"],
        ["--colour"],
        ["demo", "--colour"],
        ["demo", "-o"],
        ["demo", "x"],
        ["fit"],
        ["fit", "x.csv"],
        ["fit", "x.csv", "-o", "m", "--model", "tree"],
        ["fit", "x.csv", "-o", "m", "-q", "many"],
        ["fit", "x.csv", "-o", "m", "--gamma", "wide"],
        ["fit", "x.csv", "-o", "m", "--clusters", "2"],
        ["fit", "x.csv", "-o", "m", "--kernel", "linear", "--gamma", "1"],
        ["fit", "x.csv", "-o", "m", "--target", "y"],
        ["fit", "x.csv", "-o", "m", "--model", "classifier"],
        ["fit", "x.csv", "-o", "m", "--delimiter", "ab"],
        ["fit", "no such file.csv", "-o", "m"],
        ["fit", ".", "-o", "m", "--from", "csv"],
        ["fit", "x.csv", "-o", "no such folder/m"],
        ["fit", "x.csv", "-o", "."],
        ["fit", "x.csv", "-o", "-"],
        ["report", "m", "x.csv", "-o", "-"],
        ["transform", "no such model", "x.csv"],
        ["transform", "m", "x.csv", "--json"],
        ["transform", "m", "x.csv", "-o", "t.dat"],
        ["sample", "m", "-n", "0"],
        ["compress", "m", "-o", "s"],
        ["plan", "--rows", "1.5", "--columns", "2"],
        ["plan", "--rows", "0", "--columns", "2"],
    ],
    ids=" ".join,
)
def test_a_slip_of_the_keyboard_is_answered_in_one_line(args, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(*args)
    assert list(tmp_path.iterdir()) == []


# the commands, beside the Python API


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table, in all formats, and models fitted on it."""
    folder = tmp_path_factory.mktemp("cli")
    flowers = load_iris()
    table = pd.DataFrame(flowers.data[::2], columns=["sl", "sw", "pl", "pw"])
    table.insert(0, "id", np.arange(100, 175))
    table["species"] = flowers.target_names[flowers.target[::2]]
    table.to_csv(folder / "iris.csv", index=False)
    table.to_csv(folder / "iris.tsv", index=False, sep="\t")
    table.to_csv(folder / "turned.csv", index=False, columns=["pw", "species", "pl", "sw", "id", "sl"])
    np.save(folder / "iris.npy", flowers.data[::2])
    np.savez(folder / "iris.npz", X=flowers.data[::2], y=flowers.target[::2])
    for name, options in OPTIONS.items():
        done("fit", folder / "iris.csv", "-o", folder / f"{name}.mercer", "--exclude", "id", "--seed", 0, *options)
    return folder


NO_SPECIES = ["--exclude", "id,species"]
OPTIONS = {
    "kpca": ["-q", 4, *NO_SPECIES],
    "sparse": ["--model", "sparse", "--anchors", 10, *NO_SPECIES],
    "probabilistic": ["--model", "probabilistic", "-q", 3, "--gamma", 0.1, *NO_SPECIES],
    "mixture": ["--model", "mixture", "--clusters", 2, "--parts", 2, "--noise-variance", 0.01, *NO_SPECIES],
    "classifier": ["--model", "classifier", "--target", "species", "--noise-ratio", 0.02],
    "monitor": ["--model", "monitor", "--alpha", 0.05, "--lags", 1, "--contamination", 0.02, *NO_SPECIES],
}
MEDIAN = RBF()
SAME = {
    "kpca": mercer.KernelPCA(4, kernel=MEDIAN, random_state=0),
    "sparse": mercer.SparseKernelPCA(n_anchors=10, kernel=MEDIAN, random_state=0),
    "probabilistic": mercer.ProbabilisticKernelPCA(3, kernel=RBF(0.1), random_state=0),
    "mixture": mercer.KernelPCAMixture(2, n_parts=2, noise_variance=0.01, kernel=MEDIAN, random_state=0),
    "classifier": mercer.KernelPCAClassifier(noise_ratio=0.02, kernel=MEDIAN, random_state=0),
    "monitor": mercer.KernelPCAMonitor(alpha=0.05, lags=1, contamination=0.02, random_state=0),
}


@pytest.fixture(scope="module")
def flowers():
    """The rows of the table, and their kinds."""
    data = load_iris()
    return data.data[::2], data.target_names[data.target[::2]]


@pytest.fixture(scope="module")
def python(flowers):
    """Name → pipeline of a scaler and the model, fitted by the Python API."""
    return {name: make_pipeline(StandardScaler(), model).fit(*flowers) for name, model in SAME.items()}


@pytest.mark.parametrize("name", ["kpca", "sparse", "probabilistic"])
def test_transform_inverse_and_denoise_are_those_of_python(name, folder, flowers, python):
    X, _ = flowers
    scaler, model = python[name]
    Z = scaler.transform(X)
    path = folder / f"{name}.mercer"
    scores = frame(done("transform", path, folder / "iris.csv", "--keep", "id"))
    assert scores.pop("id").tolist() == list(range(100, 175))
    assert list(scores.columns) == list(model.get_feature_names_out())
    np.testing.assert_array_equal(scores.to_numpy(), model.transform(Z))
    clean = frame(done("denoise", path, folder / "iris.csv"))
    assert list(clean.columns) == ["sl", "sw", "pl", "pw"]
    np.testing.assert_allclose(clean.to_numpy(), scaler.inverse_transform(model.denoise(Z)), rtol=1e-14)
    done("transform", path, folder / "iris.csv", "-o", folder / f"{name}.tsv")
    back = frame(done("inverse", path, folder / f"{name}.tsv"))
    again = scaler.inverse_transform(model.inverse_transform(model.transform(Z)))
    np.testing.assert_allclose(back.to_numpy(), again, rtol=1e-14)


@pytest.mark.parametrize("name", OPTIONS)
def test_score_and_predict_are_those_of_python(name, folder, flowers, python):
    Z = python[name][0].transform(flowers[0])
    model, path = python[name][1], folder / f"{name}.mercer"
    methods = {"score_samples": "score", "reconstruction_error": "reconstruction_error", "t2": "t2", "spe": "spe"}
    methods = {method: word for method, word in methods.items() if hasattr(model, method)}
    if methods:
        found = frame(done("score", path, folder / "iris.csv"))
        assert list(found.columns) == list(methods.values())
        for method, word in methods.items():
            np.testing.assert_array_equal(found[word], getattr(model, method)(Z))
    else:
        assert "It supports: predict" in refused("score", path, folder / "iris.csv")
    if not hasattr(model, "predict"):
        assert "does not support predict" in refused("predict", path, folder / "iris.csv")
        return
    proba = hasattr(model, "predict_proba")
    found = frame(done("predict", path, folder / "iris.csv", *["--proba"] * proba))
    np.testing.assert_array_equal(found.pop("prediction"), model.predict(Z))
    if proba:
        np.testing.assert_array_equal(found.to_numpy(), model.predict_proba(Z))


def test_predict_tells_how_many_are_right(folder, flowers, python):
    result = done("predict", folder / "classifier.mercer", folder / "iris.csv")
    assert f"{python['classifier'].score(*flowers):.2%}" in result.stderr


@pytest.mark.parametrize("name", ["probabilistic", "mixture"])
def test_samples_are_those_of_python(name, folder, python):
    scaler, model = python[name]
    expected, cluster = model.set_params(random_state=7).sample(5)
    found = frame(done("sample", folder / f"{name}.mercer", "-n", 5, "--seed", 7))
    if cluster is not None:
        np.testing.assert_array_equal(found.pop("cluster"), cluster)
    np.testing.assert_allclose(found.to_numpy(), scaler.inverse_transform(expected), rtol=1e-14)


def test_compress_is_that_of_python(folder, flowers, python, tmp_path):
    told = json.loads(done("compress", folder / "kpca.mercer", "-m", 12, "-o", tmp_path / "s", "--json").stdout)
    small = mercer.compress(python["kpca"][1], 12)
    assert (told["anchors"], told["anchors_before"]) == (12, 75)
    assert told["bytes"] == (tmp_path / "s").stat().st_size < told["bytes_before"]
    found = frame(done("transform", tmp_path / "s", folder / "iris.csv"))
    np.testing.assert_array_equal(found.to_numpy(), small.transform(python["kpca"][0].transform(flowers[0])))


@pytest.mark.parametrize("name", OPTIONS)
def test_info_tells_for_people_and_for_machines(name, folder, python):
    told = json.loads(done("info", folder / f"{name}.mercer", "--json").stdout)
    assert told["model"] == type(python[name][1]).__name__
    np.testing.assert_array_equal(told["table"]["mean"], python[name][0].mean_)
    np.testing.assert_array_equal(told["table"]["scale"], python[name][0].scale_)
    assert told["bytes"] == (folder / f"{name}.mercer").stat().st_size
    text = done("info", folder / f"{name}.mercer").stdout
    assert told["model"] in text
    assert "  sl: (sl - " in text


def test_the_report_is_a_page_with_the_names_of_the_columns(folder, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    done("report", folder / "kpca.mercer", folder / "iris.csv", "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert page.lstrip().lower().startswith("<!doctype html")
    assert "pw" in page
    assert "--force" in refused("report", folder / "kpca.mercer", folder / "iris.csv", "-o", tmp_path / "r.html")


def test_plan_tells_for_people_and_for_machines():
    told = json.loads(done("plan", "--rows", "1e6", "--columns", "20", "--json").stdout)
    assert (told["n"], told["d"], told["auto"]) == (1_000_000, 20, "landmarks")
    assert "landmarks" in done("plan", "--rows", 1000, "--columns", 3).stdout


def test_columns_may_stand_anywhere_and_the_format_does_not_matter(folder):
    model = folder / "kpca.mercer"
    expected = done("transform", model, folder / "iris.csv").stdout
    for name in ["iris.tsv", "turned.csv", "iris.npy", "iris.npz"]:
        assert done("transform", model, folder / name).stdout == expected
    assert done("transform", model, "-", input=(folder / "iris.csv").read_bytes()).stdout == expected
    assert done("transform", model, "-", input=(folder / "iris.npy").read_bytes()).stdout == expected
    assert done("transform", model, "-", "--from", "tsv", input=(folder / "iris.tsv").read_bytes()).stdout == expected
    bare = (folder / "iris.csv").read_text().split("\n", 1)[1]
    assert "it has 6 columns" in refused("transform", model, "-", "--no-header", input=bare)
    words = (folder / "iris.csv").read_text().replace(",", ";").replace(".", ",")
    assert done("transform", model, "-", "--delimiter", ";", "--decimal", ",", input=words).stdout == expected


@pytest.mark.parametrize("ending", ["csv", "tsv", "npy", "npz"])
def test_results_are_written_in_every_format(ending, folder, tmp_path):
    expected = frame(done("transform", folder / "kpca.mercer", folder / "iris.csv")).to_numpy()
    path = tmp_path / f"t.{ending}"
    told = json.loads(done("transform", folder / "kpca.mercer", folder / "iris.csv", "-o", path, "--json").stdout)
    assert told["rows"] == 75
    found = {
        "csv": lambda: table_of(path.read_text()).to_numpy(),
        "tsv": lambda: table_of(path.read_text(), "\t").to_numpy(),
        "npy": lambda: np.load(path),
        "npz": lambda: np.load(path)["X"],
    }[ending]()
    np.testing.assert_array_equal(found, expected)


def test_a_classifier_from_two_arrays(folder, tmp_path):
    path = tmp_path / "m"
    done("fit", folder / "iris.npz", "-o", path, "--model", "classifier", "--target", "y", "--noise-ratio", 0.02)
    found = frame(done("predict", path, folder / "iris.npz"))["prediction"]
    names = frame(done("predict", folder / "classifier.mercer", folder / "iris.csv"))["prediction"]
    assert (load_iris().target_names[found] == names).all()


def test_a_model_that_python_saved_takes_tables_as_they_are(flowers, tmp_path):
    X, _ = flowers
    model = mercer.KernelPCA(2).fit(pd.DataFrame(X, columns=list("abcd")))
    mercer.save(model, tmp_path / "m")
    pd.DataFrame(X[:, ::-1], columns=list("dcba")).to_csv(tmp_path / "t.csv", index=False)
    found = frame(done("transform", tmp_path / "m", tmp_path / "t.csv"))
    np.testing.assert_array_equal(found.to_numpy(), model.transform(pd.DataFrame(X, columns=list("abcd"))))
    assert done("transform", tmp_path / "m", tmp_path / "t.csv").stderr == ""
    mercer.save(mercer.KernelPCA(2), tmp_path / "unfitted")
    assert "not fitted" in refused("transform", tmp_path / "unfitted", tmp_path / "t.csv")


def test_what_is_done_to_a_table_is_said_aloud(folder, tmp_path):
    result = done("fit", folder / "iris.csv", "-o", tmp_path / "m", "--exclude", "id,species")
    assert "75 rows, 4 columns (sl, sw, pl, pw)" in result.stderr
    assert "mean 0 and variance 1" in result.stderr
    assert "10 components" in result.stderr
    result = done("fit", folder / "iris.csv", "-o", tmp_path / "n", "--exclude", "id,species", "--no-scale")
    assert "mean 0" not in result.stderr
    result = done("fit", folder / "iris.csv", "-o", tmp_path / "o", "--exclude", "id", "--categorical", "one-hot")
    assert "One-hot encoded: species (category)" in result.stderr
    result = done("fit", folder / "iris.csv", "-o", tmp_path / "p")
    assert "Left out: id (id)" in result.stderr
    assert mercer.io.read(tmp_path / "p").recipe.left_out == {"id": "id"}
    assert "'id'" in refused("fit", folder / "iris.csv", "-o", tmp_path / "q", "--strict")
    clean = frame(done("denoise", tmp_path / "o", folder / "iris.csv"))
    assert set(clean["species"]) <= {"setosa", "versicolor", "virginica"}


def test_rows_with_gaps(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"])
    table.loc[4, "b"] = None
    table.insert(0, "id", range(30))
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ["--columns", "a,b", "-q", 2]
    assert "line 6, column 'b'" in refused("fit", tmp_path / "t.csv", "-o", tmp_path / "m", *options)
    told = done("fit", tmp_path / "t.csv", "-o", tmp_path / "drop", "--missing", "drop", *options)
    assert "1 row with empty cells" in told.stderr
    scores = frame(done("transform", tmp_path / "drop", tmp_path / "t.csv", "--keep", "id"))
    assert scores["id"].tolist() == [i for i in range(30) if i != 4]
    done("fit", tmp_path / "t.csv", "-o", tmp_path / "mean", "--missing", "mean", *options)
    assert len(frame(done("transform", tmp_path / "mean", tmp_path / "t.csv"))) == 30


def test_gaps_are_filled_by_the_imputer_of_python(flowers, tmp_path):
    X = flowers[0][::4].copy()
    X[5, 2] = np.nan
    pd.DataFrame(X, columns=list("abcd")).to_csv(tmp_path / "t.csv", index=False)
    options = ["--missing", "impute", "--seed", 0, "-q", 3]
    done("fit", tmp_path / "t.csv", "-o", tmp_path / "m", *options)
    found = frame(done("transform", tmp_path / "m", tmp_path / "t.csv"))
    steps = [StandardScaler(), mercer.KernelPCAImputer(random_state=0), mercer.KernelPCA(3, kernel=MEDIAN)]
    np.testing.assert_array_equal(found.to_numpy(), make_pipeline(*steps).fit(X).transform(X))


# bad input


@pytest.mark.parametrize("name", BAD)
def test_a_bad_table_is_refused_in_one_line_and_nothing_is_written(name, tmp_path):
    data, words = BAD[name]
    (tmp_path / "t.csv").write_bytes(data)
    line = refused("fit", tmp_path / "t.csv", "-o", tmp_path / "m")
    assert all(word in line for word in words)
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
    assert refused("fit", "-", "-o", tmp_path / "m", input=data).startswith("Error: standard input: ")


@pytest.mark.parametrize(
    "text, words",
    [
        ("a,b\n1,2\n3,x\n4,5\n", ["line 3", "'b'", "'x'"]),
        ("a,b\n1,2\n3,inf\n4,5\n", ["line 3", "'b'", "finite"]),
        ("a,b\n1,2\n3,\n4,5\n", ["line 3", "'b'", "--missing"]),
        (
            "a,b,c\n" + "".join(f"{i % 7},u{i % 30},v{i % 40}\n" for i in range(90)),
            ["'b'", "'c'", "text", "--exclude b,c"],
        ),
        (",".join(f"c{i}" for i in range(100_000)) + "\n" + ",".join("1" * 100_000) + "\n", ["100000 columns"]),
    ],
    ids=["words", "inf", "gap", "categories", "100 000 columns"],
)
def test_a_bad_cell_is_refused_in_one_line_and_nothing_is_written(text, words, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    line = refused("fit", tmp_path / "t.csv", "-o", tmp_path / "m")
    assert all(word in line for word in words), line
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_a_bad_model_file_is_refused_in_one_line(folder, tmp_path):
    data = (folder / "kpca.mercer").read_bytes()
    (tmp_path / "m").write_bytes(data[:-1000])
    for command in (["info"], ["transform"], ["score"]):
        table = [] if command == ["info"] else [folder / "iris.csv"]
        assert "cut short" in refused(*command, tmp_path / "m", *table)


def test_what_the_model_refuses_is_one_line(folder, tmp_path):
    options = ["-o", tmp_path / "m", *NO_SPECIES]
    assert "gamma" in refused("fit", folder / "iris.csv", *options, "--gamma", "-1")
    assert "solver" in refused("fit", folder / "iris.csv", *options, "--solver", "magic")
    assert "n_components" in refused("fit", folder / "iris.csv", *options, "-q", "-1")
    assert list(tmp_path.iterdir()) == []
    assert "there is no column 'x'" in refused("fit", folder / "iris.csv", "-o", tmp_path / "m", "--columns", "x")
    assert "the column 'sl'" in refused("transform", folder / "kpca.mercer", "-", input="a,b\n1,2\n")


def test_warnings_are_lines(tmp_path):
    rows = np.random.default_rng(0).normal(size=(20, 2))
    pd.DataFrame(rows, columns=["a", "b"]).to_csv(tmp_path / "t.csv", index=False)
    result = done("fit", tmp_path / "t.csv", "-o", tmp_path / "m", "--gamma", 1e6, "-q", 2)
    assert [line for line in result.stderr.splitlines() if line.startswith("Warning: The kernel is too narrow")]


def test_nothing_is_replaced_without_force(folder, tmp_path):
    (tmp_path / "m").write_text("mine")
    assert "--force" in refused("fit", folder / "iris.csv", "-o", tmp_path / "m", *NO_SPECIES)
    (tmp_path / "t.csv").write_text("mine")
    assert "--force" in refused("transform", folder / "kpca.mercer", folder / "iris.csv", "-o", tmp_path / "t.csv")
    assert {path.read_text() for path in tmp_path.iterdir()} == {"mine"}
    done("transform", folder / "kpca.mercer", folder / "iris.csv", "-o", tmp_path / "t.csv", "--force")
    assert len(pd.read_csv(tmp_path / "t.csv")) == 75
    done("fit", folder / "iris.csv", "-o", tmp_path / "m", "--force", *NO_SPECIES)
    assert mercer.io.read(tmp_path / "m").model.n_components_ == 10


# processes


MERCER = [sys.executable, "-c", "from mercer.app.cli import main; main()"]


def test_commands_go_together_through_pipes(folder):
    run_mercer, model = (
        " ".join([sys.executable, "-c", "'from mercer.app.cli import main; main()'"]),
        folder / "kpca.mercer",
    )
    line = f"{run_mercer} transform {model} - < {folder}/iris.csv | {run_mercer} inverse {model} - --to tsv"
    told = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, check=True)
    scores = done("transform", model, folder / "iris.csv").stdout
    assert told.stdout == done("inverse", model, "-", "--to", "tsv", input=scores).stdout
    assert told.stderr == ""


def test_a_closed_pipe_ends_a_command_in_one_line(folder, tmp_path):
    np.save(tmp_path / "many.npy", np.tile(np.load(folder / "iris.npy"), (500, 1)))
    command = [*MERCER, "transform", str(folder / "kpca.mercer"), str(tmp_path / "many.npy")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read().count("\n") == 1
    assert process.returncode == 128 + signal.SIGPIPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_one_line(folder, unbuffered):
    transform = [*MERCER, "transform", str(folder / "kpca.mercer"), str(folder / "iris.csv")]
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    for output in (["-o", "/dev/full", "--to", "csv"], [], None):
        command = [*MERCER, "info", str(folder / "kpca.mercer")] if output is None else [*transform, *output]
        with open("/dev/full", "wb") as full:
            stdout = subprocess.PIPE if output else full
            told = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, env=environment)
        assert told.returncode == 2
        assert told.stderr.splitlines() == [
            f"Error: {'/dev/full' if output else 'standard output'}: No space left on device"
        ]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_no_part_of_the_output_is_lost_in_silence(folder, tmp_path, unbuffered):
    """A pipe takes 64 kB at once; without a buffer of Python's, a write may end there."""
    rows, environment = str(tmp_path / "rows.npy"), os.environ | {"PYTHONUNBUFFERED": unbuffered}
    np.save(rows, np.random.default_rng(0).normal(size=(20_000, 4)))
    command = [*MERCER, "transform", str(folder / "kpca.mercer"), rows, "--to", "npy"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        process.stdout.read(10)
        process.stdout.close()
        assert b"closed by its reader" in process.stderr.read()
    assert process.returncode == 141


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
def test_closed_streams_are_no_traceback(folder, tmp_path):
    command = shlex.join([*MERCER, "transform", str(folder / "kpca.mercer"), str(folder / "iris.csv")])
    told = subprocess.run(["bash", "-c", f"{command} >&-"], capture_output=True, text=True)
    assert told.returncode == 2
    assert told.stderr == "Error: Standard output is closed. Pass the name of a file to -o.\n"
    path = tmp_path / "out.csv"
    assert subprocess.run(["bash", "-c", f"{command} -o {path} 2>&-"], check=False).returncode == 0
    assert path.exists()


def test_a_full_disk_leaves_the_old_model(folder, tmp_path):
    (tmp_path / "m").write_text("old")
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))"
    limit += "; from mercer.app.cli import main; main()"
    command = ["fit", str(folder / "iris.csv"), "-o", str(tmp_path / "m"), "--force", "--exclude", "id,species"]
    told = subprocess.run([sys.executable, "-c", limit, *command], capture_output=True, text=True, check=False)
    assert told.returncode == 2
    assert told.stderr.splitlines()[-1].endswith("File too large")
    assert (tmp_path / "m").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_ctrl_c_is_answered_with_the_code_of_the_shell(folder):
    """The command waits for its standard input when the signal comes."""
    command = [*MERCER, "transform", str(folder / "kpca.mercer"), "-"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        process.stdin.write("a,b\n")
        process.stdin.flush()
        status = Path(f"/proc/{process.pid}/wchan")
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and "pipe" not in status.read_text():
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert (out, err) == ("", "Interrupted.\n")


def test_an_interruption_exits_as_the_shell_expects(monkeypatch, tmp_path):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.app.demo.make", interrupted)
    assert run("demo", "-o", tmp_path / "new").exit_code == 130


def test_progress_is_shown_on_a_terminal_alone(folder, tmp_path, monkeypatch):
    from time import sleep

    from mercer._core.tiles import followed, map_rows
    from mercer.app.cli import options

    assert "#" not in done("fit", folder / "iris.csv", "-o", tmp_path / "m", *NO_SPECIES).stderr
    shown = io.StringIO()
    shown.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", shown)
    with options.progress():
        map_rows(lambda x: x, np.ones((1000, 1)), width=1)
        for _ in followed("rows", [0.2, 0.2]):
            sleep(0.2)
    assert "100%" in shown.getvalue()


# the demo


def foreign(folder):
    (folder / "thesis.txt").write_text("mine")
    return folder


def page_of_another(folder):
    (folder / "index.html").write_text("<p>mine")
    return folder


def plain_file(folder):
    path = folder / "report"
    path.write_text("mine")
    return path


def under_a_file(folder):
    return plain_file(folder) / "deeper"


@pytest.mark.parametrize("place", [foreign, page_of_another, plain_file, under_a_file])
def test_a_place_that_is_not_the_demos_is_refused_in_one_line_and_left_alone(place, tmp_path):
    output = place(tmp_path)
    before = {path: path.read_text() for path in tmp_path.iterdir()}
    refused("demo", "-o", output)
    assert {path: path.read_text() for path in tmp_path.iterdir()} == before


WITHOUT_MATPLOTLIB = """
import sys
sys.modules["matplotlib"] = None
from mercer.app.cli import main
main(["demo", "-o", sys.argv[1]])
"""


def test_without_matplotlib_the_demo_names_what_to_install(tmp_path):
    command = [sys.executable, "-c", WITHOUT_MATPLOTLIB, str(tmp_path / "new")]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 2
    assert len(told.stderr.splitlines()) == 1
    assert told.stderr.endswith("pip install 'mercer[plots]'\n")
    assert not (tmp_path / "new").exists()


def test_info_reads_the_manifest_alone(folder, tmp_path):
    """A description takes a fraction of a second: neither NumPy nor scikit-learn is imported."""
    code = "import sys; from mercer.app.cli import main\ntry: main(sys.argv[1:])\nexcept SystemExit: pass\n"
    code += "print(sorted({'numpy', 'sklearn', 'scipy'} & set(sys.modules)))"
    command = [sys.executable, "-c", code, "info", str(folder / "kpca.mercer")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "variance" in text
    assert text.splitlines()[-1] == "[]"


def test_a_false_description_is_refused_in_one_line(folder, tmp_path):
    from mercer.io.archive import Archive, write

    archive = Archive(folder / "kpca.mercer")
    for about in ({"explained_variance_ratio": "many"}, {"table": 3}, {"solver": []}):
        write(tmp_path / "false.mercer", archive.manifest | {"about": about, "arrays": {}}, {})
        result = run("info", tmp_path / "false.mercer")
        assert result.exit_code == 2
        assert "damaged" in result.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_installed(shell, tmp_path, monkeypatch):
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    script = done("completion", shell, "--show").stdout
    assert "_MERCER_COMPLETE" in script
    path = json.loads(done("completion", shell, "--json").stdout)["output"]
    assert path.startswith(str(tmp_path))
    assert Path(path).read_text().strip() == script.strip()


def test_every_command_shows_two_examples_and_has_json():
    for name, command in main.commands.items():
        assert (command.epilog or "").count(f"mercer {name}") >= 2, name
        assert any(option.name == "json" for option in command.params), name


def test_auto_fits_what_select_chooses(folder, tmp_path):
    lines = (folder / "iris.csv").read_text().splitlines(keepends=True)
    (tmp_path / "few.csv").write_text("".join([lines[0], *lines[1::4]]))
    options = (tmp_path / "few.csv", "--exclude", "species", "--time-limit", 600)
    told = json.loads(done("select", *options, "--json").stdout)
    assert any("linear" in row["candidate"] for row in told["table"])
    assert told["explanation"]
    fitted = ("fit", *options, "-o", tmp_path / "m", "--auto")
    assert told["explanation"].split(":")[0] in done(*fitted).stderr
    linear = "Linear()" in json.loads(done("info", tmp_path / "m", "--json").stdout)["kernel"]
    assert linear == told["linear"]
    refused = run(*fitted, "--gamma", 1, "--force")
    assert refused.exit_code == 2
    assert "leave them out" in refused.stderr


def test_column_names_may_be_given_one_by_one_and_are_repeated_in_the_advice(folder: Path) -> None:
    """Options of names add up, and ``select`` prints the whole command that fits its winner."""
    apart = ("--exclude", "species", "--exclude", "sw", "--time-limit", 0.01, "--seed", 3)
    advice = done("select", folder / "iris.csv", *apart).stdout.splitlines()[-1]
    words = shlex.split(advice.removeprefix("To fit it: "))
    assert words[:2] == ["mercer", "fit"]
    assert words[5:] == ["--auto", "--exclude", "species,sw", "--time-limit", "0.01", "--seed", "3"]


@pytest.mark.parametrize(
    ("command", "model", "name"), [("transform", "kpca", "kernelpca1"), ("predict", "classifier", "prediction")]
)
def test_names_that_would_collide_are_refused_before_any_work(command, model, name, folder, tmp_path):
    text = (folder / "iris.csv").read_text()
    (tmp_path / "t.csv").write_text(text.replace("id,", f"{name},", 1))
    result = run(command, folder / f"{model}.mercer", tmp_path / "t.csv", "--keep", name, "-o", tmp_path / "out.csv")
    assert result.exit_code == 2
    assert f"two columns named {name!r}" in result.stderr
    assert not (tmp_path / "out.csv").exists()


def test_feather_is_read_and_other_formats_are_refused_by_name(folder, tmp_path):
    pytest.importorskip("pyarrow")
    pd.read_csv(folder / "iris.csv").to_feather(tmp_path / "iris.feather")
    both = [
        frame(done("transform", folder / "kpca.mercer", path))
        for path in (folder / "iris.csv", tmp_path / "iris.feather")
    ]
    pd.testing.assert_frame_equal(*both)
    for name in ("t.xlsx", "t.json"):
        (tmp_path / name).write_bytes(b"PK\3\4")
        result = run("fit", tmp_path / name, "-o", tmp_path / "m")
        assert (result.exit_code, "are not read" in result.stderr) == (2, True)


def test_settings_of_supervised_models_are_not_compared_without_their_target(tmp_path):
    X, y = load_iris(return_X_y=True)
    pd.DataFrame(X).assign(kind=y.astype(str)).to_csv(tmp_path / "data.csv", index=False)
    options = ("--model", "supervised", "--target", "kind")
    for command in (("select",), ("fit", "-o", tmp_path / "m.mercer", "--auto")):
        assert "ignores the target" in refused(command[0], tmp_path / "data.csv", *command[1:], *options)
    assert not (tmp_path / "m.mercer").exists()
