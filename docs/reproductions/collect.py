"""Copy the texts and figures that `mercer reproduce` wrote to a folder into the documentation.

mercer reproduce all -o out
python docs/reproductions/collect.py out
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
PICTURES = HERE.parent / "images" / "reproductions"


def collect(folder):
    """Copy ``NAME.md`` and its figures, and adapt the links to the figures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for page in sorted(Path(folder).glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for name in re.findall(r"!\[.*?\]\((.*?)\)", text):
            (PICTURES / name).write_bytes((page.parent / name).read_bytes())
        shown = re.sub(r"(!\[.*?\]\()", r"\1../images/reproductions/", text)
        (HERE / page.name).write_text(shown, encoding="utf-8")


if __name__ == "__main__":
    collect(sys.argv[1])
