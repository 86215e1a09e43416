"""One page of all reproductions, made of their texts."""

import html
import re

from ..._core.atomic import replacing

PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>mercer: the papers, made again</title>
<style>
body {{ max-width: 52rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; color: #222; }}
img {{ max-width: 100%; }}
table {{ border-collapse: collapse; font-size: 14px; display: block; overflow-x: auto; }}
th, td {{ padding: .2rem .6rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }}
th:first-child, td:first-child {{ text-align: left; }}
section {{ border-top: 1px solid #ccc; margin-top: 2.5rem; }}
</style>
<h1>The papers, made again</h1>
<ul>
{contents}
</ul>
{sections}
</html>
"""


def write(folder, made):
    """Write ``index.html``; ``made`` has for each name what is missing, or nothing."""
    sections, contents = [], []
    for name, missing in made.items():
        text = f"# {name}\n\n{missing}" if missing else (folder / f"{name}.md").read_text(encoding="utf-8")
        title = html.escape(text.partition("\n")[0].removeprefix("# "))
        numbers = "" if missing else f'<p><a href="{name}.csv">The numbers</a></p>'
        contents.append(f'<li><a href="#{name}">{title}</a></li>')
        sections.append(f'<section id="{name}">\n{as_html(text)}\n{numbers}\n</section>')
    page = PAGE.format(contents="\n".join(contents), sections="\n".join(sections))
    with replacing(folder / "index.html") as file:
        file.write(page.encode())


def as_html(text):
    """The Markdown that reproductions are written in, as HTML: titles, paragraphs, lists, tables, pictures."""
    return "\n".join(_block(block) for block in re.split(r"\n{2,}", text.strip()))


def _block(block):
    lines = block.split("\n")
    if block.startswith("# "):
        return f"<h2>{_inline(block[2:])}</h2>"
    if block.startswith("* "):
        return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in re.split(r"\n?\* ", block)[1:]) + "</ul>"
    if len(lines) > 1 and set(lines[1]) <= set("|- "):
        return _table(lines)
    return f"<p>{_inline(block)}</p>"


def _table(lines):
    head, _, *rows = [
        [_inline(cell.strip()) for cell in line.removeprefix("|").removesuffix("|").split("|")] for line in lines
    ]
    cells = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f"<table>\n<tr>{cells}</tr>\n{body}</table>"


def _inline(text):
    text = html.escape(text, quote=False)
    text = re.sub(r"!\[(.*?)\]\((.*?)\)", r'<img src="\2" alt="\1">', text)
    text = re.sub(r"`(.+?)`", r"<code>\1</code>", text)
    return re.sub(r"(?<![\w*])\*([^*]+)\*(?![\w*])", r"<em>\1</em>", text)
