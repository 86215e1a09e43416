"""
Denoising digits
================

Noisy digits are projected onto the components and reconstructed.
"""

import numpy as np

from mercer import KernelPCA, datasets, plots
from mercer.kernels import RBF

X, y = datasets.digits()
noisy = X[:10] + 0.3 * np.random.default_rng(0).standard_normal((10, 64))
model = KernelPCA(200, kernel=RBF(gamma="median"), preimage="smoother").fit(X[10:])
plots.denoised(model, noisy)

# %%
# Interpolation between two digits in feature space.

plots.walk(model, X[0], X[1])
