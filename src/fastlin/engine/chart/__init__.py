"""Charts of grammars: the best derivation, the sum over all of them, and how often each rule is expected in them."""

from fastlin.engine import import_kernels

globals().update(import_kernels(__name__, __path__))
