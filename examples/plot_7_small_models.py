"""
A tenth of the rows will do
===========================

A sparse model chooses its rows by maximum likelihood; a compressed one stands for a fitted model. Anchors are ringed.
"""

from mercer import KernelPCA, SparseKernelPCA, compress, datasets, plots
from mercer.kernels import RBF

X, y = datasets.moons()
sparse = SparseKernelPCA(10, n_anchors=30, kernel=RBF(gamma=4)).fit(X)
plots.novelty(sparse, X).set_title("sparse, 30 anchors")

# %%

full = KernelPCA(10, kernel=RBF(gamma=4)).fit(X)
plots.novelty(compress(full, n_anchors=30), X).set_title("compressed to 30 anchors")
