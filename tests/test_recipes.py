"""The command and the Python that a model file prints make the same model again."""

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from test_cli import done

import mercer
from mercer.app import recipes
from mercer.io import read
from mercer.kernels import RBF

MODELS = {
    "kpca": ["-q", 4],
    "share": ["-q", 0.9, "--kernel", "poly", "--degree", 2, "--seed", 3],
    "all": ["-q", "all", "--kernel", "matern", "--nu", 2.5, "--gamma", 0.3, "--no-scale", "--missing", "drop"],
    "landmarks": ["--solver", "landmarks", "--preimage", "gradient", "--categorical", "one-hot", "--include", "id"],
    "sparse": ["--model", "sparse", "--anchors", 10],
    "probabilistic": ["--model", "probabilistic", "-q", 3, "--gamma", "scale", "--noise-variance", 0.01],
    "mixture": ["--model", "mixture", "--clusters", 3, "--missing", "mean"],
    "classifier": ["--model", "classifier", "--target", "a kind, or none", "--noise-ratio", 0.02],
    "supervised": ["--model", "supervised", "--target", "a kind, or none", "--supervision", 0.5],
    "supervised by numbers": ["--model", "supervised", "--target", "pl", "-q", 2],
    "monitor": ["--model", "monitor", "--alpha", 0.05],
    "monitor of": ["--model", "monitor", "-q", 3, "--kernel", "linear", "--columns", "x y,pl,pw"],
    "impute": ["-q", 3, "--missing", "impute"],
}
NUMBERS = ("transform", "predict_proba", "score_samples")


@pytest.fixture
def table(tmp_path, monkeypatch):
    flowers = load_iris()
    frame = pd.DataFrame(flowers.data[::3], columns=["x y", "sw", "pl", "pw"])
    frame["flag"] = frame["sw"] > 3
    frame["a kind, or none"] = flowers.target_names[flowers.target[::3]]
    frame.insert(0, "id", np.arange(1, len(frame) + 1))
    frame.to_csv(tmp_path / "my flowers.csv", index=False, sep=";")
    frame.loc[3, "pl"] = np.nan
    frame.to_csv(tmp_path / "gaps.csv", index=False, sep=";")
    frame.loc[3, "pl"] = 1.4
    monkeypatch.chdir(tmp_path)
    return frame


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", MODELS)
def test_the_command_and_the_python_make_the_model_again(name, table):
    data = "gaps.csv" if "--missing" in MODELS[name] else "my flowers.csv"
    done("fit", data, "-o", "first.mercer", "--delimiter", ";", *MODELS[name])
    told = done("info", "first.mercer", "--recipe").stdout
    command, _, code = told.partition("\n")
    assert command.startswith(f"mercer fit {shlex.quote(data)} -o first.mercer")
    first = (mercer.io.read("first.mercer"), Path("first.mercer").read_bytes())
    done(*shlex.split(command)[1:], "--force")
    assert Path("first.mercer").read_bytes() == first[1]
    made = {}
    exec(code, made)
    np.testing.assert_array_equal(made["recipe"].rows(made["table"]), first[0].recipe.rows(made["table"]))
    X = made["X"]
    for method in NUMBERS:
        if hasattr(first[0].model, method):
            numbers = [getattr(model, method)(X) for model in (made["model"], first[0].model)]
            np.testing.assert_allclose(*numbers, rtol=1e-8, atol=1e-8)


def test_the_file_knows_where_it_is_from(table):
    done("fit", "gaps.csv", "-o", "m", "--delimiter", ";", "--missing", "drop")
    text = done("info", "m").stdout
    assert "data            gaps.csv, 50 rows, sha256 " in text
    assert "left out        id (id)" in text
    assert read("m").recipe.fingerprint != ""


def test_training_rows_are_recognised(table):
    done("fit", "my flowers.csv", "-o", "m", "--delimiter", ";", *MODELS["classifier"])
    told = done("predict", "m", "my flowers.csv", "--delimiter", ";").stderr
    assert "Training accuracy" in told
    table.drop(columns="a kind, or none").iloc[::2].to_csv("new.csv", index=False, sep=";")
    assert "raining" not in done("predict", "m", "new.csv", "--delimiter", ";").stderr


def test_models_that_the_command_line_cannot_make():
    X = load_iris().data
    model = mercer.KernelPCA(2, kernel=RBF(lengthscale=np.ones(4)), random_state=0).fit(X)
    assert recipes.command(model, None) is None
    assert recipes.lines(model, None).startswith("#")
    made = {"X": X, "array": np.array}
    exec(recipes.python(model, None), made)
    np.testing.assert_array_equal(made["model"].transform(X), model.transform(X))
