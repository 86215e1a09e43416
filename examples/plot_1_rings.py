"""
Rings, laid side by side
========================

Linear PCA can only turn the plane; kernel PCA tells the rings apart along one component.
"""

from mercer import KernelPCA, datasets, plots
from mercer.kernels import RBF

X, y = datasets.rings()
plots.scores(KernelPCA(2, kernel="linear").fit_transform(X), y).set_title("linear PCA")

# %%
# With a Gaussian kernel every point is known by its neighbours.

model = KernelPCA(2, kernel=RBF(gamma=3)).fit(X)
plots.scores(model.transform(X), y).set_title("kernel PCA")
