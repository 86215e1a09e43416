"""
Density and samples
===================

A probabilistic model is a density: it scores rows and generates new ones.
"""

from mercer import ProbabilisticKernelPCA, datasets, plots
from mercer.kernels import RBF

X, y = datasets.moons()
model = ProbabilisticKernelPCA(10, kernel=RBF(gamma=4), noise_variance=0.01, random_state=0).fit(X)
new, _ = model.sample(150)
ax = plots.density(model, X)
ax.scatter(new[:, 0], new[:, 1], s=12, color="#ec6a1f")
