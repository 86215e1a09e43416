"""The recorded tour of the explorer, as one page without a server: ``python docs/tour/record.py tour.html``."""

import base64
import sys
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np

from mercer.app.explore.data import digits
from mercer.app.explore.packing import packed
from mercer.app.explore.session import Session
from mercer.app.explore.widget import markup
from mercer.models.monitor.contributions import contributions

ROWS = 400  # digits, so that the page stays below a megabyte
WIDTHS = (0.0, -1.0, -0.5, 0.5, 1.0)  # log10 of the width; the first has a finer grid and contributions
GRIDS = (15, 9)  # points a side of the map whose pre-images are recorded: of the first model, of the others
PAIR = (5, 0)  # a five and a zero, which the tour walks between


def session():
    """Return a session on the first digits."""
    data = digits()
    return Session(replace(data, table=data.table.take(np.arange(ROWS))))


def record():
    """Return the answers to all that the tour asks for, and to what its visitors may ask."""
    shown, answers = session(), {}

    def ask(key, kind, body):
        header, arrays = shown.answer(kind, body)
        if kind == "open":
            header["ranges"]["width"] = [min(WIDTHS), max(WIDTHS), 0.5]
        answers[key] = base64.b64encode(packed(header, arrays)).decode()
        return header, arrays

    first = ask("open", "open", {})[0]["settings"]
    for log_width in WIDTHS:
        body = {"settings": first | {"width": 10**log_width}, "axes": [0, 1]}
        key = ask(f"fit {log_width:g}", "fit", body)[0]["model"]
        for kind in ("novelty", "linear"):
            ask(f"{kind} {key}", kind, {"model": key})
        for by in ("novelty", {"column": "target"}):
            name = by if isinstance(by, str) else by["column"]
            ask(f"colour {key} {name}", "colour", {"model": key, "by": by})
        for i, at in enumerate(_grid(shown.views[key].Y, GRIDS[log_width != WIDTHS[0]])):
            header, _ = shown.answer("back", {"model": key, "axes": [0, 1], "at": at})
            kept = {"at": at, "error": header["error"], "share": header["share"]}
            answers[f"back {key} {i}"] = base64.b64encode(packed(kept, [header["cells"]])).decode()
    ask("walk m1", "walk", {"model": "m1", "axes": [0, 1], "rows": list(PAIR)})
    ask("pictures m1", "pictures", {"model": "m1", "rows": list(range(ROWS))})
    answers["rows"] = base64.b64encode(packed(*_rows(shown))).decode()
    return answers


def _grid(Y, side):
    """Return points of the map, row by row."""
    x, y = (np.linspace(Y[:, j].min(), Y[:, j].max(), side) for j in (0, 1))
    return [[float(a), float(b)] for b in y for a in x]


def _rows(shown):
    """Return what is known of every row: contributions under the first model, novelty under each."""
    views = list(shown.views.values())
    first, data = views[0], views[0].data
    novelty = np.concatenate([view.novelty for view in views])
    below = np.concatenate([[np.mean(view.novelty < v) for v in view.novelty] for view in views])
    p = np.concatenate([view.p_values for view in views])
    causes = contributions(first.estimator, first.X, "spe")
    header = {"law": first.law, "targets": [str(label) for label in data.table.labels(data.target)], "pair": PAIR}
    return header, [data.rows(False)[1].astype(np.uint8).ravel(), causes.ravel(), novelty, below, p]


def page():
    """Return the page: the explorer's own style and module, the tour, and the recording."""
    files, here = resources.files("mercer.app.explore"), Path(__file__).parent
    parts = {
        "STYLE": files.joinpath("explorer.css").read_text(encoding="utf-8"),
        "MODULE": files.joinpath("explorer.js")
        .read_text(encoding="utf-8")
        .replace("export ", "")
        .split("default {")[0],
        "PAGE": markup(),
        "TOUR": (here / "tour.js").read_text(encoding="utf-8"),
        "RECORDING": "{" + ",\n".join(f'"{key}":"{text}"' for key, text in record().items()) + "}",
    }
    text = (here / "tour.html").read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"/* {name} */", part)
    return text


def write(path):
    """Write the page."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1])
