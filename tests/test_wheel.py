"""A new user's first hour: a clean virtual environment, the wheel, a CSV with a header, and every command.

It takes a minute or two and asks pip for the dependencies: MERCER_WHEEL=1 python -m pytest tests/test_wheel.py
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(
    not os.environ.get("MERCER_WHEEL"), reason="set MERCER_WHEEL=1: it builds a wheel and a virtual environment"
)

TABLE = """
import csv
from sklearn.datasets import load_iris
flowers = load_iris()
with open("data.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["id", "sepal length", "sepal width", "petal length", "petal width", "species"])
    for i, (row, kind) in enumerate(zip(flowers.data.tolist(), flowers.target)):
        writer.writerow([i, *row, flowers.target_names[kind]])
"""

# what the commands wrote, beside what the Python API computes
CHECK = """
import csv, numpy as np, mercer
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler
from mercer.kernels import RBF

def written(path):
    with open(path, newline="") as file:
        names, *rows = csv.reader(file)
    return np.array(rows, float)

X = load_iris().data
scaler = StandardScaler().fit(X)
Z = scaler.transform(X)
model = mercer.ProbabilisticKernelPCA(4, kernel=RBF(gamma="median"), random_state=0).fit(Z)
Y = model.transform(Z)
assert np.array_equal(written("t.csv"), Y)
assert np.array_equal(written("t_pipe.csv"), Y)
np.testing.assert_allclose(written("back.csv"), scaler.inverse_transform(model.inverse_transform(Y)), rtol=1e-14)
np.testing.assert_allclose(written("clean.csv"), scaler.inverse_transform(model.denoise(Z)), rtol=1e-14)
assert np.array_equal(written("scores.csv")[:, 0], model.score_samples(Z))
sample = model.set_params(random_state=1).sample(20)[0]
np.testing.assert_allclose(written("new.csv"), scaler.inverse_transform(sample), rtol=1e-14)
small = mercer.compress(model.set_params(random_state=0), 20)
np.testing.assert_allclose(written("t_small.csv"), small.transform(Z), rtol=1e-12, atol=1e-12)
print("equal")
"""

STEPS = """
mercer --version
mercer fit data.csv -o model.mercer --model probabilistic -q 4 --seed 0 --exclude id,species
mercer info model.mercer
mercer transform model.mercer data.csv -o t.csv
mercer inverse model.mercer t.csv -o back.csv
mercer denoise model.mercer data.csv -o clean.csv
mercer score model.mercer data.csv -o scores.csv
mercer sample model.mercer -n 20 --seed 1 -o new.csv
mercer compress model.mercer -m 20 -o small.mercer
mercer report model.mercer data.csv -o report.html
mercer transform small.mercer data.csv -o t_small.csv
mercer transform model.mercer data.csv -o t.parquet
cat data.csv | mercer fit - -o piped.mercer --model probabilistic -q 4 --seed 0 --exclude id,species
cmp model.mercer piped.mercer
cat data.csv | mercer transform model.mercer - > t_pipe.csv
cat t_pipe.csv | mercer inverse model.mercer - | cmp - back.csv
cat data.csv | mercer denoise model.mercer - | cmp - clean.csv
cat data.csv | mercer score model.mercer - | cmp - scores.csv
mercer sample model.mercer -n 20 --seed 1 | cmp - new.csv
mercer transform model.mercer t.parquet && exit 1
mercer inverse model.mercer t.parquet | cmp - back.csv
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The folder of programs of a virtual environment that has the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    python = [sys.executable, "-m"]
    run([*python, "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)], folder)
    run([*python, "venv", str(folder / "venv")], folder)
    (wheel,) = folder.glob("mercer-*.whl")
    run([str(folder / "venv" / "bin" / "pip"), "install", "-q", f"{wheel}[tables,plots]"], folder)
    return folder / "venv" / "bin"


def run(command, folder, **options):
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "MERCER"))}
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, env=clean | options)


def test_from_a_table_to_answers(environment, tmp_path):
    run([str(environment / "python"), "-c", TABLE], tmp_path)
    path = f"{environment}:{os.environ['PATH']}"
    steps = ["set -e -o pipefail", *(f"{step} # step" for step in STEPS.strip().splitlines())]
    told = run(["bash", "-c", "\n".join(steps)], tmp_path, PATH=path)
    assert "mean 0 and variance 1" in told.stderr
    assert run([str(environment / "python"), "-c", CHECK], tmp_path).stdout == "equal\n"


def test_the_wheel_has_no_tests_and_no_data(environment):
    told = run([str(environment / "python"), "-c", "import mercer; print(mercer.__file__)"], environment)
    files = [path for path in Path(told.stdout.strip()).parent.rglob("*") if path.suffix in {".npz", ".mercer"}]
    assert "site-packages" in told.stdout
    assert files == []
