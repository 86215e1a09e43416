"""Measure what an installation takes: the size of mercer with its requirements, of each extra, and the import time.

``make sizes`` prints the table of docs/install.md. Sizes are those of the files on disk, without compiled bytecode.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = {"all", "test", "lint", "docs", "release"}  # extras that are not for users, or are sums of others
RUNS = 5  # of the import, of which the fastest counts
MB = 2**20


def main() -> None:
    """Print the table."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    base = packages("")
    print("| `pip install` | brings | MB |\n|---|---|---|")
    print(f"| `mercer` | {_names(base)} | {size(base):.0f} |")
    for extra in sorted(set(extras) - TOOLS):
        more = {name: version for name, version in packages(f"[{extra}]").items() if name not in base}
        print(f"| `mercer[{extra}]` | {_names(more)} | {size(more):.0f} |")
    print(f"\nimport mercer: {import_time('mercer'):.2f} s, from mercer import KernelPCA: {import_time():.2f} s")


def packages(extra: str) -> dict[str, str]:
    """Return what pip would install into an empty environment: name ↦ version."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed", "--report", "-"]
    answer = subprocess.run([*command, f"{ROOT}{extra}"], capture_output=True, text=True, check=True).stdout
    found = [entry["metadata"] for entry in json.loads(answer[answer.index("{") :])["install"]]
    return {entry["name"]: entry["version"] for entry in found if entry["name"] != "mercer"}


def size(wanted: dict[str, str]) -> float:
    """Return the size of packages on disk, in MB."""
    if not wanted:
        return 0.0
    with tempfile.TemporaryDirectory() as folder:
        pins = [f"{name}=={version}" for name, version in wanted.items()]
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-compile", "--target", folder, *pins]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / MB


def import_time(what: str = "KernelPCA") -> float:
    """Return the CPU seconds of an import in a fresh process, the least of several runs."""
    statement = "import mercer" if what == "mercer" else f"from mercer import {what}"
    program = f"import time; start = time.process_time(); {statement}; print(time.process_time() - start)"
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout for _ in range(RUNS)]
    return min(map(float, runs))


def _names(found: dict[str, str]) -> str:
    shown = sorted(found, key=str.lower)
    return ", ".join(shown[:6]) + (f" and {len(shown) - 6} more" if len(shown) > 6 else "")  # a line's worth


if __name__ == "__main__":
    main()
