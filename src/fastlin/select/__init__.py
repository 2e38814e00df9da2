"""Which features to keep: those seen often enough, those that tell labels apart, those that a model gains from."""

from fastlin.registry import public_names

__all__, __getattr__, __dir__ = public_names(__name__)
