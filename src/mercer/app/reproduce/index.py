"""One HTML page with the texts of all reproductions."""

import html
import re
from pathlib import Path

from ..._core.atomic import replacing

PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>mercer: reproductions of the papers</title>
<style>
body {{ max-width: 52rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; color: #222; }}
img {{ max-width: 100%; }}
table {{ border-collapse: collapse; font-size: 14px; display: block; overflow-x: auto; }}
th, td {{ padding: .2rem .6rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }}
th:first-child, td:first-child {{ text-align: left; }}
section {{ border-top: 1px solid #ccc; margin-top: 2.5rem; }}
</style>
<h1>Reproductions of the papers</h1>
<ul>
{contents}
</ul>
{sections}
</html>
"""


def write(folder: Path, problems: dict[str, str]) -> None:
    """Write ``index.html``; ``problems`` maps each name to why it could not be reproduced, or to an empty string."""
    sections, contents = [], []
    for name, problem in problems.items():
        text = f"# {name}\n\n{problem}" if problem else (folder / f"{name}.md").read_text(encoding="utf-8")
        title = html.escape(text.partition("\n")[0].removeprefix("# "))
        numbers = "" if problem else f'<p><a href="{name}.csv">Numbers as CSV</a></p>'
        contents.append(f'<li><a href="#{name}">{title}</a></li>')
        sections.append(f'<section id="{name}">\n{as_html(text)}\n{numbers}\n</section>')
    page = PAGE.format(contents="\n".join(contents), sections="\n".join(sections))
    with replacing(folder / "index.html") as file:
        file.write(page.encode())


def as_html(text: str) -> str:
    """Convert the Markdown of the reproductions to HTML: titles, paragraphs, lists, tables, images."""
    return "\n".join(_block(block) for block in re.split(r"\n{2,}", text.strip()))


def _block(block: str) -> str:
    lines = block.split("\n")
    if block.startswith("# "):
        return f"<h2>{_inline(block[2:])}</h2>"
    if block.startswith("* "):
        return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in re.split(r"\n?\* ", block)[1:]) + "</ul>"
    if len(lines) > 1 and set(lines[1]) <= set("|- "):
        return _table(lines)
    return f"<p>{_inline(block)}</p>"


def _table(lines: list[str]) -> str:
    head, _, *rows = [
        [_inline(cell.strip()) for cell in line.removeprefix("|").removesuffix("|").split("|")] for line in lines
    ]
    cells = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f"<table>\n<tr>{cells}</tr>\n{body}</table>"


def _inline(text: str) -> str:
    text = html.escape(text, quote=False)
    text = re.sub(r"!\[(.*?)\]\((.*?)\)", r'<img src="\2" alt="\1">', text)
    text = re.sub(r"`(.+?)`", r"<code>\1</code>", text)
    return re.sub(r"(?<![\w*])\*([^*]+)\*(?![\w*])", r"<em>\1</em>", text)
