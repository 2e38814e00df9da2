"""Docstrings of all that is public: they describe every parameter, those alone, and whatever is returned."""

import inspect

from support.public_members import methods, parameters_of, public_objects, returns_something, sections_of

OBJECTS = public_objects()
CLASSES = {name: value for name, value in OBJECTS.items() if inspect.isclass(value)}
FUNCTIONS = {value for value in OBJECTS.values() if inspect.isfunction(value)} | {
    method for kind in CLASSES.values() for method in methods(kind)
}


def faults(function):
    """What the docstring of a function lacks, or has too many of."""
    found, parameters = sections_of(function.__doc__), parameters_of(function)
    lacking = [f"no {name}" for name in parameters if name not in found.names]
    excess = [f"{name} is no parameter" for name in found.names if name not in parameters]
    returned = returns_something(function) and not found.headings & {"Returns", "Yields"}
    return lacking + excess + ["no Returns"] * returned


def test_what_is_public_is_found():
    assert len(CLASSES) > 90
    assert len(FUNCTIONS) > 300


def test_functions_and_methods_describe_their_parameters_and_what_they_return():
    found = {f"{one.__module__}.{one.__qualname__}": faults(one) for one in FUNCTIONS}
    assert {name: fault for name, fault in found.items() if fault} == {}


def test_classes_describe_what_makes_them():
    """Records describe their fields, and whatever else has a constructor its parameters."""
    found = {
        name: [one for one in parameters_of(kind) if one not in sections_of(kind.__doc__).names]
        for name, kind in CLASSES.items()
        if not issubclass(kind, BaseException) or "__init__" in vars(kind)
    }
    assert {name: lacking for name, lacking in found.items() if lacking} == {}


def test_a_fault_is_found():
    def grow(rows, columns, *more) -> int:
        """Make room.

        Parameters
        ----------
        rows, depth : int
            How many.
        *more
            Whatever else.
        """

    assert faults(grow) == ["no columns", "depth is no parameter", "no Returns"]
    assert faults(inspect.unwrap(test_a_fault_is_found)) == []
