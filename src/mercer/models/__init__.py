"""Estimators: compositions of the layers below, with scikit-learn's conventions."""
