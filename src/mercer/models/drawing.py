"""Pictures as methods of models: what a first look asks for, of the functions of :mod:`mercer.plots`."""

from typing import Any


def pictures() -> Any:
    """The package of pictures, which lies above and is imported when the first one is drawn."""
    import mercer

    return mercer.plots


class DrawsScores:
    """What a model with components shows of itself."""

    explained_variance_ratio_: Any
    transform: Any

    def plot(self, X=None, y=None, ax=None):
        """Draw the first two components of rows, or without rows what each component holds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Rows, drawn by :func:`mercer.plots.scores`; None for :func:`mercer.plots.scree`.
        y : array-like of shape (n_samples,), default=None
            Labels or numbers that colour the rows.
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        ax : matplotlib axes
        """
        if X is None:
            return pictures().scree(self, ax=ax)
        return pictures().scores(self.transform(X), y, ax=ax)


class DrawsRegions:
    """What a classifier shows of itself."""

    def plot(self, X, y, ax=None):
        """Draw the classes over the plane, for rows of two columns: :func:`mercer.plots.regions`.

        Parameters
        ----------
        X : array-like of shape (n_samples, 2)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        ax : matplotlib axes
        """
        return pictures().regions(self, X, y, ax=ax)


class DrawsClusters:
    """What a mixture shows of itself."""

    def plot(self, X, ax=None):
        """Draw rows of two columns in the colours of their clusters: :func:`mercer.plots.responsibilities`.

        Parameters
        ----------
        X : array-like of shape (n_samples, 2)
            Rows.
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        ax : matplotlib axes
        """
        return pictures().responsibilities(self, X, ax=ax)
