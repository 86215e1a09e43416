"""
Concentric rings
================

Linear PCA can only rotate the plane; two kernel principal components separate the rings.
"""

from mercer import KernelPCA, datasets, plots
from mercer.kernels import RBF

X, y = datasets.rings()
plots.scores(KernelPCA(2, kernel="linear").fit_transform(X), y).set_title("linear PCA")

# %%
# A Gaussian kernel describes each point by its neighbours, and the three rings come apart.

model = KernelPCA(2, kernel=RBF(gamma=3)).fit(X)
plots.scores(model.transform(X), y).set_title("kernel PCA")
