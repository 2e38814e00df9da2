"""Chains of labels: forward–backward, Viterbi, n-best, beams, and the learners of taggers."""

from fastlin.engine import import_kernels

globals().update(import_kernels(__name__, __path__))
