"""A drop-in replacement for scikit-learn's ``KernelPCA``: only the import changes.

>>> from mercer.dropin import KernelPCA  # instead of sklearn.decomposition
>>> from sklearn.datasets import load_iris
>>> KernelPCA(2, kernel="rbf", gamma=0.1).fit_transform(load_iris().data).shape
(150, 2)
"""

from .models.dropin import KernelPCA

__all__ = ["KernelPCA"]
