"""Data to try things on: toys drawn from a seed, and the real sets of the papers, which are never part of the package.

Real sets are ``.npz`` files of the folder that the environment variable ``MERCER_DATA`` names.
"""

import os
from pathlib import Path

import numpy as np

FOLDER = "MERCER_DATA"


def load(name):
    """Return the arrays of a real data set, as a dictionary.

    Parameters
    ----------
    name : str
        Such as ``"usps"``, ``"mnist"``, ``"pima"``, ``"covtype"``, ``"ida_banana"`` or ``"ad_shuttle"``.

    Returns
    -------
    arrays : dict of str to ndarray
        What the file holds: ``X`` and ``y``, or ``X_train``, ``y_train``, ``X_test`` and ``y_test``.
    """
    with np.load(find(name), allow_pickle=False) as arrays:
        return {key: arrays[key] for key in arrays.files}


def find(name):
    """The file of a real data set; an error says how to get it where there is none."""
    folder = os.environ.get(FOLDER)
    if folder and (path := Path(folder) / f"{name}.npz").is_file():
        return path
    where = f"the folder {folder!r} has no {name}.npz" if folder else f"{FOLDER} is not set"
    raise FileNotFoundError(f"There is no data set {name!r}: {where}. Set {FOLDER} to a folder that holds {name}.npz.")


def three_clusters(random_state=0, *, n=30, spread=0.1):
    """Rows in three round clusters in the plane, n each, after Tipping's and Bishop's figures: (3n, 2)."""
    rng = np.random.default_rng(random_state)
    return np.concatenate([centre + spread * rng.normal(size=(n, 2)) for centre in ((-0.5, -0.2), (0, 0.6), (0.5, 0))])


def two_cs(random_state=0, *, n=200, radius=6.0, noise=0.6):
    """Two half circles that face away from each other, one below the other, after Zhou's figure 2.

    Returns
    -------
    X : ndarray of shape (n, 2)
        The rows.
    y : ndarray of shape (n,)
        0 for the left half circle around (0, 0), 1 for the right one around (0, −radius).
    """
    rng = np.random.default_rng(random_state)
    y = np.arange(n) * 2 // n
    angle = np.pi * (rng.uniform(size=n) + np.where(y == 0, 0.5, -0.5))
    r = radius + noise * rng.standard_normal(n)
    return np.column_stack([r * np.cos(angle), r * np.sin(angle) - radius * y]), y
