"""Attributes that are made when they are first asked for."""

import threading
from pathlib import Path

import pytest

import fastlin
from fastlin.runtime.made_once import made_once


class Circle:
    def __init__(self, radius):
        self.radius, self.made = radius, 0

    @made_once
    def diameter(self):
        """Twice the radius."""
        self.made += 1
        return [2 * self.radius]


def test_it_is_made_when_it_is_asked_for_and_kept():
    circle = Circle(3)
    assert circle.made == 0
    assert circle.diameter == [6]
    assert circle.diameter is circle.diameter
    assert circle.made == 1
    assert Circle.diameter.__doc__ == "Twice the radius."


def test_threads_that_ask_at_once_keep_one():
    start, seen = threading.Barrier(8), []

    class Slow:
        @made_once
        def value(self):
            start.wait(10)
            return object()

    slow = Slow()
    threads = [threading.Thread(target=lambda: seen.append(slow.value)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(seen) == 8
    assert all(value is slow.value for value in seen)


PACKAGE = Path(fastlin.__file__).parent


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_makes_attributes_behind_a_lock_that_a_fork_may_copy(path):
    """Python 3.11's `functools.cached_property` holds one while it makes; a child of that moment waits for ever."""
    assert path.stem == "made_once" or "cached_property" not in path.read_text()
