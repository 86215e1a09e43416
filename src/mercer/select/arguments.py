"""Arguments that several selections share: the name of a rule, folds, and a random subset of the samples."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, check_cv


def check_rule(name: str, rule: Any, rules: Iterable[str]) -> None:
    """Raise an error if an argument is not one of the rules."""
    if rule not in rules:
        raise ValueError(f"{name}={rule!r} is unknown: give one of {', '.join(map(repr, rules))}.")


def splitter(cv: Any, random_state: Any) -> Any:
    """Return the splitter for a number of shuffled folds, or for any other value that scikit-learn accepts."""
    return KFold(cv, shuffle=True, random_state=random_state) if isinstance(cv, Integral) else check_cv(cv)


def subset(X: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """Return a random subset of at most ``most`` rows, in their order."""
    return X if len(X) <= most else X[np.sort(rng.choice(len(X), most, replace=False))]
