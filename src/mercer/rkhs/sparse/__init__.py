"""Sparse kernel PCA (Tipping 2001): the likelihood of a weighted covariance, and weights that maximise it."""
