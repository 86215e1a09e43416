"""The mutants: each replaces a text that occurs once in a file of the package, and names the tests that must fail.

The tests are those whose law the mutant breaks; they take a few seconds.
"""

from typing import NamedTuple


class Mutant(NamedTuple):
    """A wrong version of one file."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def chosen(test: str, *cases: str) -> tuple[str, ...]:
    """Return the names of some cases of a parametrised test."""
    return tuple(f"{test}[{case}]" for case in cases)


def both(test: str, *cases: str) -> tuple[str, ...]:
    """Return the names of some cases, each in float64 and float32."""
    return chosen(test, *(f"{case}-{dtype}" for case in cases for dtype in ("float64", "float32")))


KERNELS = (
    *chosen(
        "tests/laws/test_kernels.py::test_laws",
        "RBF(gamma=0.3)",
        "RBF(gamma='median')",
        "InverseMultiquadric()",
        "Product(k1=RBF(gamma='scale'), k2=Polynomial(degree=2))",
        "Normalized(k1=Polynomial())",
    ),
    *chosen("tests/laws/test_kernels.py::test_kernels_are_those_of_scikit_learn", "rbf, gamma", "cosine, normalised"),
)
OPERATORS = both("tests/laws/test_operators.py::test_laws", "Covariance Gram weighted", "Covariance Gram groups")
SOLVERS = "tests/laws/test_solvers.py::test_laws"
DAVIDSON = both(SOLVERS, "davidson-slow decay", "davidson-gapped")
LANCZOS = both(SOLVERS, "lanczos-cluster inside", "lanczos-identity")
FRONT_DOOR = (
    "tests/laws/test_solvers.py::test_pairs_are_cut_at_the_rank_in_falling_order",
    "tests/laws/test_solvers.py::test_the_front_door_replaces_a_solver_that_fails_and_says_so",
    "tests/laws/test_solvers.py::test_signs_do_not_depend_on_order_duplication_or_the_sign_before",
)
SUBSPACES = (
    "tests/laws/test_subspace.py::test_axes_variances_and_residuals_are_those_of_explicit_features",
    "tests/laws/test_subspace.py::test_axes_are_orthonormal_and_coordinates_have_the_variances",
    "tests/laws/test_subspace.py::test_variance_that_is_not_along_the_axes_is_residual",
    "tests/laws/test_subspace.py::test_an_expansion_is_its_vectors",
)
PREIMAGES = chosen(
    "tests/laws/test_preimage_laws.py::test_laws",
    "FixedPoint(max_iter=100, tol=1e-06, neighbours=10)-RBF(gamma=0.3)",
    "Gradient(max_iter=50, tol=1e-06, bounds=None)-RBF(gamma=0.3)",
    "Gradient(max_iter=50, tol=1e-06, bounds=None)-Polynomial(degree=2, gamma=0.3)",
)
TILES = ("tests/test_tiles.py::test_results_do_not_depend_on_tiles_and_threads",)
LANDMARKS = (
    "tests/test_landmarks.py::test_the_factor_reproduces_the_pivot_columns_and_stays_below_the_matrix",
    "tests/test_landmarks.py::test_all_points_as_landmarks_are_exact",
    "tests/test_landmarks.py::test_a_model_fitted_in_pieces_equals_the_one_fitted_at_once",
    "tests/test_landmarks.py::test_pieces_go_on_after_fit",
)
ZHOU = (
    "tests/papers/test_zhou.py::test_the_mahalanobis_distance",
    "tests/papers/test_zhou.py::test_the_density",
)
MIXTURES = ("tests/papers/test_zhou_mixture.py::test_every_step_of_em_is_that_of_explicit_features",)
NEW_ROWS_OF_MIXTURES = ("tests/papers/test_zhou_mixture.py::test_new_rows_are_judged_as_in_explicit_features",)
CLASSES = chosen(
    "tests/papers/test_zhou_classifier.py::test_the_largest_posterior_21_and_22",
    *(f"{priors}-0.01-2-{shrinkage}" for priors in ("empirical", "[0.6, 0.1, 0.3]") for shrinkage in (0.0, 0.3)),
)
TIPPING = (
    "tests/papers/test_tipping.py::test_the_likelihood_5",
    "tests/papers/test_tipping.py::test_the_gradient_9_and_10",
    "tests/papers/test_tipping.py::test_the_updates_13_and_14",
)
REDUCED = ("tests/test_reduce.py::test_a_reduced_subspace_is_that_of_explicit_features",)
MONITOR = ("tests/laws/test_monitor_laws.py",)
FILES = ("tests/laws/test_files.py",)

MUTANTS = [
    # Kernels
    Mutant(
        "slope of the RBF off by a factor",
        "kernels/radial.py",
        "        k = self.profile(t)\n        return k, -self.gamma * k",
        "        k = self.profile(t)\n        return k, -2 * self.gamma * k",
        ("tests/laws/test_kernels.py::test_values_and_slopes_from_one_evaluation",),
    ),
    Mutant(
        "gradient of radial kernels off by a factor",
        "kernels/base.py",
        "        D = 2 * C * np.where(t > 0",
        "        D = C * np.where(t > 0",
        KERNELS,
    ),
    Mutant(
        "gradient of a product forgets one term",
        "kernels/compose.py",
        "        return self.k1.gradient(X, Z, C * self.k2(X, Z)) + self.k2.gradient(X, Z, C * self.k1(X, Z))",
        "        return self.k1.gradient(X, Z, C * self.k2(X, Z))",
        KERNELS,
    ),
    Mutant(
        "inverse of the inverse multiquadric off",
        "kernels/radial.py",
        "        return (v**-2.0 - 1) / self.gamma",
        "        return (v**-2.0 - 1) / self.gamma * 1.01",
        KERNELS,
    ),
    Mutant(
        "width by the median ignores weights",
        "kernels/width.py",
        "    if weights is None:\n        return _median(t[positive])",
        "    if True:\n        return _median(t[positive])",
        KERNELS,
    ),
    Mutant(
        "a normalised kernel divides by one norm only",
        "kernels/compose.py",
        "        return lambda x: f(x) * _inverse_norms(self.k1.diag(x))[:, None] * z",
        "        return lambda x: f(x) * _inverse_norms(self.k1.diag(x))[:, None]",
        KERNELS,
    ),
    Mutant(
        "distances without ‖z‖²",
        "kernels/base.py",
        "    t += z2\n",
        "",
        KERNELS,
    ),
    # Tiles and operators
    Mutant(
        "a tile skipped",
        "_core/tiles.py",
        "    in_threads(work, tiles)\n    return out[0]",
        "    in_threads(work, tiles[:-1])\n    return out[0]",
        TILES,
    ),
    Mutant(
        "the diagonal tile used twice",
        "_core/tiles.py",
        "V[j, ...], i != j)\n            out[i, ...] += K_V\n            if i != j:",
        "V[j, ...], True)\n            out[i, ...] += K_V\n            if True:",
        TILES,
    ),
    Mutant(
        "lower tiles not mirrored",
        "_core/tiles.py",
        "                K[j, i] = K[i, j].T",
        "                K[j, i] = K[i, j].T * (1 + 1e-6)",
        TILES,
    ),
    Mutant(
        "lanes added out of order",
        "_core/tiles.py",
        "        return [results[first % count][first // count] for first in range(lanes)]",
        "        return [part for result in results for part in result]",
        ("tests/laws/test_operators.py::test_lanes_are_added_in_the_order_of_the_items",),
    ),
    Mutant(
        "float32 accumulated in float32",
        "_core/tiles.py",
        "        out = zeros(V.shape, V)  # sums over many tiles, in float64",
        "        out = zeros(V.shape, V, V.dtype)",
        ("tests/laws/test_operators.py::test_sums_over_many_tiles_keep_their_digits",),
    ),
    Mutant(
        "kept tiles are those of the first row",
        "_core/tiles.py",
        "kept.get((i.start, j.start))",
        "kept.get((0, j.start))",
        ("tests/laws/test_operators.py::test_kept_tiles_are_the_tiles",),
    ),
    Mutant(
        "stored tiles of another scale",
        "linalg/operators.py",
        "V / native.ONE",
        "V / (native.ONE * (1 + 1e-7))",
        ("tests/test_engine.py::test_tiles_that_are_rounded_to_integers_give_the_eigenvalues[float64-RBF(gamma=0.1)]",),
    ),
    Mutant(
        "exponents of far rows from products",
        "_core/native.py",
        "    if not norms.max() <= LARGEST_EXPONENT[X.dtype]:",
        "    if not norms.max() <= np.inf:",
        ("tests/test_native.py::test_products_with_near_and_far_rows_keep_their_digits",),
    ),
    Mutant(
        "Jt without the mean weights",
        "linalg/operators.py",
        "matmul(self._S.T, M)) if self.centred else M)",
        "matmul(self._S.T, M)) if False else M)",
        OPERATORS,
    ),
    Mutant(
        "the diagonal of a covariance without the mean's length",
        "linalg/operators.py",
        " - 2 * own_mean + G @ self.mean_sqnorms",
        " - 2 * own_mean",
        OPERATORS,
    ),
    Mutant(
        "the dense covariance weighted once",
        "linalg/operators.py",
        "        K *= root[j, :].T\n",
        "",
        OPERATORS,
    ),
    Mutant(
        "congruence without weights",
        "linalg/operators.py",
        "root * (f - native.matmul(g, means))",
        "f - native.matmul(g, means)",
        OPERATORS,
    ),
    Mutant(
        "coarse forgets the groups",
        "linalg/operators.py",
        "Covariance(gram, self.w, self.S if self.centred else None, self.groups)",
        "Covariance(gram, self.w, self.S[:, :1] if self.centred else None)",
        OPERATORS,
    ),
    # Solvers and the front door
    Mutant(
        "solver raises",
        "linalg/solvers/davidson.py",
        "        n, coarse = A.shape[0], A.coarse()",
        '        raise __import__("numpy").linalg.LinAlgError("no")',
        DAVIDSON,
    ),
    Mutant(
        "solver returns random vectors",
        "linalg/solvers/davidson.py",
        "            if not worst > enough or passes >= self.max_passes:",
        "            if True:",
        DAVIDSON,
    ),
    Mutant(
        "one pair of a cluster lost",
        "linalg/solvers/lanczos.py",
        "    return rayleigh_ritz(basis, images, q, passes + 3)",
        "    return rayleigh_ritz(V[:, 1:], AV[:, 1:], q, passes + 3)",
        LANCZOS,
    ),
    Mutant(
        "ARPACK starts from the system's entropy",
        "linalg/solvers/lanczos.py",
        "        start, seed = rng.uniform(-1, 1, n).astype(A.dtype), int(rng.integers(2**31))",
        "        rng = np.random.default_rng()\n"
        "        start, seed = rng.uniform(-1, 1, n).astype(A.dtype), int(rng.integers(2**31))",
        LANCZOS,
    ),
    Mutant(
        "Ritz vectors not orthonormal",
        "linalg/ritz.py",
        "        block = block - basis @ (basis.T @ block)\n",
        "",
        DAVIDSON,
    ),
    Mutant(
        "images of other vectors",
        "linalg/ritz.py",
        "    return Ritz(values[first:], vectors, images, passes)",
        "    return Ritz(values[first:], vectors, 1.00001 * images, passes)",
        DAVIDSON,
    ),
    Mutant(
        "the front door accepts every residual",
        "linalg/eigenpairs.py",
        "FAILED = 1e-3  # a residual",
        "FAILED = 1e3  # a residual",
        FRONT_DOOR,
    ),
    Mutant(
        "the front door does not say who took over",
        "linalg/eigenpairs.py",
        'note=f"{cause}; {instead!r} was used instead")',
        'note="")',
        FRONT_DOOR,
    ),
    Mutant(
        "no cut by rank",
        "linalg/eigenpairs.py",
        "    kept = order[in_order > error]",
        "    kept = order[in_order > 0]",
        FRONT_DOOR,
    ),
    Mutant(
        "values in rising order",
        "linalg/eigenpairs.py",
        "    values, vectors = rows(ritz.values, kept), columns(ritz.vectors, kept)",
        "    kept = xp.flip(kept)\n    values, vectors = rows(ritz.values, kept), columns(ritz.vectors, kept)",
        FRONT_DOOR,
    ),
    Mutant(
        "signs by the first row",
        "linalg/signs.py",
        "    flips = xp.sign(skewness)",
        "    flips = xp.sign(Y[0, :])",
        FRONT_DOOR,
    ),
    Mutant(
        "signs ignore weights",
        "linalg/signs.py",
        "    squares = Y * Y\n",
        "    squares = Y * Y\n    w = 0 * w + 1 / max(n, 1)\n",
        FRONT_DOOR,
    ),
    Mutant(
        "landmarks always move to the means",
        "rkhs/landmarks.py",
        "> explained(z)) & (counts > 0)",
        "> 0 * explained(z)) & (counts > 0)",
        ("tests/test_landmarks.py::test_landmarks_move_to_the_means_of_their_rows_where_these_explain_more",),
    ),
    Mutant(
        "the diagonal of a half counts twice",
        "_core/dense.py",
        "upper + xp.triu(A, k=1).T",
        "upper + xp.triu(A, k=0).T",
        LANDMARKS,
    ),
    Mutant(
        "panels of a factor are not eliminated",
        "_core/dense.py",
        "                native.add_product(own, L[",
        "                native.add_product(0 * own, L[",
        ("tests/laws/test_solvers.py",),
    ),
    Mutant(
        "earlier pivots are not eliminated",
        "linalg/cholesky.py",
        "matmul(column - matmul(f, F_new.T), turn)",
        "matmul(column, turn)",
        LANDMARKS,
    ),
    # Subspaces and bases
    Mutant(
        "centring of new rows forgotten",
        "rkhs/subspace.py",
        "        return self.axes(X) - self.offset",
        "        return self.axes(X)",
        SUBSPACES,
    ),
    Mutant(
        "offset's sign",
        "rkhs/subspace.py",
        "        offset = cast(double(B.T) @ A.KS[:, 0], A.dtype)",
        "        offset = -cast(double(B.T) @ A.KS[:, 0], A.dtype)",
        SUBSPACES,
    ),
    Mutant(
        "weights ignored in the mean",
        "rkhs/subspace.py",
        "    S = None if not center else w if mean is None else",
        "    S = None if not center else 0 * w + 1 / len(w) if mean is None else",
        SUBSPACES,
    ),
    Mutant(
        "r² without the mean",
        "rkhs/subspace.py",
        "            found.append((Y, s.mean_sqnorm - 2 * along[:, j - 1] - xp.sum(Y * Y, axis=1)))",
        "            found.append((Y, -xp.sum(Y * Y, axis=1)))",
        SUBSPACES,
    ),
    Mutant(
        "λ on the wrong scale",
        "rkhs/subspace.py",
        "        variances=pairs.values,\n        total_variance=_total(",
        "        variances=pairs.values * X.shape[0],\n        total_variance=_total(",
        SUBSPACES,
    ),
    Mutant(
        "axes not of unit length",
        "rkhs/subspace.py",
        "        B = cast(A.J(pairs.vectors) / xp.sqrt(pairs.values), A.dtype)",
        "        B = cast(A.J(pairs.vectors), A.dtype)",
        SUBSPACES,
    ),
    Mutant(
        "lifted vectors without the mean",
        "rkhs/subspace.py",
        "        return replace(self.axes @ Y.T + self.mean, squares=squares)",
        "        return replace(self.axes @ Y.T, squares=squares)",
        SUBSPACES,
    ),
    Mutant(
        "training coordinates ignore weights",
        "rkhs/subspace.py",
        "        w = 1 / self.axes.B.shape[0] if weights is None else weights[:, None]",
        "        w = 1 / self.axes.B.shape[0]",
        ("tests/laws/test_subspace.py::test_training_coordinates_are_those_of_the_rows",),
    ),
    Mutant(
        "moments not centred",
        "rkhs/subspace.py",
        "    C = moments.second / moments.count - f_mean[:, None] * f_mean",
        "    C = moments.second / moments.count",
        LANDMARKS,
    ),
    Mutant(
        "landmarks not orthonormalised",
        "rkhs/basis.py",
        "        R = inverse_of_lower(L).T if len(kept) else L",
        "        R = L.T if len(kept) else L",
        LANDMARKS,
    ),
    Mutant(
        "second moments ignore weights",
        "rkhs/basis.py",
        "                f *= cast(namespace(w).sqrt(w), f.dtype)[:, None]",
        "                f = f * 1.0",
        LANDMARKS,
    ),
    Mutant(
        "single precision for nearly dependent landmarks",
        "rkhs/basis.py",
        "SINGLE_CONDITION = 1e3 ",
        "SINGLE_CONDITION = 1e30 ",
        ("tests/test_landmarks.py::test_moments_of_rows_in_single_precision_are_those_in_double",),
    ),
    Mutant(
        "partial_fit forgets the first batch",
        "rkhs/refresh.py",
        "    total = seen + batch",
        "    total = batch",
        LANDMARKS,
    ),
    Mutant(
        "inner products of expansions without coefficients",
        "rkhs/expansion.py",
        "        return self.B.T @ other(self.Z)",
        "        return other(self.Z)[: len(self)] * 1.0",
        SUBSPACES,
    ),
    # Densities
    Mutant(
        "ρ off by a factor",
        "rkhs/gaussian.py",
        "    return float(tail / (dimensions - q))",
        "    return float(tail / dimensions)",
        ("tests/papers/test_zhou.py::test_the_noise_is_the_mean_variance_that_the_axes_leave",),
    ),
    Mutant(
        "the density without its determinant",
        "rkhs/gaussian.py",
        "mahalanobis(Y, r2, lam, rho) + namespace(lam).sum(namespace(lam).log(lam / rho))",
        "mahalanobis(Y, r2, lam, rho)",
        ZHOU,
    ),
    Mutant(
        "the Mahalanobis distance without the noise",
        "rkhs/gaussian.py",
        ", axis=1) + r2 / rho",
        ", axis=1)",
        ZHOU,
    ),
    Mutant(
        "latent variables not shrunk",
        "rkhs/gaussian.py",
        "namespace(Y).sqrt((1 - self.rho / self._lam) / self._lam)",
        "namespace(Y).sqrt(1 / self._lam)",
        ("tests/papers/test_deplaen.py::test_the_latent_variable_from_features_and_from_kernels",),
    ),
    Mutant(
        "samples with the variance of the noise for its deviation",
        "rkhs/gaussian.py",
        "        noise = sqrt(self.rho) * ",
        "        noise = self.rho * ",
        ("tests/papers/test_deplaen.py::test_the_covariance_of_many_samples",),
    ),
    Mutant(
        "energies of many ρ take one",
        "rkhs/gaussian.py",
        "np.repeat(np.asarray(rho, float), len(q))",
        "np.tile(np.asarray(rho, float), len(q))",
        ("tests/papers/test_zhou.py::test_energies_of_many_noises_and_numbers_of_axes_are_those_of_each",),
    ),
    # Mixtures and classes
    Mutant(
        "responsibilities not normalised",
        "rkhs/mixture.py",
        "    return np.exp(logs - log_p[:, None]), log_p",
        "    return np.exp(logs - logs.max(axis=1)[:, None]), log_p",
        MIXTURES,
    ),
    Mutant(
        "EM weights of clusters ignore responsibilities",
        "rkhs/em.py",
        "weights, shares = m / m.sum(), ",
        "weights, shares = np.full(len(m), 1 / len(m)), ",
        MIXTURES,
    ),
    Mutant(
        "the covariance of a cluster about the mean of all",
        "rkhs/mixture.py",
        "    lam, V = _leading(Covariance(Dense(K), w[own], w[own]), q, rounded)",
        "    lam, V = _leading(Covariance(Dense(K), w[own], np.full(len(own), 1 / len(own))), q, rounded)",
        MIXTURES,
    ),
    Mutant(
        "a mixture judges new rows without the weights of clusters",
        "rkhs/mixture.py",
        "            return np.log(self.weights) - np.column_stack(energies) / 2",
        "            return -np.column_stack(energies) / 2",
        NEW_ROWS_OF_MIXTURES,
    ),
    Mutant(
        "shrinkage toward the class",
        "rkhs/classes.py",
        "        wc = (1 - shrinkage) * S[:, c] + shrinkage * w",
        "        wc = shrinkage * S[:, c] + (1 - shrinkage) * w",
        CLASSES,
    ),
    Mutant(
        "classes without their priors",
        "rkhs/classes.py",
        "for (Y, r2), s in both]) + log_prior",
        "for (Y, r2), s in both])",
        CLASSES,
    ),
    Mutant(
        "the noise of classes by unweighted variances",
        "rkhs/classes.py",
        "    return float(sum(p * subspace.total_variance for p, subspace in zip(shares, subspaces, strict=True)))",
        "    return float(sum(subspace.total_variance for p, subspace in zip(shares, subspaces, strict=True)))",
        CLASSES,
    ),
    Mutant(
        "ties go to the smallest prior",
        "rkhs/classes.py",
        "    winner = prior.argmax(axis=0)[None]",
        "    winner = np.where(np.isinf(prior), np.inf, prior).argmin(axis=0)[None]",
        ("tests/papers/test_zhou_classifier.py::test_ties_go_to_the_finer_energy_and_then_to_the_larger_prior",),
    ),
    # Sparse kernel PCA
    Mutant(
        "the sparse likelihood without its determinant",
        "rkhs/sparse/likelihood.py",
        "        self.value = -(log_det + (data.trace",
        "        self.value = -((data.trace",
        TIPPING,
    ),
    Mutant(
        "the step of EM without w",
        "rkhs/sparse/likelihood.py",
        "        return self.w * (1 + self.wR - self.wS)",
        "        return 1 + self.wR - self.wS",
        TIPPING,
    ),
    Mutant(
        "R of the candidates without the cross term",
        "rkhs/sparse/likelihood.py",
        " @ PK - 2 * data.M[a]",
        " @ PK - data.M[a]",
        TIPPING,
    ),
    Mutant(
        "the second moment of candidates ignores weights",
        "rkhs/sparse/likelihood.py",
        "        F = k(in_float64(x)) * np.sqrt(p)[:, None]",
        "        F = k(in_float64(x)) / np.sqrt(len(X))",
        ("tests/papers/test_tipping.py::test_weights_of_rows_are_repetitions",),
    ),
    Mutant(
        "newton stops after one addition",
        "rkhs/sparse/weights.py",
        "        if C.slack <= tol and (full or C.kkt <= tol):",
        "        if C.slack <= tol:",
        ("tests/papers/test_tipping.py::test_the_weights_are_a_maximum",),
    ),
    # Pre-images and reduced sets
    Mutant(
        "fixed point does not move",
        "preimage/fixed_point.py",
        "            X = with_rows(X, going, moved)",
        "            X = with_rows(X, going, rows(X, going))",
        PREIMAGES,
    ),
    Mutant(
        "descent climbs",
        "preimage/descent.py",
        "        return -D\n",
        "        return D\n",
        PREIMAGES,
    ),
    Mutant(
        "gradient of the distance off by a factor",
        "preimage/gradient.py",
        "        slope *= 2 * G\n",
        "        slope *= G\n",
        ("tests/laws/test_preimage_laws.py::test_the_slope_of_the_distance_is_its_derivative",),
    ),
    Mutant(
        "distances without the length of the vector",
        "preimage/distances.py",
        " + (1 - target.sqnorms()[:, None]) / 2",
        "",
        ("tests/laws/test_preimage_laws.py::test_distances_take_the_length_of_the_vector",),
    ),
    Mutant(
        "the learned map forgets the mean",
        "preimage/learned.py",
        " - subspace.offset) + mean",
        " - subspace.offset)",
        ("tests/laws/test_preimage_laws.py::test_learned_is_ridge_regression_on_coordinates",),
    ),
    Mutant(
        "the report's error without the vector's square",
        "preimage/base.py",
        "distances(target, X) + target.sqnorms(), 0, None)",
        "distances(target, X), 0, None)",
        PREIMAGES,
    ),
    Mutant(
        "a reduced set keeps the old offset",
        "preimage/reduce.py",
        "        offset=(U.T @ c_mean).astype(dtype),",
        "        offset=subspace.offset,",
        REDUCED,
    ),
    Mutant(
        "reduced axes not orthonormal",
        "preimage/reduce.py",
        "    U, root_G = left @ right, right.T * cosines @ right",
        "    U, root_G = c_axes, right.T * cosines @ right",
        REDUCED,
    ),
    Mutant(
        "a reduced set chooses rows without eliminating",
        "preimage/reduce.py",
        "        F -= np.outer(L[:, t], c)\n",
        "",
        ("tests/papers/test_slides.py::test_each_row_of_a_reduced_set_lowers_the_errors",),
    ),
    # Monitoring and leave-one-out
    Mutant(
        "each chart has the joint rate",
        "models/monitor/limits.py",
        "    return -np.expm1(np.log1p(-alpha) / 2)",
        "    return -np.expm1(np.log1p(-alpha))",
        MONITOR,
    ),
    Mutant(
        "leave-one-out divides by n",
        "rkhs/leave_one_out.py",
        "    c, away = (1 / (n - 1), n / (n - 1)) if center else (1 / n, 1.0)",
        "    c, away = (1 / n, n / (n - 1)) if center else (1 / n, 1.0)",
        MONITOR,
    ),
    Mutant(
        "a row left out is not moved away from the mean",
        "rkhs/leave_one_out.py",
        "        along = away * _lengths(squares, apart, c)",
        "        along = _lengths(squares, apart, c)",
        MONITOR,
    ),
    # Registries and files
    Mutant(
        "two classes of one name",
        "_core/registry.py",
        "        if before is not None and (before.__module__",
        "        if False and (before.__module__",
        FILES,
    ),
    Mutant(
        "a file may set what a class does not have",
        "io/decode.py",
        "    if unknown:\n",
        "    if False:\n",
        FILES,
    ),
    Mutant(
        "coefficients of a file need not fit its points",
        "io/schema.py",
        "    if len(expected) != value.ndim or not all(fits):",
        "    if len(expected) != value.ndim:",
        FILES,
    ),
    Mutant(
        "sparse indices of a file are not checked",
        "io/decode.py",
        "    matrix.check_format(full_check=True)",
        "    matrix.check_format(full_check=False)",
        FILES,
    ),
    Mutant(
        "the digest of a file is not compared",
        "io/archive.py",
        '        if hashlib.sha256(data.data).hexdigest() != self.manifest["arrays"][name]:',
        "        if False:",
        FILES,
    ),
]
