"""Text: characters, tokens, n-grams, vocabularies, templates, numbers."""

from fastlin.engine import import_kernels

globals().update(import_kernels(__name__, __path__))
