"""Batch solvers: dual coordinate ascent, iterative scaling, EM, k-means, gains of features."""

from fastlin.engine import import_kernels

globals().update(import_kernels(__name__, __path__))
