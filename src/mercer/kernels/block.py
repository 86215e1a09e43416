"""The part of a precomputed kernel matrix that a model needs once it keeps few rows."""

import numpy as np

from .given import Precomputed, _are_row_numbers


class PrecomputedBlock(Precomputed):
    """k between some rows of a precomputed matrix: the rest of the matrix is forgotten.

    Rows that come later carry k(x, training rows) as before; of those, only the columns of ``numbers`` are read.
    """

    numbers: np.ndarray

    @classmethod
    def of(cls, kernel, Z):
        """The block of a bound kernel on the row numbers Z."""
        block = cls(kernel.diagonal)
        block.numbers = np.unique(Z[:, 0])
        rows = block.numbers[:, None]
        block.K = kernel(rows, rows)
        return block

    def onto(self, Z):
        columns = self._places(Z)
        return lambda x: self.K[self._places(x)][:, columns] if _are_row_numbers(x) else x[:, Z[:, 0]]

    def diag(self, X):
        if _are_row_numbers(X):
            return self.K.diagonal()[self._places(X)]
        return super().diag(X)

    def _places(self, Z):
        return np.searchsorted(self.numbers, Z[:, 0])
