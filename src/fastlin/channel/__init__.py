"""The noisy channel: what was meant, given what was observed."""

from fastlin.registry import public_names

__all__, __getattr__, __dir__ = public_names(__name__)
