"""The method ``plot`` of the models, by functions of :mod:`mercer.plots` (which imports matplotlib when called)."""

from typing import Any

from .validation import check_in_memory


class ScorePlotMixin:
    """Mixin for models with components."""

    transform: Any

    def plot(self, X: Any = None, y: Any = None, ax: Any = None) -> Any:
        """Draw the first two components of samples, or without samples the explained variance of all components.

        They are drawn by :func:`mercer.plots.scores`, where ``y`` colours the samples, and :func:`mercer.plots.scree`.
        ``ax`` are the matplotlib axes to draw on, by default those of a new figure; they are returned.
        """
        from .. import plots

        check_in_memory(X)
        return plots.scree(self, ax=ax) if X is None else plots.scores(self.transform(X), y, ax=ax)


class RegionPlotMixin:
    """Mixin for classifiers."""

    def plot(self, X: Any, y: Any, ax: Any = None) -> Any:
        """Draw the predicted class over the plane, for samples of two features: :func:`mercer.plots.regions`."""
        from .. import plots

        check_in_memory(X)
        return plots.regions(self, X, y, ax=ax)


class ClusterPlotMixin:
    """Mixin for mixtures."""

    def plot(self, X: Any, ax: Any = None) -> Any:
        """Draw samples of two features, coloured by cluster: :func:`mercer.plots.responsibilities`."""
        from .. import plots

        check_in_memory(X)
        return plots.responsibilities(self, X, ax=ax)
