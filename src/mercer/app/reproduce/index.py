"""One HTML page with the texts of all reproductions."""

import html
import re
from importlib import resources
from pathlib import Path
from string import Template

from ..._core.atomic import replacing


def write(folder: Path, problems: dict[str, str]) -> None:
    """Write ``index.html``; ``problems`` maps each name to why it could not be reproduced, or to an empty string."""
    sections, contents = [], []
    for name, problem in problems.items():
        text = f"# {name}\n\n{problem}" if problem else (folder / f"{name}.md").read_text(encoding="utf-8")
        title = html.escape(text.partition("\n")[0].removeprefix("# "))
        numbers = "" if problem else f'<p><a href="{name}.csv">Numbers as CSV</a></p>'
        contents.append(f'<li><a href="#{name}">{title}</a></li>')
        sections.append(f'<section id="{name}">\n{as_html(text)}\n{numbers}\n</section>')
    template = resources.files("mercer.app.report").joinpath("reproductions.html").read_text(encoding="utf-8")
    page = Template(template).substitute(contents="\n".join(contents), sections="\n".join(sections))
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
