"""Eigensolvers, one file each: frozen dataclasses with ``__call__(A, q, rng)`` that return Ritz pairs in any order.

:func:`mercer.linalg.eigenpairs.eigenpairs` reads these optional class attributes: ``tol``, the residual that the solver
promises; ``direct`` if convergence need not be checked; ``threaded`` if BLAS may use all threads on large matrices;
``portable = False`` if it supports only NumPy arrays.
"""
