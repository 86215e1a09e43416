"""
Sparse and compressed models
============================

A sparse model selects anchors by maximum likelihood; a compressed model approximates a fitted one. Anchors are circled.
"""

from mercer import KernelPCA, SparseKernelPCA, compress, datasets, plots
from mercer.kernels import RBF

X, y = datasets.moons()
sparse = SparseKernelPCA(10, n_anchors=30, kernel=RBF(gamma=4)).fit(X)
plots.novelty(sparse, X).set_title("sparse, 30 anchors")

# %%

full = KernelPCA(10, kernel=RBF(gamma=4)).fit(X)
plots.novelty(compress(full, n_anchors=30), X).set_title("compressed to 30 anchors")
