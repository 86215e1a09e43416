"""Many descents at once."""

import numpy as np
from scipy.optimize import Bounds, minimize, rosen, rosen_der

from mercer.preimage.descent import descend


def quartics(rows, X, centres, scales):
    """Σ sⱼ(xⱼ − cⱼ)⁴ + (x − c)²/10 and its gradient: minima at the centres, of very different curvature."""
    D = X - centres[rows]
    return np.sum(scales * D**4 + D**2 / 10, axis=1), 4 * scales * D**3 + D / 5


def rosenbrock(rows, X):
    return rosen(X.T), rosen_der(X.T).T


def test_descents_of_many_objectives_end_at_their_minima():
    rng = np.random.default_rng(0)
    centres, scales = rng.normal(size=(30, 5)), np.geomspace(1, 100, 5)
    X, n_iter = descend(lambda r, X: quartics(r, X, centres, scales), np.zeros((30, 5)), 1.0, max_iter=200, tol=1e-8)
    np.testing.assert_allclose(X, centres, atol=1e-4)
    assert n_iter.min() > 0
    start = rng.normal(size=(20, 3))
    X, _ = descend(rosenbrock, start, 1.0, max_iter=500, tol=1e-8)
    assert np.all(rosen(X.T) <= rosen(start.T))
    assert np.median(rosen(X.T)) < 1e-10


def test_descents_in_a_box_end_where_no_step_inside_it_helps():
    rng = np.random.default_rng(0)
    centres, scales = 2 * rng.normal(size=(20, 4)), np.geomspace(1, 10, 4)
    box = {"lower": np.full(4, -1.0), "upper": np.full(4, 0.5)}
    start, options = np.zeros((20, 4)), {"max_iter": 500, "tol": 1e-8}
    X, _ = descend(lambda r, X: quartics(r, X, centres, scales), start, 1.0, **options, **box)
    np.testing.assert_allclose(X, np.clip(centres, -1, 0.5), atol=1e-4)
    X, _ = descend(rosenbrock, start, 1.0, **options, **box)
    bounds = Bounds(box["lower"], box["upper"])
    assert rosen(X[0]) <= minimize(rosen, start[0], jac=rosen_der, method="L-BFGS-B", bounds=bounds).fun + 1e-6
    g = rosen_der(X[0])
    np.testing.assert_allclose(np.clip(X[0] - g, -1, 0.5), X[0], atol=1e-4)  # the first-order condition
    assert X.max() == 0.5


def test_a_descent_ends_on_a_kink():
    centres = np.random.default_rng(0).normal(size=(10, 3))

    def distance(rows, X):
        D = X - centres[rows]
        norms = np.linalg.norm(D, axis=1)
        return norms, D / np.maximum(norms, 1e-300)[:, None]

    X, _ = descend(distance, np.zeros((10, 3)), 1.0, max_iter=200, tol=1e-8)
    np.testing.assert_allclose(X, centres, atol=1e-6)
