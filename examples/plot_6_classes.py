"""
Classification
==============

One Gaussian in feature space for each class; colours fade where the classifier is uncertain.
"""

from mercer import KernelPCAClassifier, datasets, plots
from mercer.kernels import RBF

X, y = datasets.rings()
classifier = KernelPCAClassifier(kernel=RBF(gamma=4)).fit(X, y)
plots.regions(classifier, X, y)
