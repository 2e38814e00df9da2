"""Closed choices are types: `Literal` in a signature says what the table of parameters or the docstring says."""

import ast
import inspect
import re
import types
import typing

import pytest

from fastlin.model_files import classes
from fastlin.registry import CLASSES, FILE_FORMATS
from fastlin.validation.choices import FileFormatName
from fastlin.validation.parameter_kinds import Absent, Code, Either, Flag, Integer, OneOf
from support.public_members import methods, public_objects

OWN = sorted(name for name in CLASSES if name.startswith("fastlin."))
CLOSED = OneOf | Absent | Integer | Flag  # what leaves no other strings


def strings_of(annotation):
    """The strings of all `Literal`s in a type."""
    if typing.get_origin(annotation) is typing.Literal:
        return {value for value in typing.get_args(annotation) if isinstance(value, str)}
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return {value for part in typing.get_args(annotation) for value in strings_of(part)}
    return set()


def parts_of(kind):
    """The kinds that a parameter's value may have; of code or a choice, the choice."""
    kinds = kind.kinds if isinstance(kind, Either) else (kind,)
    return [part for one in kinds for part in (parts_of(one.kind) if isinstance(one, Code) and one.kind else [one])]


@pytest.mark.parametrize("name", OWN)
def test_the_types_of_a_constructor_are_the_choices_of_its_table(name):
    kind = classes.class_of(name)[0]
    signature = inspect.signature(kind, eval_str=True).parameters
    for parameter, held in kind._parameters.items():
        parts = parts_of(held)
        options = {one for part in parts if isinstance(part, OneOf) for one in part.options if isinstance(one, str)}
        said = strings_of(signature[parameter].annotation)
        if all(isinstance(part, CLOSED) for part in parts):
            assert said == options, parameter
            assert not options or signature[parameter].annotation is not str
        else:
            assert said in (set(), options), parameter


FUNCTIONS = sorted(
    {one for one in public_objects().values() if inspect.isfunction(one)}
    | {method for kind in public_objects().values() if inspect.isclass(kind) for method in methods(kind)},
    key=lambda one: (one.__module__, one.__qualname__),
)


def test_the_types_of_a_function_are_the_choices_of_its_docstring():
    found = {}
    for function in FUNCTIONS:
        for names, listed in re.findall(r"^([\w, ]+?) : \{(\".*?)\}", inspect.cleandoc(function.__doc__), re.MULTILINE):
            for name in names.split(", "):
                annotation = inspect.signature(function, eval_str=True).parameters[name].annotation
                said, options = strings_of(annotation), set(ast.literal_eval(f"[{listed}]"))
                found[function.__qualname__, name] = said == options or annotation is typing.Any
    assert len(found) > 10
    assert [place for place, right in found.items() if not right] == []


def test_formats_of_files_are_those_of_the_registry():
    assert strings_of(FileFormatName) == set(FILE_FORMATS)


def test_a_choice_that_is_missing_is_found():
    assert strings_of(typing.Literal["a", "b"] | int | None) == {"a", "b"}
    assert strings_of(str) == strings_of(typing.Any) == set()
    assert [type(part) for part in parts_of(Code(OneOf("a")) | Absent())] == [OneOf, Absent]
