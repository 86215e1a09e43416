"""Eigensolvers, one file each: small frozen settings with ``__call__(A, q, rng)`` that return Ritz pairs in any order.

What the front door (:mod:`mercer.linalg.eigenpairs`) has to know of a solver beyond that, it reads from class
attributes, all of which may be missing: ``tol``, the residual that it promises; ``direct`` where it needs no check of
convergence; ``threaded`` where it lets BLAS use all threads on large matrices; ``portable = False`` where it works on
NumPy arrays only.
"""
