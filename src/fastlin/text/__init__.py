"""Text to matrices: vectorisers with scikit-learn's names and output, richer features that compose with them."""

from fastlin.registry import public_names

__all__, __getattr__, __dir__ = public_names(__name__)
