"""Python's cycle collector, paused while modules are imported and files are read.

What they make stays, thousands of functions and classes, and every collection looks at all of it: a tenth of the time
until a loaded model answers.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collection() -> Iterator[None]:
    """No collections of cycles inside; one that the user has turned off stays off."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
