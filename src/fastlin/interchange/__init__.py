"""Models to and from other programs: scikit-learn's objects, safetensors; LIBLINEAR, Vowpal Wabbit, CRFsuite."""

from fastlin.registry import public_names

__all__, __getattr__, __dir__ = public_names(__name__)
