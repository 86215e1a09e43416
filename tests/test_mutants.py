"""Wrong versions of the core are found by the tests: a seeded sample of them here, all of them by ``make mutants``.

The tests that find them are part of this run too: that the unchanged code passes them is seen there.
"""

import os
import subprocess
import sys

import pytest
from mutants.patches import MUTANTS
from mutants.run import ROOT, patched

SAMPLE, SEED = 10, 16


def test_every_patch_applies_and_names_its_tests():
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names) >= 40
    for mutant in MUTANTS:
        assert patched(mutant) != (ROOT / "src" / "mercer" / mutant.file).read_text(encoding="utf-8")
        for test in mutant.tests:
            file, _, function = test.partition("[")[0].partition("::")
            assert (
                f"def {function}(" in (ROOT / file).read_text(encoding="utf-8") if function else (ROOT / file).exists()
            )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants run in forks")
def test_a_sample_of_mutants_is_killed():
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests"), "OPENBLAS_NUM_THREADS": "1"}
    options = ["--sample", str(SAMPLE), "--seed", str(SEED), "--skip-unchanged"]
    done = subprocess.run(
        [sys.executable, "-m", "mutants.run", *options], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{SAMPLE} of {SAMPLE} mutants killed" in done.stdout
