"""
Nonlinear clusters
==================

A mixture in feature space follows curved clusters, which a Gaussian mixture splits.
"""

from sklearn.mixture import GaussianMixture

from mercer import KernelPCAMixture, datasets, plots
from mercer.kernels import RBF

X, y = datasets.two_cs()
plots.responsibilities(GaussianMixture(2, random_state=0).fit(X), X).set_title("Gaussian mixture")

# %%

mixture = KernelPCAMixture(2, kernel=RBF.from_sigma(8), random_state=0).fit(X)
plots.responsibilities(mixture, X).set_title("kernel PCA mixture")
