"""Model files: what is saved comes back to the last bit, and no file can do harm."""

import dataclasses
import io
import json
import os
import pickle
import pkgutil
import re
import struct
import subprocess
import sys
import time
import warnings
import zipfile
from contextlib import nullcontext
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn.gaussian_process.kernels as gp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import dropin, kernels, preimage
from mercer._core import atomic, npy, registry
from mercer._core.registry import file_class as class_of
from mercer._core.registry import file_name as name_of
from mercer.io import CLASSES, FORMAT, TRUSTED_TYPES, ModelFileError, Unstorable, archive
from mercer.io.decode import Source, decode
from mercer.io.encode import encode
from mercer.kernels import RBF, Linear, Normalized, OnColumns, Polynomial, Spectrum
from mercer.models.base import CACHES
from mercer.rkhs.landmarks import Landmarks

DATA = Path(__file__).parent / "data"
METHODS = [
    "transform",
    "reconstruction_error",
    "score_samples",
    "predict",
    "predict_proba",
    "decision_function",
    "t2",
    "spe",
]
pytestmark = pytest.mark.filterwarnings("ignore:The kernel matrix is indefinite:UserWarning")


@pytest.fixture(scope="module")
def rows():
    """Eighty rows in two clusters, and the cluster of each."""
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(size=(40, 3)), rng.normal(size=(40, 3)) + 2]), np.repeat(["a", "b"], 40)


G = RBF(gamma=0.2)
MODELS = [
    mercer.KernelPCA(),
    mercer.KernelPCA(0.9, kernel=RBF(gamma="median"), center=False),
    mercer.KernelPCA(2, kernel=RBF(lengthscale=[1.0, 2.0, 3.0])),
    *(
        mercer.KernelPCA(2, kernel=name)
        for name in registry.KERNELS
        if name not in {"precomputed", "chi2"} and registry.KERNELS[name].rows == "numbers"
    ),
    *(mercer.KernelPCA(2, kernel=G, solver=name, random_state=0) for name in registry.SOLVERS),
    *(mercer.KernelPCA(2, kernel=G, preimage=name) for name in registry.PREIMAGES),
    mercer.KernelPCA(2, solver=Landmarks(20), random_state=np.random.RandomState(3)),
    mercer.KernelPCA(2, solver=Landmarks(choose=np.arange(0, 80, 4))),
    mercer.KernelPCA(2, kernel=RBF("median") + 2.0 * Linear() * OnColumns(RBF(0.3), slice(0, 2))),
    mercer.KernelPCA(2, kernel=Normalized(Polynomial(2, coef0=np.float32(1)))),
    mercer.KernelPCA(2, kernel=1.0 * gp.RBF(2.0) + gp.WhiteKernel(0.1)),
    mercer.KernelPCA(2, preimage=preimage.Learned(kernel=RBF(1.0))),
    dropin.KernelPCA(2, kernel="rbf", fit_inverse_transform=True),
    mercer.SparseKernelPCA(kernel=G),
    mercer.ProbabilisticKernelPCA(3, kernel=G),
    mercer.ProbabilisticKernelPCA(3, kernel=G, solver="em"),
    mercer.KernelPCAMixture(2, 2, kernel=G, random_state=0),
    mercer.KernelPCAClassifier(kernel=G),
    mercer.KernelPCAClassifier(kernel=G, shrinkage=0.1),
    mercer.KernelPCAClassifierCV([G], cv=StratifiedKFold(2, shuffle=True, random_state=0)),
    mercer.KernelPCAClassifier(mercer.KernelPCAMixture(2, 2, kernel=G, random_state=0), kernel=G),
    mercer.KernelPCAImputer(2, kernel=G, n_starts=1, random_state=0),
    mercer.KernelPCAMonitor(random_state=0),
    mercer.KernelPCAMonitor(mercer.KernelPCA(3, kernel=G), random_state=0),
    mercer.KernelPCAMonitor(make_pipeline(StandardScaler(), mercer.KernelPCA(3, kernel=G)), random_state=0),
]


def fitted(model, rows):
    """A fitted copy; copies by pickle keep parameters that ``clone`` would draw anew."""
    return pickle.loads(pickle.dumps(model)).fit(*rows)


def results(model, X):
    """What a model computes; pre-images of a few rows, where the kernel makes them quick."""
    found = {name: np.asarray(getattr(model, name)(X)) for name in METHODS if hasattr(model, name)}
    if hasattr(model, "denoise") and isinstance(getattr(model, "kernel_", None), RBF):
        found["denoise"] = model.denoise(X[:3])
    return found


def assert_results(model, expected, X):
    found = results(model, X)
    assert found.keys() == expected.keys()
    for name, values in found.items():
        np.testing.assert_array_equal(values, expected[name], err_msg=name)


def assert_same(mine, theirs, where=""):
    """Equal values of equal types, all the way down."""
    assert type(mine) is type(theirs), where
    if isinstance(mine, np.ndarray):
        assert mine.dtype == theirs.dtype, where
        assert mine.flags.f_contiguous == theirs.flags.f_contiguous, where
        np.testing.assert_array_equal(mine, theirs, err_msg=where)
    elif scipy.sparse.issparse(mine):
        assert (mine != theirs).nnz == 0, where
    elif isinstance(mine, list | tuple):
        assert len(mine) == len(theirs)
        for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            assert_same(a, b, f"{where}[{i}]")
    elif isinstance(mine, np.random.RandomState):
        assert_same(mine.get_state(), theirs.get_state(), where)
    elif isinstance(mine, dict) or hasattr(mine, "__dict__"):
        a, b = ({**(x if isinstance(x, dict) else x.__getstate__() or {})} for x in (mine, theirs))
        assert a.keys() == b.keys(), where
        for key in a:
            assert_same(a[key], b[key], f"{where}.{key}")
    else:
        assert mine == theirs or mine != mine, where


def named(model):
    """A name without addresses, which differ between the processes that share the tests."""
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(model))


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_a_model_comes_back_to_the_last_bit(model, rows, tmp_path):
    model = fitted(model, rows)
    before = results(model, rows[0])
    mercer.save(model, tmp_path / "a.mercer")
    back = mercer.load(tmp_path / "a.mercer")
    assert_same({k: v for k, v in vars(model).items() if k not in CACHES}, vars(back), type(model).__name__)
    assert_results(back, before, rows[0])
    mercer.save(back, tmp_path / "b.mercer")
    assert (tmp_path / "a.mercer").read_bytes() == (tmp_path / "b.mercer").read_bytes()


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_pickle_keeps_a_model_too(model, rows):
    model = fitted(model, rows)
    back = pickle.loads(pickle.dumps(model))
    assert_results(back, results(model, rows[0]), rows[0])


@pytest.mark.parametrize("model", MODELS, ids=named)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_skops_keeps_a_model_too(model, rows):
    skops = pytest.importorskip("skops.io")
    model = fitted(model, rows)
    data = skops.dumps(model)
    foreign = set(skops.get_untrusted_types(data=data)) - set(TRUSTED_TYPES)
    assert not foreign
    back = skops.loads(data, trusted=TRUSTED_TYPES)
    assert_results(back, results(model, rows[0]), rows[0])


def test_other_kinds_of_rows(rows, tmp_path):
    X = rows[0]
    K = RBF(0.3)(X, X)
    for model, data in [
        (mercer.KernelPCA(2, kernel="precomputed"), K),
        (mercer.KernelPCA(2, kernel=kernels.Precomputed(diag=1.0)), K),
        (mercer.KernelPCA(2), scipy.sparse.csr_matrix(np.maximum(X, 0))),
        (mercer.KernelPCA(2), scipy.sparse.csr_array(np.maximum(X, 0))),
        (mercer.KernelPCA(2, kernel="chi2"), np.abs(X)),
        (mercer.KernelPCA(2), X.astype(np.float32)),
        (mercer.KernelPCA(2), np.asfortranarray(X)),
        (mercer.KernelPCA(), np.ones((5, 2))),
    ]:
        if data.shape == (5, 2):
            with pytest.warns(UserWarning, match="constant"):
                model.fit(data)
        else:
            model.fit(data)
        mercer.save(model, tmp_path / "m")
        back = mercer.load(tmp_path / "m")
        assert_same(model.transform(data), back.transform(data))
        assert_same(model.reconstruction_error(data), back.reconstruction_error(data))


def test_a_compressed_model_and_an_unfitted_one(rows, tmp_path):
    small = mercer.compress(mercer.KernelPCA(3, kernel=G).fit(rows[0]), 12)
    mercer.save(small, tmp_path / "small")
    assert_same(vars(small), vars(mercer.load(tmp_path / "small")))
    plain = mercer.KernelPCA(3, kernel=G)
    mercer.save(plain, tmp_path / "plain")
    assert repr(mercer.load(tmp_path / "plain")) == repr(plain)


def test_names_of_columns_output_settings_and_versions_are_kept(rows, tmp_path):
    frame = pd.DataFrame(rows[0], columns=["α", 'b "quoted"', "c\n"])
    model = mercer.KernelPCA(2).set_output(transform="pandas").fit(frame)
    mercer.save(model, tmp_path / "m")
    file = mercer.io.read(tmp_path / "m")
    assert list(file.model.feature_names_in_) == list(frame.columns)
    pd.testing.assert_frame_equal(file.model.transform(frame), model.transform(frame))
    assert file.versions["mercer"] == mercer.__version__
    assert file.versions["numpy"] == np.__version__
    assert file.recipe is None


def test_an_array_that_occurs_twice_is_stored_once(rows, tmp_path):
    X = np.random.default_rng(0).normal(size=(2000, 20))
    model = mercer.KernelPCA(2, kernel=RBF(gamma=0.01)).fit(X)
    mercer.save(model, tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 1.5 * X.nbytes
    back = mercer.load(tmp_path / "m")
    assert back.subspace_.axes.Z is back.subspace_.mean.Z


# what exists in the package must be storable


def imported(name):
    """The module, or an empty one if it needs a library that is an extra."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name.startswith("mercer"):
            raise
        return ModuleType(name)


def classes_of_the_package():
    for module in pkgutil.walk_packages(mercer.__path__, "mercer."):
        if not module.name.endswith(("_native", "__main__")):
            for value in vars(imported(module.name)).values():
                if isinstance(value, type) and value.__module__ == module.name:
                    yield value


def test_every_public_estimator_kernel_solver_and_preimage_is_on_the_list():
    public = [getattr(mercer, name) for name in mercer._HOMES]
    estimators = {value for value in public if isinstance(value, type) and issubclass(value, BaseEstimator)}
    settings = {*registry.SOLVERS.values(), *registry.PREIMAGES.values()}
    every_kernel = {
        cls for cls in classes_of_the_package() if issubclass(cls, kernels.Kernel) and not cls.__abstractmethods__
    }
    private = {cls for cls in every_kernel if cls.__name__.startswith("_") or ".rkhs." in cls.__module__}
    for cls in estimators | settings | (every_kernel - private - {kernels.FromFunction}):
        assert name_of(cls), cls


def test_the_list_names_classes_that_exist():
    assert all(isinstance(class_of(name), type) for name in CLASSES)
    assert all(name_of(class_of(name)) == name for name in CLASSES)


@pytest.mark.parametrize(
    "model",
    [
        mercer.KernelPCA(2, kernel=lambda X, Y: X @ Y.T),
        mercer.KernelPCA(2, kernel=kernels.FromFunction(np.dot)),
        mercer.KernelPCA(2, kernel=RBF(0.1) + kernels.FromFunction(lambda X, Y: X @ Y.T)),
    ],
    ids=["function", "FromFunction", "inside a sum"],
)
def test_a_function_is_refused_with_the_way_out(model, tmp_path):
    with pytest.raises(Unstorable, match="mercer.kernels") as error:
        mercer.save(model, tmp_path / "m")
    assert "KernelPCA.kernel" in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("thing", [StandardScaler(), make_pipeline(mercer.KernelPCA()), RBF(), 5, None])
def test_only_estimators_of_the_package_are_saved(thing, tmp_path):
    with pytest.raises(Unstorable, match="not an estimator of mercer"):
        mercer.save(thing, tmp_path / "m")


def test_a_file_with_a_recipe_says_so(rows, tmp_path):
    from mercer.tables import learn
    from mercer.tables.table import as_table

    recipe = learn(as_table(rows[0]), ["x0", "x1", "x2"])
    mercer.save(mercer.KernelPCA(2).fit(recipe.rows(rows[0])), tmp_path / "m", recipe=recipe)
    with pytest.warns(UserWarning, match="mercer.io.read"):
        mercer.load(tmp_path / "m")
    assert_same(mercer.io.read(tmp_path / "m").recipe, recipe)


# files that were written before


@pytest.mark.parametrize("path", sorted(DATA.glob("*.mercer")), ids=lambda path: path.stem)
def test_kept_files_are_read_for_ever(path):
    with np.load(path.with_suffix(".npz")) as kept:
        file = mercer.io.read(path)
        X = kept["X"]
        names = [name for name in kept.files if name not in {"X", "table"}]
        assert names
        for name in names:
            expected, found = kept[name], np.asarray(getattr(file.model, name)(X))
            if expected.dtype.kind == "U":
                np.testing.assert_array_equal(found.astype(str), expected)
            else:
                np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
        if file.recipe is not None:
            np.testing.assert_allclose(file.recipe.rows(kept["table"]), X, rtol=1e-12)


def places(value, name):
    """The containers of a manifest that hold a value under a name."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    found = [value] if isinstance(value, dict) and name in value else []
    return found + [place for part in parts for place in places(part, name)]


@pytest.mark.parametrize("path", sorted(DATA.glob("*.mercer")), ids=lambda path: path.stem)
def test_the_number_of_columns_is_checked_wherever_it_is_stated(path, tmp_path):
    data, target = path.read_bytes(), tmp_path / "m.mercer"
    count = len(places(json.loads(dict(members_of(data))["manifest.json"])["model"], "n_features_in_"))
    for i in range(count):
        for columns in (2**40, 0):
            change = lambda m, i=i, n=columns: places(m["model"], "n_features_in_")[i].update(n_features_in_=n)  # noqa: E731
            target.write_bytes(with_manifest(data, change))
            with pytest.raises(ModelFileError):
                mercer.load(target)


def test_every_kernel_and_model_has_a_kept_file():
    """`make compatibility` writes those of a version before its release."""
    kept = "".join(zipfile.ZipFile(path).read("manifest.json").decode() for path in DATA.glob("*.mercer"))
    shipped = [cls for kind in (registry.KERNELS, registry.MODELS) for cls in (kind[name] for name in kind)]
    own = [cls for cls in shipped if cls.__module__.startswith("mercer.")]
    names = {name_of(cls) for cls in own if hasattr(sys.modules[cls.__module__], cls.__name__)}  # not of an example
    assert not {name for name in names if f'"made": "{name}"' not in kept and f'"made":"{name}"' not in kept}


# writing


LIMITED = """
import resource, sys, numpy as np, mercer
X = np.random.default_rng(0).normal(size=(400, 50))
model = mercer.KernelPCA(2).fit(X)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    mercer.save(model, sys.argv[1])
except OSError as error:
    print(error.errno)
"""


def test_a_disk_that_fills_up_leaves_the_old_file(rows, tmp_path):
    path = tmp_path / "m"
    mercer.save(mercer.KernelPCA(2).fit(rows[0]), path)
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip().isdigit()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_interruption_leaves_the_old_file(rows, tmp_path, monkeypatch):
    path = tmp_path / "m"
    path.write_text("old")

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.io.archive._digest", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mercer.save(mercer.KernelPCA(2).fit(rows[0]), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_abandoned_temporary_files_are_removed_and_others_stay(rows, tmp_path):
    model = mercer.KernelPCA(2).fit(rows[0])
    abandoned, others = tmp_path / ".m.0123abcd.mercer-tmp", [tmp_path / ".m.0123abcd.tmp", tmp_path / "x.mercer-tmp"]
    for path in (abandoned, *others):
        path.write_text("x")
    with atomic.replacing(tmp_path / "other") as file:
        file.write(b"still being written")
        mercer.save(model, tmp_path / "m")
        assert not abandoned.exists()
        assert len(list(tmp_path.iterdir())) == len(others) + 2
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*(path.name for path in others), "m", "other"])


def test_links_and_permissions_stay_as_they_were(rows, tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    mercer.save(mercer.KernelPCA(2).fit(rows[0]), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640
    assert mercer.load(tmp_path / "real").n_components_ == 2


def test_a_device_is_written_to_and_not_replaced(rows):
    mercer.save(mercer.KernelPCA(2).fit(rows[0]), os.devnull)
    assert not os.path.isfile(os.devnull)


# damaged files


@pytest.fixture(scope="module")
def sound(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("sound") / "m.mercer"
    mercer.save(mercer.KernelPCA(3, kernel=G).fit(rows[0]), path)
    return path.read_bytes()


def refused(data, tmp_path):
    path = tmp_path / "bad.mercer"
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as error:
        mercer.load(path)
    text = str(error.value)
    assert text.startswith(str(path))
    assert "\n" not in text
    return text


def test_a_file_that_was_cut_short_is_refused_wherever_the_cut_is(sound, tmp_path):
    for end in np.linspace(0, len(sound) - 1, 50).astype(int):
        text = refused(sound[:end], tmp_path)
        assert end < 4 or "manifest.json" in text or "arrays/" in text, (end, text)


def test_a_flipped_byte_is_found_wherever_it_is(sound, tmp_path):
    named = 0
    for place in np.linspace(0, len(sound) - 1, 97).astype(int):
        data = bytearray(sound)
        data[place] ^= 1 << (place % 8)
        named += "member" in refused(bytes(data), tmp_path)
    assert named > 90


def test_a_damaged_array_is_named(sound, tmp_path):
    with zipfile.ZipFile(io.BytesIO(sound)) as file:
        info = file.getinfo("arrays/1.npy")
    data = bytearray(sound)
    data[info.header_offset + 30 + len("arrays/1.npy") + info.file_size // 2] ^= 1
    assert "arrays/1.npy" in refused(bytes(data), tmp_path)


def test_bytes_behind_the_end_are_found(sound, tmp_path):
    refused(sound + b"\0", tmp_path)
    refused(sound + sound, tmp_path)


# hostile files


class Bomb:
    """A pickle that leaves a mark where it is opened."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def sealed(members, compression=zipfile.ZIP_STORED):
    """A zip of members (name, bytes) with the digest of a model file at its end."""
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", compression) as archive_:
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, data in members:
            archive_.writestr(name, data)
        archive_.comment = archive.SEAL + b"0" * archive.DIGEST
    return seal_again(file.getvalue())


def seal_again(data):
    body = data[: -archive.DIGEST]
    return body + sha256(body).hexdigest().encode()


def members_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return [(name, file.read(name)) for name in file.namelist()]


def with_manifest(data, change, arrays=()):
    """The file with another manifest, and more arrays, numbered from 90."""
    members = members_of(data)
    manifest = json.loads(members[0][1])
    change(manifest)
    more = [(f"arrays/{i}.npy", saved(array)) for i, array in enumerate(arrays, 90)]
    manifest["arrays"] |= {name: sha256(content).hexdigest() for name, content in more}
    return sealed([("manifest.json", json.dumps(manifest)), *members[1:], *more])


def with_array(data, content):
    """The file with another content of its first array, and the right sha256 of it."""
    members = dict(members_of(data))
    manifest = json.loads(members["manifest.json"])
    manifest["arrays"]["arrays/0.npy"] = sha256(content).hexdigest()
    return sealed((members | {"manifest.json": json.dumps(manifest), "arrays/0.npy": content}).items())


def saved(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def header(text):
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def setting(*path, to):
    """A change of one value of a manifest."""

    def change(manifest):
        for key in path[:-1]:
            manifest = manifest[key]
        manifest[path[-1]] = to

    return change


def nested(depth):
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


def parameter(value):
    return setting("model", "params", "kernel", to=value)


def tables(depth):
    """Tables as cells of tables, around a long text."""
    value: object = "x" * 10**6
    for _ in range(depth):
        value = {"columns": [[value]], "rows": 1}
    return value


PRIME = 2**61 - 1  # Python's hash of an integer is its remainder by it
SCALAR = {"scalar": "<f8", "value": {"array": "arrays/90.npy"}}
STATE = ("model", "state")
SUBSPACE = (*STATE, "subspace_", "params")
AXES = (*SUBSPACE, "axes", "params")
ESTIMATOR = {"made": "models.KernelPCA", "params": {}, "state": {}}
PIPELINE = {"made": "sklearn.Pipeline", "params": {"steps": []}, "state": {"memory": "/tmp/pickles"}}
WIDE = [np.ones(30_000), np.arange(30_000, dtype=np.int16), np.array([0, 30_000], np.int16)]  # SciPy converts them


def variances(number):
    """A change of the variances to the array that is added with this number."""
    return setting(*SUBSPACE, "variances", "array", to=f"arrays/{90 + number}.npy")


def hostile(sound, mark):
    """Name → (bytes of a file, words of the error that it must give)."""
    members = members_of(sound)
    bomb = pickle.dumps(Bomb(mark))
    wild = [np.ones(1), np.array([10**6]), np.array([0, 1])]  # one entry, in a column far outside
    parts = {part: {"array": f"arrays/{90 + i}.npy"} for i, part in enumerate(("data", "indices", "indptr"))}
    sparse = {"sparse": "csr_matrix", "shape": [1, 1], **parts}
    state = {"tuple": ["MT19937", {"array": "arrays/0.npy"}, 10**6, 0, 0.0]}
    lying = bytearray(sealed(members))
    directory = lying.index(b"PK\1\2")
    lying[directory + 20 : directory + 28] = struct.pack("<II", 2**31, 2**31)
    later, odd = (with_manifest(sound, setting("versions", "mercer", to=writer)) for writer in ("7.3.0", "9; rm"))
    return {
        "a pickle": (bomb, "pickle"),
        "a pickle beside": (sealed([*members, ("model.pkl", bomb)]), "model.pkl"),
        "a pickle as array": (with_array(sound, bomb), "arrays/0.npy"),
        "objects": (with_array(sound, saved(np.array([Bomb(mark)], dtype=object))), "arrays/0.npy"),
        "records": (with_array(sound, saved(np.zeros(2, [("a", "f8")]))), "arrays/0.npy"),
        "a lying header": (
            with_array(sound, header("{'descr':'<f8','fortran_order':False,'shape':(1000000000000,)}") + b"0" * 64),
            "arrays/0.npy",
        ),
        "a negative shape": (
            with_array(sound, header("{'descr':'<f8','fortran_order':False,'shape':(-1, -1)}") + b"0" * 8),
            "arrays/0.npy",
        ),
        "a header of code": (with_array(sound, header(f"__import__('os').mkdir({str(mark)!r})")), "arrays/0.npy"),
        "a deep header": (with_array(sound, header("(" * 5000)), "arrays/0.npy"),
        "another array": (with_array(sound, saved(np.zeros((3, 3)))), "shape (80, 3)"),
        "a bomb": (sealed([*members, ("arrays/99.npy", bytes(2**26))], zipfile.ZIP_DEFLATED), "compressed"),
        "a lying size": (seal_again(bytes(lying)), "manifest.json"),
        "a way out": (sealed([*members, ("../../etc/passwd", b"x")]), "../../etc/passwd"),
        "an absolute name": (sealed([*members, ("/tmp/x", b"x")]), "/tmp/x"),
        "a member twice": (sealed([*members, members[1]]), "twice"),
        "a member too many": (sealed([*members, ("arrays/77.npy", members[1][1])]), "arrays/77.npy"),
        "a member too few": (sealed(members[:-1]), members[-1][0]),
        "no manifest": (sealed(members[1:]), "manifest.json"),
        "many members": (sealed([(f"arrays/{i}.npy", b"") for i in range(80_000)]), "directory"),
        "a giant manifest": (sealed([("manifest.json", b" " * (archive.MOST_MANIFEST + 1))]), "manifest.json"),
        "many values": (sealed([("manifest.json", b"[" + b"[]," * 3_000_000 + b"[]]")]), "manifest.json"),
        "a deep manifest": (sealed([("manifest.json", b"[" * 500_000)]), "manifest.json"),
        "no JSON": (sealed([("manifest.json", b"\xff\xfe")]), "manifest.json"),
        "another JSON": (sealed([("manifest.json", b"[1, 2]")]), "manifest.json"),
        "an unknown class": (with_manifest(sound, setting("model", "made", to="os.system")), "os.system"),
        "a class by its module": (with_manifest(sound, setting("model", "made", to="subprocess.Popen")), "Popen"),
        "an unknown parameter": (with_manifest(sound, setting("model", "params", "command", to="x")), "command"),
        "a method hidden": (with_manifest(sound, setting(*STATE, "transform", to=1)), "transform"),
        "a dunder": (with_manifest(sound, setting(*STATE, "__class__", to=1)), "__class__"),
        "deep values": (with_manifest(sound, setting("model", "params", "kernel", to=nested(200))), "deep"),
        "an unknown kind": (with_manifest(sound, setting("model", to={"pickle": "x"})), "pickle"),
        "no model": (with_manifest(sound, setting("model", to=5)), "no model"),
        "a recipe that is none": (with_manifest(sound, setting("recipe", to=[1])), "no model"),
        "missing state": (with_manifest(sound, setting("model", to={"made": "models.KernelPCA"})), "cannot"),
        "an unknown array": (with_manifest(sound, setting(*SUBSPACE, "offset", "array", to="x")), "'x'"),
        "wild indices": (with_manifest(sound, setting(*SUBSPACE, "offset", to=sparse), wild), "sparse"),
        "a wild position": (
            with_manifest(sound, setting("model", "params", "random_state", to={"random_state": state})),
            "random",
        ),
        "a newer format": (with_manifest(later, setting("format", to=FORMAT + 1)), "mercer 7.3.0 wrote it"),
        "a newer class": (
            with_manifest(later, setting("model", "made", to="models.New")),
            "pip install 'mercer>=7.3.0'",
        ),
        "a newer format of no version": (
            with_manifest(odd, setting("format", to=FORMAT + 1)),
            "is known: pip install -U mercer",
        ),
        "an odd format": (with_manifest(sound, setting("format", to="1")), "manifest"),
        "a folder of pickles": (with_manifest(sound, setting("model", "params", "kernel", to=PIPELINE)), "memory"),
        "many features": (with_manifest(sound, setting(*STATE, "n_features_in_", to=10**9)), "features"),
        "a class attribute": (with_manifest(sound, setting(*STATE, "kernel_", "state", to={"native_kind": 5})), "kind"),
        "an undeclared attribute": (with_manifest(sound, setting(*STATE, "path_", to="/etc")), "path_"),
        "a missing attribute": (with_manifest(sound, lambda m: m["model"]["state"].pop("kernel_")), "is missing"),
        "a text for an object": (with_manifest(sound, setting(*STATE, "subspace_", to="x")), "not Subspace"),
        "an unknown option": (with_manifest(sound, setting("model", "params", "solver", to="/bin/sh")), "solver"),
        "a wrong count": (with_manifest(sound, setting("model", "params", "n_components", to=-1)), "n_components"),
        "a variance too few": (with_manifest(sound, variances(0), [np.ones(2)]), "shape (2,)"),
        "a negative variance": (with_manifest(sound, variances(0), [-np.ones(3)]), "below 0"),
        "no number": (with_manifest(sound, variances(0), [np.full(3, np.nan)]), "finite"),
        "a negative total": (with_manifest(sound, setting(*SUBSPACE, "total_variance", to=-1.0)), "total_variance"),
        "another kernel": (with_manifest(sound, setting(*AXES, "kernel", "params", "gamma", to="x")), "Expansion"),
        "a long name": (with_manifest(sound, setting("model", "made", to="\x1b\u202e" * 10**6)), "the class"),
        "shared arrays": (
            with_manifest(
                sound, setting("model", "params", "kernel", to=[sparse | {"shape": [1, 30_000]}] * 9000), WIDE
            ),
            "8 times",
        ),
        "empty lists": (sealed([("manifest.json", b"[" + b"[]," * 340_000 + b"[]]")]), "8 times"),
        "keys with one hash": (
            with_manifest(sound, parameter({"dict": [[i * PRIME, 0] for i in range(9000)]})),
            "keys",
        ),
        "members with one hash": (
            with_manifest(
                sound,
                parameter({"sets": [i * PRIME for i in range(9000)], "lengths": {"array": "arrays/90.npy"}}),
                [np.array([9000])],
            ),
            "keys",
        ),
        "arrays as scalars": (
            with_manifest(sound, parameter([SCALAR] * 5000), [np.ones(10**5, np.int8)]),
            "more than one value",
        ),
        "lengths in a matrix": (
            with_manifest(
                sound,
                parameter({"strings": {"array": "arrays/91.npy"}, "lengths": {"array": "arrays/90.npy"}}),
                [np.zeros((10**6, 1), np.int8), np.zeros(0, np.uint8)],
            ),
            "vectors",
        ),
        "texts as a column": (
            with_manifest(
                sound, parameter({"columns": [{"array": "arrays/90.npy"}], "rows": 10**5}), [np.full(10**5, "é")]
            ),
            "vectors",
        ),
        "tables in tables": (with_manifest(sound, parameter(tables(12))), "8 times"),
        "columns without numbers": (with_array(sound, saved(np.empty((0, 10**9)))), "without numbers"),
        "many estimators": (with_manifest(sound, setting("recipe", to=[ESTIMATOR] * 5000)), "estimators"),
        "a plain zip": (sealed([("a.txt", b"x")]), "a.txt"),
        "no zip": (b"PK\3\4" + bytes(200), "cut short"),
        "text": (b"hello", "not a model file"),
        "nothing": (b"", "not a model file"),
    }


OPEN = """
import json, resource, sys
from pathlib import Path
import mercer
mercer.io, mercer.KernelPCA
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 400 * 2**20, used + 400 * 2**20))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
told = {}
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        mercer.load(path)
        told[path.name] = ["loaded", ""]
    except BaseException as error:
        told[path.name] = [type(error).__name__, str(error)]
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
print(json.dumps([told, grown]))
"""


def test_hostile_files_get_one_clear_error_and_no_memory(sound, tmp_path):
    files, mark = tmp_path / "files", tmp_path / "mark"
    files.mkdir()
    cases = hostile(sound, mark)
    for name, (data, _) in cases.items():
        (files / name).write_bytes(data)
    command = [sys.executable, "-c", OPEN, str(files)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told, grown = json.loads(done.stdout)
    for name, (_, words) in cases.items():
        kind, text = told[name]
        assert kind == "ModelFileError", (name, kind, text)
        assert words in text, (name, text)
        assert "\n" not in text
        assert len(text) <= 500
        assert text.isprintable()
    assert not mark.exists()
    assert grown < 200 * 1024  # kilobytes, for all of them


def changed(value, name, change):
    """Apply a change to all stored objects of a class, and return the value."""
    if isinstance(value, dict):
        value = {key: changed(part, name, change) for key, part in value.items()}
        return change(value) if value.get("made") == name else value
    return [changed(part, name, change) for part in value] if isinstance(value, list) else value


def normalized_often(kernel):
    for _ in range(30):
        kernel = {"made": "kernels.Normalized", "params": {"k1": kernel}, "state": {}}
    return kernel


def with_mismatches(kernel):
    return kernel | {"params": kernel["params"] | {"k": 20, "mismatches": 19}}


def positive_often(kernel):
    for _ in range(14):
        kernel = kernel | {"params": kernel["params"] | {"kernel": kernel}}
    return kernel


SLOW = {  # model → the class of its kernel, a change that makes its evaluation endless, and whether the file is refused
    "normalized": (mercer.KernelPCA(2), "kernels.RBF", normalized_often, False),
    "spectrum": (mercer.KernelPCA(2, kernel=Spectrum(3)), "kernels.Spectrum", with_mismatches, False),
    "positive": (mercer.KernelPCA(2, kernel="sigmoid"), "kernels.PositivePart", positive_often, True),
}


@pytest.mark.parametrize("name", SLOW)
def test_no_kernel_makes_reading_endless(name, tmp_path):
    model, kernel, change, refused = SLOW[name]
    texts = ["the quick brown fox", "jumps over the lazy dog", "and runs"]
    path = tmp_path / "m.mercer"
    mercer.save(model.fit(texts if name == "spectrum" else 3 * np.random.default_rng(0).normal(size=(30, 3))), path)
    path.write_bytes(
        with_manifest(
            path.read_bytes(), lambda manifest: manifest.update(model=changed(manifest["model"], kernel, change))
        )
    )
    before = time.thread_time()
    with pytest.raises(ModelFileError) if refused else nullcontext():
        mercer.load(path)
    assert time.thread_time() - before < 5


def test_reading_has_a_time_limit(sound, tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.io.decode.SECONDS", -1e9)
    path = tmp_path / "m.mercer"
    path.write_bytes(sound)
    with pytest.raises(ModelFileError, match="too long"):
        mercer.load(path)


def test_bytes_at_random_under_a_right_digest_give_the_same_error_or_a_model(tmp_path):
    rng = np.random.default_rng(0)
    files = [path.read_bytes() for path in sorted(DATA.glob("*.mercer"))]
    path, seen = tmp_path / "m", set()
    for i in range(400):
        data = bytearray(files[i % len(files)])
        directory = data.index(b"PK\1\2")
        for start, end in [(0, 1500), (directory, len(data) - 85), (0, directory)]:
            data[rng.integers(start, end)] = rng.integers(256)
        path.write_bytes(seal_again(bytes(data)))
        try:
            seen.add(type(mercer.io.read(path).model))
        except ModelFileError:
            seen.add(ModelFileError)
    assert ModelFileError in seen


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=10,
)


def assert_come_back(value):
    kept = {}

    def store(array):
        kept[str(len(kept))] = array
        return str(len(kept) - 1)

    assert_same(decode(json.loads(json.dumps(encode(value, store, "x"))), Source(kept, 2**20)), value)


@settings(max_examples=50, deadline=None)
@given(values)
def test_values_of_all_kinds_come_back(value):
    assert_come_back(value)


def test_arrays_of_all_plain_kinds_come_back(tmp_path):
    rng = np.random.default_rng(0)
    for array in [
        np.array(3.5),
        np.zeros((0, 3)),
        np.arange(6, dtype=np.int8).reshape(2, 3),
        np.array([True, False]),
        np.array(["a", "längst"]),
        rng.normal(size=(4, 3)).T,
        rng.normal(size=(4, 6))[:, ::2],
        rng.normal(size=4).astype(">f8"),
        rng.normal(size=4).astype(np.float16),
    ]:
        head, body = npy.dump(array)
        back = npy.parse(np.frombuffer(head + bytes(body), np.uint8))
        np.testing.assert_array_equal(back, array)
        assert back.dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(np.load(io.BytesIO(head + bytes(body))), array)
    for array in [np.array([1j]), np.array([None]), np.zeros(1, np.longdouble), np.array(["2020"], "M8[Y]")]:
        with pytest.raises(ValueError, match="plain"):
            npy.dump(array)


def test_unusual_values_come_back():
    values = [float("nan"), float("-inf"), -0.0, 10**30, np.float32(0.1), np.int64(7), True, np.bool_(False), "é\0"]
    nested_ = {"a": (1, [2, {3: None}]), 5: slice(1, None, 2), "objects": np.array([["x", None], [1.5, True]], object)}
    assert_come_back([values, nested_])


def test_what_contains_itself_is_refused(tmp_path):
    circle = []
    circle.append(circle)
    with pytest.raises(Unstorable, match="levels"):
        mercer.save(mercer.KernelPCA(circle), tmp_path / "m")


def test_dataclasses_are_not_taken_for_functions(tmp_path):
    @dataclasses.dataclass
    class Stranger:
        def __call__(self):
            """Do nothing."""

    with pytest.raises(Unstorable, match="of the class .*Stranger"):
        mercer.save(mercer.KernelPCA(solver=Stranger()), tmp_path / "m")


def test_more_arrays_than_are_read_in_time_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MOST_ARRAYS", 3)
    many = {f"arrays/{i}.npy": [b""] for i in range(4)}
    with pytest.raises(ModelFileError, match="4 arrays"):
        archive.write(tmp_path / "m", {"arrays": dict.fromkeys(many, "")}, many)
    monkeypatch.setattr(archive, "MOST_ARRAYS", 4)
    archive.write(tmp_path / "m", {"arrays": dict.fromkeys(many, "")}, many)
    monkeypatch.setattr(archive, "MOST_ARRAYS", 3)
    with pytest.raises(ModelFileError, match="5 members, more than 3 arrays"):
        archive.Archive(tmp_path / "m")
