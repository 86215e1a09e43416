"""
What each component describes
=============================

Components are functions of the plane. The first two separate three clusters, the next ones split them.
"""

from mercer import KernelPCA, datasets, plots
from mercer.kernels import RBF

X, y = datasets.clusters()
model = KernelPCA(4, kernel=RBF(gamma=20)).fit(X)
for j in range(4):
    plots.contours(model, X, component=j)

# %%
# Shares are relative to the total variance, not only to that of the computed components.

plots.scree(model)
