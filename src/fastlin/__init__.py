"""Fast linear models of sparse data, with scikit-learn's names."""

from fastlin.registry import public_names
from fastlin.version import __version__ as __version__

__all__, __getattr__, __dir__ = public_names(__name__)
__all__ += ["__version__"]
