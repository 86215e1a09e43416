"""The laws of kernels and operators hold as well where the C extension is switched off."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def run(*command):
    environment = {**os.environ, "MERCER_NATIVE": "0"}
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=environment, cwd=HERE.parents[1], check=False
    )


def test_the_extension_can_be_switched_off():
    done = run("-c", "from mercer._core import native; print(native._native)")
    assert done.stdout.strip() == "None", done.stderr


def test_laws_hold_without_the_extension():
    files = [str(HERE / name) for name in ("test_kernels.py", "test_operators.py")]
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "test_laws or scikit", *files)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout or done.stdout.count(".") > 100
