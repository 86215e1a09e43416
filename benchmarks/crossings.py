"""Count how often one fit crosses from a module of mercer into another: what a reader of a profile has to follow.

python benchmarks/crossings.py
"""

import sys
from collections import Counter

import numpy as np

from mercer import KernelPCA

ROWS, COLUMNS = 2000, 5
SHOWN = 12


def crossings(call) -> Counter:
    """Return how often each module was entered from another one of mercer, on the calling thread."""
    entered: Counter = Counter()

    def watch(frame, event, _):
        if event != "call" or frame.f_back is None:
            return
        callee, caller = (f.f_globals.get("__name__", "") for f in (frame, frame.f_back))
        if callee.startswith("mercer.") and caller.startswith("mercer.") and callee != caller:
            entered[callee] += 1

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered


if __name__ == "__main__":
    X = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
    for model in (KernelPCA(), KernelPCA(10)):
        model.fit(X)  # imports and look-ups of the first time
        entered = crossings(lambda model=model: model.fit(X))
        print(f"{model!r} on {ROWS} × {COLUMNS}: {entered.total()} crossings")
        for module, n in entered.most_common(SHOWN):
            print(f"  {n:5d}  {module}")
