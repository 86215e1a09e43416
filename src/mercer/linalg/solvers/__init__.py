"""Eigensolvers, one file each: frozen dataclasses with ``__call__(A, q, rng)`` that return Ritz pairs in any order.

:func:`mercer.linalg.eigenpairs.eigenpairs` reads these optional class attributes: ``tol``, the residual that the solver
promises; ``strict`` if LAPACK replaces the solver where it does not keep this promise; ``direct`` if convergence need
not be checked; ``complete`` if all pairs cost as much as a few; ``fewest_rows``, up to which ``Exact`` is used instead;
``threaded`` if BLAS may use all threads on large matrices; ``portable = False`` if it supports only NumPy arrays.
"""
