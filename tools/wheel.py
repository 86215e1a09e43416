"""Build the distributions, check what they contain, and test the wheel in fresh environments.

Run by ``make wheel``. Every Python from 3.11 on that is found (on the path, or installed by pyenv) gets an environment
of its own, in which the tests of the engine run against the installed wheel.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
OLDEST = (3, 11)
LIKELY = range(11, 20)  # minor versions that are looked for on the path
ENGINE = ("tests/test_native.py", "tests/laws/test_kernels.py")
DATA = {".npz", ".npy", ".mercer", ".csv", ".parquet"}
PROBE = (
    "import sys, sysconfig, venv, ensurepip;"
    "print(*sys.version_info[:3], int(bool(sysconfig.get_config_var('Py_GIL_DISABLED'))))"
)


def main() -> None:
    """Build, check and test; a pure-Python wheel is built and checked as well."""
    shutil.rmtree(DIST, ignore_errors=True)
    run([sys.executable, "-m", "build", "-q", "--outdir", DIST, ROOT])
    (sdist,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    check_wheel(wheel)
    check_sdist(sdist)
    run([sys.executable, "-m", "twine", "check", "--strict", sdist, wheel])
    check_pure(sdist)
    found = pythons()
    for version, python in found.items():
        test(python, wheel)
        print(f"{wheel.name}: the engine's tests pass with Python {version}")
    if len(found) < 2:
        print(f"Only Python {', '.join(found)} was found: the wheel was not tested with a second version")


def check_wheel(path: Path) -> None:
    """Check that a wheel has what it needs and nothing else."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    unwanted = [name for name in names if _unwanted(name)]
    assert not unwanted, f"{path.name} should not contain {unwanted}"
    for needed in ("mercer/py.typed", "licenses/LICENSE", "mercer/app/report/", "entry_points.txt"):
        assert any(needed in name for name in names), f"{path.name} lacks {needed}"
    stubs = {str(stub.relative_to(ROOT / "src")) for stub in (ROOT / "src").rglob("*.pyi")}
    assert stubs <= set(names), f"{path.name} lacks {stubs - set(names)}"
    if not path.name.endswith("none-any.whl"):
        assert "-abi3-" in path.name, f"{path.name} is not built against the limited API"
        assert any(".abi3." in name or name.endswith("_native.pyd") for name in names), f"{path.name} has no extension"


def _unwanted(name: str) -> bool:
    inside = name.startswith(("mercer/", "mercer-"))
    return not inside or "/tests/" in name or Path(name).suffix in {*DATA, ".c", ".h"}


def check_sdist(path: Path) -> None:
    """Check that a source distribution has the C source, the tests and the licence, and nothing that was built."""
    with tarfile.open(path) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    for needed in ("src/mercer/_core/_native.c", "setup.py", "LICENSE", "README.md", "tests/test_native.py"):
        assert needed in names, f"{path.name} lacks {needed}"
    built = [name for name in names if name.endswith((".so", ".pyd", ".pyc"))]
    assert not built, f"{path.name} should not contain {built}"


def check_pure(sdist: Path) -> None:
    """Check that a wheel without the extension can be made, which needs no compiler."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, sdist]
        run(command, MERCER_PURE="1")
        (wheel,) = Path(folder).glob("*.whl")
        assert wheel.name.endswith("py3-none-any.whl"), f"{wheel.name} is not pure Python"
        check_wheel(wheel)


def pythons() -> dict[str, str]:
    """Return the newest patch of each Python version that the wheel serves: version ↦ program."""
    candidates = [shutil.which(f"python3.{minor}") for minor in LIKELY]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates += [str(path) for path in sorted(pyenv.glob("3.*/bin/python"))]
    found: dict[str, tuple[tuple[int, ...], str]] = {}
    for python in filter(None, [sys.executable, *candidates]):
        answer = subprocess.run([python, "-c", PROBE], capture_output=True, text=True)
        if answer.returncode or not re.fullmatch(r"\d+ \d+ \d+ 0", answer.stdout.strip()):
            continue  # no such version, no venv, or a free-threaded build, which needs a wheel of its own
        version = tuple(map(int, answer.stdout.split()[:3]))
        name = f"{version[0]}.{version[1]}"
        if version[:2] >= OLDEST and version > found.get(name, ((), ""))[0]:
            found[name] = version, python
    return {name: python for name, (_, python) in sorted(found.items(), key=lambda item: item[1])}


def test(python: str, wheel: Path) -> None:
    """Install the wheel into a fresh environment and run the tests of the engine on it, apart from the sources."""
    with tempfile.TemporaryDirectory() as folder:
        run([python, "-m", "venv", f"{folder}/venv"])
        inside = f"{folder}/venv/bin/python" if os.name != "nt" else f"{folder}/venv/Scripts/python.exe"
        run([inside, "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel, "pytest", "hypothesis"])
        shutil.copytree(ROOT / "tests", f"{folder}/tests", ignore=shutil.ignore_patterns("__pycache__", "data"))
        run([inside, "-c", "from mercer._core import _native; assert 'site-packages' in _native.__file__"], cwd=folder)
        run([inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", *ENGINE], cwd=folder)


def run(command: list, cwd: str | Path = ROOT, **environment: str) -> None:
    """Run a program, and show what it said where it fails."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"} | environment,
    )
    if done.returncode:
        sys.exit(f"{done.stdout}\nfailed: {' '.join(map(str, command))}")


if __name__ == "__main__":
    main()
