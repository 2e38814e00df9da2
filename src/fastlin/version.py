"""The version of this package, which model files name."""

__version__ = "0.1.0"
