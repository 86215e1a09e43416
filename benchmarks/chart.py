"""The chart of the benchmark page, drawn from its tables: ``python benchmarks/chart.py docs/benchmarks.md PICTURE``.

Ratios against the peer over the number of rows, one line for each family of cases; dashed, where the page states the
limits of its machine, the ratio at which the kernel matrix alone would take all of the time.
"""

import re
import sys
from pathlib import Path

from limits import Limits

ROW = re.compile(r"\| (?P<name>\S+): (?P<n>[\d ]+) × (?P<d>\d+) .*? \| (?P<ratio>[\d.]+)×")
PEER = re.compile(r"\| ([\d.]+) (ms|s) +\| [\d.]+ (?:ms|s) +\|")  # the peer's seconds, then mercer's
FAMILIES = {
    "exact": "10 columns",
    "exact-gamma0.5": "10 columns, narrow kernel",
    "exact-clusters": "10 columns, clusters",
    "exact-float32": "10 columns, float32",
    "exact-d256": "256 columns",
    "few-q10": "few rows, 10 columns",
    "landmarks": "landmarks",
    "given": "given matrix",
}
ROWS, RATIOS = (500, 1000, 2000, 5000, 10_000, 20_000), (1, 2, 5, 10, 20, 50)  # ticks
LIMITED = {"exact": 10, "exact-d256": 256}  # columns of the families that have a limit line


def main(page, picture):
    from mercer.plots import papers

    text = Path(page).read_text(encoding="utf-8")
    figure, ((ax,),) = papers.board(1, 1, 8, 4.8)  # inches
    limits, families = Limits.parsed(text), found(text)
    for i, (family, name) in enumerate((family, name) for family, name in FAMILIES.items() if family in families):
        n, ratios, seconds = zip(*sorted(families[family]), strict=True)
        style = {"color": papers.colour(i), "markersize": 5, "linewidth": 1.4}
        ax.plot(n, ratios, marker=papers.MARKERS[i % len(papers.MARKERS)], label=name, **style)
        if limits and family in LIMITED:
            best = [s / limits.kernel(rows, LIMITED[family]) for rows, s in zip(n, seconds, strict=True)]
            ax.plot(n, best, "--", color=papers.colour(i), linewidth=1, label=f"limit, {LIMITED[family]} columns")
    ax.axhline(1, color="grey", linewidth=1)
    ax.set(xscale="log", yscale="log", xlabel="rows", ylabel="times as fast as scikit-learn")
    ax.set_xticks(ROWS, [f"{rows:,}" for rows in ROWS])
    limited = ax.get_ylim()
    ax.set_yticks(RATIOS, [f"{ratio}×" for ratio in RATIOS])
    ax.set_ylim(limited)
    ax.minorticks_off()
    papers.legend(figure, ax, 4)
    with open(picture, "wb") as file:
        papers.save(figure, file)


def found(text):
    """(rows, ratio, the peer's seconds) of the cases of each family of the page."""
    families: dict[str, list] = {}
    for line in text.splitlines():
        row, peer = ROW.match(line), PEER.search(line)
        if not (row and peer):
            continue
        family = re.sub(r"-\d+(?=-|$)", "", row["name"], count=1)
        if family in FAMILIES:
            seconds = float(peer[1]) * (1e-3 if peer[2] == "ms" else 1)
            families.setdefault(family, []).append((int(row["n"].replace(" ", "")), float(row["ratio"]), seconds))
    return families


if __name__ == "__main__":
    main(*sys.argv[1:3])
