"""Channels: words within a few edits, what edits cost, words beside words, the best source of what was observed."""

from fastlin.engine import import_kernels

globals().update(import_kernels(__name__, __path__))
