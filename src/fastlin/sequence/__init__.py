"""Models of sequences: taggers whose inference is a chain."""

from fastlin.registry import public_names

__all__, __getattr__, __dir__ = public_names(__name__)
