"""Language models: counts of n-grams, smoothing, back-off queries, maximum entropy, word classes."""

from fastlin.engine import import_kernels

globals().update(import_kernels(__name__, __path__))
