"""What every kernel stands on: sparse rows, proofs of their form, passes over them, memory, exact functions."""

from fastlin.engine import import_kernels

globals().update(import_kernels(__name__, __path__))
