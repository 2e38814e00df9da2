"""Online learning of linear models: one epoch of any loss with any update rule."""

from fastlin.engine import import_kernels

globals().update(import_kernels(__name__, __path__))
