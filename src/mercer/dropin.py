"""scikit-learn's ``KernelPCA`` on this engine: switching is one import.

>>> from mercer.dropin import KernelPCA  # instead of sklearn.decomposition
>>> from sklearn.datasets import load_iris
>>> KernelPCA(2, kernel="rbf", gamma=0.1).fit_transform(load_iris().data).shape
(150, 2)
"""

from .models.dropin import KernelPCA

__all__ = ["KernelPCA"]
