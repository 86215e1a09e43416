"""Laws of registries and model files: a name means one class, and a file that was changed is refused."""

import io
import json
import zipfile
from hashlib import sha256

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import mercer
from mercer._core.registry import KERNELS, file_class, file_name
from mercer.io import archive
from mercer.kernels import RBF


def error_of(call, *args):
    """The error that a call raises, with its type; "" where it raises none."""
    try:
        call(*args)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def test_a_name_is_that_of_one_class():
    class Other(RBF):
        pass

    taken = error_of(KERNELS.enter, "rbf", Other)
    entered = KERNELS["rbf"]
    KERNELS._classes["rbf"] = RBF
    assert "is taken by mercer.kernels.radial.RBF" in taken
    assert entered is RBF
    assert file_class(file_name(RBF)) is RBF


@pytest.fixture
def members(tmp_path):
    """The members of the file of a model on sparse rows."""
    X = csr_matrix(np.abs(np.random.default_rng(0).normal(size=(20, 3))))
    mercer.save(mercer.KernelPCA(2, kernel=RBF(0.3), solver="exact").fit(X), tmp_path / "sound.mercer")
    with zipfile.ZipFile(tmp_path / "sound.mercer") as file:
        return {name: file.read(name) for name in file.namelist()}


def written(members, path, digests=()):
    """Write members as a model file with a right seal; arrays named in ``digests`` get the digest of what they hold."""
    manifest = json.loads(members["manifest.json"])
    for name in digests:
        manifest["arrays"][name] = sha256(members[name]).hexdigest()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zipped:
        for name, data in (members | {"manifest.json": json.dumps(manifest)}).items():
            zipped.writestr(name, data)
        zipped.comment = archive.SEAL + b"0" * archive.DIGEST
    body = file.getvalue()[: -archive.DIGEST]
    path.write_bytes(body + sha256(body).hexdigest().encode())
    return path


def with_manifest(members, change):
    manifest = json.loads(members["manifest.json"])
    change(manifest["model"])
    return members | {"manifest.json": json.dumps(manifest)}


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def axes(model):
    return model["state"]["subspace_"]["params"]["axes"]["params"]


def test_a_file_that_is_written_again_is_read(members, tmp_path):
    model = mercer.load(written(members, tmp_path / "same.mercer"))
    assert model.n_components_ == 2


def test_an_unknown_parameter_or_attribute_is_refused(members, tmp_path):
    """No constructor and no object is given what its class does not have."""
    for part in ("params", "state"):
        bad = with_manifest(members, lambda model, part=part: model[part].update({"transform": 3}))
        assert "KernelPCA has no 'transform'" in error_of(mercer.load, written(bad, tmp_path / "bad.mercer"))


def test_coefficients_that_do_not_fit_their_points_are_refused(members, tmp_path):
    name = axes(json.loads(members["manifest.json"])["model"])["B"]["array"]
    bad = members | {name: npy(np.zeros((7, 2)))}
    error = error_of(mercer.load, written(bad, tmp_path / "bad.mercer", [name]))
    assert error.startswith("ModelFileError")
    assert "rkhs.Expansion.B has the shape (7, 2), not (20, p)" in error


def test_indices_beyond_a_sparse_matrix_are_refused(members, tmp_path):
    """They would read other memory."""
    name = axes(json.loads(members["manifest.json"])["model"])["Z"]["indices"]["array"]
    indices = np.load(io.BytesIO(members[name]))
    indices[5] = 1000
    error = error_of(mercer.load, written(members | {name: npy(indices)}, tmp_path / "bad.mercer", [name]))
    assert error.startswith("ModelFileError")
    assert "'sparse' cannot be decoded" in error


def test_an_array_that_is_not_what_its_digest_says_is_refused(members, tmp_path):
    changed = bytearray(members["arrays/0.npy"])
    changed[-1] ^= 1
    error = error_of(mercer.load, written(members | {"arrays/0.npy": bytes(changed)}, tmp_path / "bad.mercer"))
    assert "'arrays/0.npy' does not match its sha256" in error
