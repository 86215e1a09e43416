"""Check everything that must hold before a release; ``make release-check``. It takes as long as all its targets.

After it: tag ``v<version>`` and push the tag. The workflow ``release`` builds the wheels and publishes them.
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ("test", "test-arrays", "test-oldest", "docs", "wheel", "sbom")


def read(path: str) -> str:
    """Return the text of a file of the repository."""
    return (ROOT / path).read_text(encoding="utf-8")


def version() -> str:
    """Return the version that is to be released."""
    return tomllib.loads(read("pyproject.toml"))["project"]["version"]


def check_version() -> None:
    """One version is stated everywhere, and its tag is not taken."""
    stated = {
        "src/mercer/__init__.py": re.search(r'__version__ = "(.+)"', read("src/mercer/__init__.py")),
        "CITATION.cff": re.search(r"^version: (.+)$", read("CITATION.cff"), re.MULTILINE),
        "conda/meta.yaml": re.search(r'set version = "(.+)"', read("conda/meta.yaml")),
    }
    for path, found in stated.items():
        assert found is not None, f"{path} states no version"
        assert found[1] == version(), f"{path} states {found[1]}, pyproject.toml {version()}"
    tags = subprocess.run(["git", "tag", "--list", f"v{version()}"], cwd=ROOT, capture_output=True, text=True).stdout
    assert not tags.strip(), f"the tag v{version()} is taken: raise the version"


def check_changelog() -> None:
    """The changelog has a dated section for the version, and nothing is left under Unreleased."""
    text = read("CHANGELOG.md")
    dated = rf"^## {re.escape(version())} [–-] \d{{4}}-\d\d-\d\d$"
    assert re.search(dated, text, re.MULTILINE), f"CHANGELOG.md has no section '## {version()} – YYYY-MM-DD'"
    unreleased = re.search(r"^## Unreleased\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert not unreleased or not unreleased[1].strip(), "CHANGELOG.md has entries under Unreleased"


def check_clean_tree() -> None:
    """Everything is committed."""
    changes = subprocess.run(["git", "status", "--short"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert not changes.strip(), f"not committed:\n{changes}"


def check_files() -> None:
    """Model files of this version are kept, for later versions to read."""
    kept = list((ROOT / "tests" / "data").glob(f"v{version()}_*.mercer"))
    assert kept, f"tests/data has no model files of {version()}: run `make compatibility` and commit them"


def target(name: str) -> Callable[[], None]:
    """Return a check that a make target succeeds."""

    def check() -> None:
        assert subprocess.run(["make", name], cwd=ROOT).returncode == 0, f"make {name} fails"

    check.__doc__ = f"make {name}"
    return check


def main() -> None:
    """Run all checks, the quick ones first, and report each; stop after the quick ones where one of them fails."""
    quick = [check_version, check_changelog, check_clean_tree, check_files]
    failed = [check for check in quick if not passes(check)]
    if not failed:
        failed = [check for check in map(target, TARGETS) if not passes(check)]
    sys.exit(f"{len(failed)} checks failed" if failed else 0)


def passes(check: Callable[[], None]) -> bool:
    """Run one check and print how it went."""
    name = (check.__doc__ or "").rstrip(".")
    try:
        check()
    except AssertionError as error:
        print(f"FAILED  {name}: {error}", flush=True)
        return False
    print(f"ok      {name}", flush=True)
    return True


if __name__ == "__main__":
    main()
