"""Sparse kernel PCA (Tipping 2001): the likelihood of a weighted covariance, and the weights that maximise it."""
