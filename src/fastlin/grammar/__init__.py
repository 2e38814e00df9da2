"""Grammars: trees, probabilistic context-free grammars, and how good their trees are."""

from fastlin.registry import public_names

__all__, __getattr__, __dir__ = public_names(__name__)
