"""
What each component sees
========================

Components are functions of the plane. The first two tell three clusters apart, the next ones cut them.
"""

from mercer import KernelPCA, datasets, plots
from mercer.kernels import RBF

X, y = datasets.clusters()
model = KernelPCA(4, kernel=RBF(gamma=20)).fit(X)
for j in range(4):
    plots.contours(model, X, component=j)

# %%
# Shares are of the whole variance, also of what no component holds.

plots.scree(model)
