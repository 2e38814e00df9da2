"""The rooms of the package, from the top: a module may import from its own room and from those below it."""

from pathlib import Path

import fastlin

PACKAGE = Path(fastlin.__file__).parent
ROOMS_FROM_THE_TOP = """
    __main__ cli demo onnx interchange plot dask
    __init__ model_files channel lm grammar sequence inspection select naive_bayes mixture
    cluster linear optim losses text features core data storage runtime validation engine registry version
"""
LAYERS = ROOMS_FROM_THE_TOP.split()
