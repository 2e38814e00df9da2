"""Language models: what the next word is, and how probable a text."""

from fastlin.registry import public_names

__all__, __getattr__, __dir__ = public_names(__name__)
