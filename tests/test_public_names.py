"""What `from fastlin import *` brings, and what it leaves alone."""

import importlib
import inspect
import subprocess
import sys

import pytest

import fastlin

ROOMS = ("channel", "data", "inspection", "lm", "losses", "plot", "select", "sequence", "storage", "text")


def test_all_names_are_classes_functions_and_the_version():
    assert not [name for name in fastlin.__all__ if inspect.ismodule(getattr(fastlin, name))]


def test_no_public_name_is_that_of_a_module_of_the_standard_library():
    assert not set(fastlin.__all__) & set(sys.stdlib_module_names)


def test_a_star_import_leaves_the_standard_library_alone():
    program = "import inspect, select; held = inspect, select; from fastlin import *; assert (inspect, select) == held"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_are_found_by_their_names(room):
    assert getattr(fastlin, room) is importlib.import_module(f"fastlin.{room}")
    assert room in dir(fastlin)
