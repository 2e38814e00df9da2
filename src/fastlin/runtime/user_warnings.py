"""Warnings that point to the line of whoever called the library, however many of its own functions lie in between."""

import sys
import warnings


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of something in the nearest calling line that is neither this package's nor scikit-learn's."""
    level, frame = 1, sys._getframe()
    while frame.f_globals.get("__name__", "").partition(".")[0] in ("fastlin", "sklearn") and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
