"""Write a software bill of materials (CycloneDX) of what mercer needs at run time into ``dist``."""

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Install mercer without extras into a fresh environment, and list what is there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    target = ROOT / "dist" / f"mercer-{project['version']}.cdx.json"
    target.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", f"{folder}/venv"], check=True)
        inside = f"{folder}/venv/bin/python" if os.name != "nt" else f"{folder}/venv/Scripts/python.exe"
        pip = [inside, "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "-q", str(ROOT)], check=True)
        subprocess.run([*pip, "uninstall", "-q", "-y", "pip", "setuptools"], check=True)
        cyclonedx = [
            sys.executable,
            "-m",
            "cyclonedx_py",
            "environment",
            inside,
            "--pyproject",
            ROOT / "pyproject.toml",
        ]
        subprocess.run([*map(str, cyclonedx), "--output-reproducible", "-o", str(target)], check=True)
    print(target.relative_to(ROOT))


if __name__ == "__main__":
    main()
