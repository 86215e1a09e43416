"""A fit on a billion rows that exist nowhere: the workers generate each chunk from its seed, once.

    python benchmarks/billion.py [--rows 1e9] [--landmarks 100] [--chunk 500000] [--parts 10] [--kill]

Rows have ten columns on a curved surface with noise. The kernel and the landmarks are those of a fit on 10⁶ rows, to
which the result is compared. Parts of the rows are fitted one after the other and merged: a run that was interrupted
goes on where it stopped. With ``--kill`` one worker is killed in the middle of the first part, and the result has to
be that of a fit without. Figures are kept in ``results/billion-*.json``, and their table on ``guides/dask.md``.
"""

import argparse
import json
import os
import resource
import signal
import tempfile
import threading
from pathlib import Path
from time import perf_counter, sleep

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from results import FOLDER, Results, replace_block

import mercer
from mercer import KernelPCA
from mercer.eigen import Landmarks
from mercer.kernels import RBF

D, WORKERS, SMALL, TRANSFORMED = 10, 2, 1_000_000, 100  # chunks
FEW = 4  # tasks that are done when a worker is killed
TILE = 10_000  # rows that are generated at a time, in the cache
MB = 2**20
MIX = np.random.default_rng(7).standard_normal((6, D))


def rows(first=0, block_info=None):
    """Return the rows of one chunk: a surface of three parameters in ten columns, with noise."""
    (start, end), _ = block_info[None]["array-location"]
    rng, out = np.random.default_rng([7, first + start]), np.empty((end - start, D))
    for i in range(0, end - start, TILE):
        x = out[i : i + TILE]
        rng.random(out=x)
        x -= 0.5
        x *= 0.35  # a standard deviation of 0.1
        t = rng.standard_normal((len(x), 3))
        x += np.hstack([t, np.sin(2 * t)]) @ MIX
    return out


def generated(n, chunk, first=0):
    """Return a Dask array of n rows from the row number ``first`` on."""
    sizes = (*([chunk] * (n // chunk)), *([n % chunk] if n % chunk else []))
    name, meta = f"rows-{first}-{n}-{chunk}", np.empty((0, 0))
    return da.map_blocks(rows, first=first, name=name, chunks=(sizes, (D,)), dtype=float, meta=meta)


def usage():
    """Return the peak memory in MB, the CPU seconds and the number of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    status = Path("/proc/self/status").read_text()  # ru_maxrss includes the process that started this one
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024, used.ru_utime + used.ru_stime, os.getpid()


def moved(dask_worker):
    """Return the bytes that a worker has sent to others and to the client."""
    return sum(entry["total"] for entry in dask_worker.transfer_outgoing_log)


def cluster(workers=WORKERS):
    """Return a cluster of worker processes; its scheduler runs in this process."""
    options = {"threads_per_worker": 1, "processes": True, "host": "127.0.0.1", "dashboard_address": None}
    return LocalCluster(n_workers=workers, **options)


def kill_one(client):
    """Kill a worker with SIGKILL once a few tasks are done."""
    tasks = client.cluster.scheduler.tasks
    while sum(task.state == "memory" for task in list(tasks.values())) < FEW:
        sleep(0.05)
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


def measured(client, work):
    """Return the result of ``work()``, and what it cost."""
    before, own, sent, start = client.run(usage), usage()[1], sum(client.run(moved).values()), perf_counter()
    result = work()
    wall, after = perf_counter() - start, client.run(usage).values()
    known = {process: cpu for _, cpu, process in before.values()}
    return result, {
        "wall": wall,
        "workers": sum(cpu - known.get(process, 0) for _, cpu, process in after),
        "client": usage()[1] - own,
        "worker MB": max(peak for peak, *_ in after),
        "client MB": usage()[0],
        "replaced": len({process for *_, process in after} - set(known)),
        "sent MB": max(0, sum(client.run(moved).values()) - sent) / MB,
    }


def part(client, estimator, X, path, kill=False):
    """Fit some of the rows, store the model and return the figures."""
    if kill:
        threading.Thread(target=kill_one, args=(client,), daemon=True).start()
    model, figures = measured(client, lambda: estimator.fit(X))
    mercer.save(model, path)
    print(f"{path.name}: " + ", ".join(f"{name} {value:.4g}" for name, value in figures.items()), flush=True)
    return figures


def compare(client, model, reference, X):
    """Return differences of the model to the one of few rows, and to the variances of transformed rows."""
    every = max(1, X.numblocks[0] // TRANSFORMED)
    Y, figures = measured(client, lambda: model.transform(X.blocks[::every]).var(axis=0).compute())
    return {
        "variances": float(np.abs(model.explained_variance_ / reference.explained_variance_ - 1).max()),
        "outside": [model.solver_.outside_share, reference.solver_.outside_share],
        "transformed": int(X.blocks[::every].shape[0]),
        "transform wall": figures["wall"],
        "transform variances": float(np.abs(Y / model.explained_variance_ - 1).max()),
        "rows": model.solver_.rows,
    }


def given():
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e9)
    parser.add_argument("--landmarks", type=int, default=100)
    parser.add_argument("--chunk", type=int, default=500_000)
    parser.add_argument("--parts", type=int, default=10)
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--again", action="store_true", help="ignore figures that are kept from an earlier run")
    return parser.parse_args()


def main():
    """Fit, keep the figures, and write the table."""
    options = given()
    n, m, parts = int(options.rows), options.landmarks, options.parts
    name = f"billion-{n:.0e}-{m}".replace("+0", "") + ("-kill" if options.kill else "")
    kept, folder = Results(name, options.again), Path(tempfile.gettempdir()) / f"mercer-{name}"
    folder.mkdir(exist_ok=True)
    with cluster() as local, Client(local) as client:
        small = generated(min(n, SMALL), min(options.chunk, SMALL // WORKERS))
        kernel = RBF("median").bind(small)
        reference = KernelPCA(10, kernel=kernel, solver=Landmarks(m), random_state=0).fit(small)
        estimator = KernelPCA(10, kernel=kernel, solver=Landmarks(choose=reference.moments_.basis.given))
        paths = [folder / f"{i}.mercer" for i in range(parts)]
        for i, path in enumerate(paths):
            X = generated(n // parts, options.chunk, i * (n // parts))
            if not path.exists():
                kept.figures.pop(f"part {i}", None)
            kept.once(
                lambda X=X, i=i, path=path: part(client, estimator, X, path, options.kill and i == 0), f"part {i}"
            )
        model = mercer.merge(mercer.load(path) for path in paths)
        kept.once(lambda: compare(client, model, reference, generated(n, options.chunk)), "compared")
        if options.kill:
            whole = estimator.fit(generated(n, options.chunk))
            kept.once(lambda: float(np.abs(model.explained_variance_ / whole.explained_variance_ - 1).max()), "killed")
    replace_block("guides/dask.md", "billion", table())


def table():
    """Return the lines of a table of all runs."""
    lines = ["| command | date | rows | m | CPU of workers, µs a row | client and scheduler, ms a chunk | its share of "
             "the CPU | peak of a worker | of the client | sent by workers | variances: against 10⁶ rows | against "
             "transformed rows |", "|" + "---|" * 12]  # fmt: skip
    for path in sorted(FOLDER.glob("billion-*.json")):
        read = json.loads(path.read_text())
        figures = read["figures"]
        if "compared" not in figures:  # interrupted
            continue
        done = [of for key, of in figures.items() if key.startswith("part")]
        worker, client, sent = (sum(of[name] for of in done) for name in ("workers", "client", "sent MB"))
        words, seen = read["command"].split(), figures["compared"]
        chunk = int(words[words.index("--chunk") + 1]) if "--chunk" in words else 500_000
        m = int(words[words.index("--landmarks") + 1]) if "--landmarks" in words else 100
        each = "a worker killed" if any(of.get("replaced") for of in done) else f"{worker / seen['rows'] * 1e6:.2f}"
        lines.append(
            f"| `{read['command']}` | {read['date']} | {seen['rows']:.0e} | {m} | "
            f"{each} | "
            f"{client * chunk / seen['rows'] * 1e3:.1f} | {client / (client + worker):.1%} | "
            f"{max(of['worker MB'] for of in done):.0f} MB | {max(of['client MB'] for of in done):.0f} MB | "
            f"{sent:.0f} MB | {seen['variances']:.2%} | {seen['transform variances']:.2%} |"
        )
    return lines


if __name__ == "__main__":
    main()
