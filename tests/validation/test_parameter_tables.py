"""The tables of parameters: they say what the constructors take and what the docstrings promise."""

import ast
import inspect
import math
import re

import numpy as np
import pytest

from fastlin.model_files import classes
from fastlin.registry import CLASSES
from fastlin.validation.parameter_kinds import (
    ABSENT,
    BOOL,
    FLAG,
    JOBS,
    VERBOSE,
    Absent,
    Code,
    Either,
    Flag,
    Integer,
    Kind,
    OneOf,
    Real,
    check_parameters,
)

OWN = sorted(name for name in CLASSES if name.startswith("fastlin."))
POOL = (
    None, True, False, np.True_, 0, 1, 2, 3, 7, -1, 2**31, 2**62 - 1, 2**62, 10**400, np.int64(5), 0.0, -0.0, 0.5, 1.0,
    -1.0, 1e-300, 1e300, math.inf, -math.inf, math.nan, np.float32(0.5), np.float16(1), "", "l2", "auto", "absent", "1",
    b"l2", [], [1], (1, 2), {}, {"a": 1.0}, np.zeros(3), object(), len, 1j,
)  # fmt: skip
PROMISED = {Integer: "int", Real: "float", Flag: "bool", Code: "callable"}  # what a docstring says of a kind


def kind_of(name):
    return classes.class_of(name)[0]


def types_of(kind):
    """The types in a docstring's section of parameters, by name; a line may have several names, and as many types."""
    section = re.split(r"^(?:Parameters|Attributes|Examples)\n-+\n", inspect.getdoc(kind), flags=re.MULTILINE)[1]
    for names, said in re.findall(r"^([\w, ]+?) : (.*)$", section, flags=re.MULTILINE):
        names, types = names.split(", "), said.split(", ")
        yield from zip(names, types if len(types) == len(names) else [said] * len(names), strict=True)


def parts_of(kind):
    return kind.kinds if isinstance(kind, Either) else (kind,)


DESCRIBED = [(name, parameter, said) for name in OWN for parameter, said in types_of(kind_of(name))]


@pytest.mark.parametrize("name", OWN)
def test_a_table_has_the_parameters_of_the_constructor_and_their_defaults_pass(name):
    kind = kind_of(name)
    signature = inspect.signature(kind).parameters
    assert set(kind._parameters) == set(signature)
    for key, parameter in signature.items():
        if parameter.default is not inspect.Parameter.empty:
            kind._parameters[key].check(key, parameter.default)
            assert kind._parameters[key].allows(parameter.default), key


@pytest.mark.parametrize("name, parameter, said", DESCRIBED)
def test_a_docstring_promises_what_the_table_takes(name, parameter, said):
    kind = kind_of(name)._parameters[parameter]
    options = {
        ast.literal_eval(option)
        for listed in re.findall(r"\{(.*?)\}", said)
        for option in listed.split(", ")
        if option not in ("float32", "float64")
    }
    for option in options:
        kind.check(parameter, option)
        assert option == "filename" or kind.allows(option) or parameter == "functions"
    plain = re.sub(r"\{.*?\}|\(.*?\)", "", said)
    words = set(re.findall(r"\w+", re.sub(r"(sequence|list|tuple|dict) of \w+|array.*|set of .*", "", plain)))
    assert not words & {"None", "optional"} or kind.allows(None)
    strings = ["a", *(option for part in parts_of(kind) if isinstance(part, OneOf) for option in part.options)]
    for word, values in {"int": (1, 2, 3, 7), "float": (0.5, 1.5), "bool": (True, False), "str": strings}.items():
        assert word not in words or any(map(kind.allows, values)), word
    for part in parts_of(kind):
        if isinstance(part, OneOf) and options:
            assert set(part.options) <= options | ({None} if "None" in words else set())
        wanted = PROMISED.get(type(part))
        assert wanted is None or wanted in words or options & {2, True}, f"{said} does not promise {part.wording}"


@pytest.mark.parametrize("name", OWN)
def test_what_a_file_may_say_a_fit_takes(name):
    for parameter, kind in kind_of(name)._parameters.items():
        for value in POOL:
            if kind.checked and kind.allows(value):
                kind.check(parameter, value)


@pytest.mark.parametrize("name", OWN)
def test_a_check_names_the_parameter_and_the_value(name):
    for parameter, kind in kind_of(name)._parameters.items():
        for value in POOL if kind.checked else ():
            if (error := refusal(kind, parameter, value)) is not None:
                assert isinstance(error, TypeError | ValueError)
                assert str(error).startswith(parameter), error
                assert f"{value!r:.40}" in str(error), error


def refusal(kind, name, value):
    try:
        kind.check(name, value)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("name", OWN)
def test_a_fit_refuses_what_the_table_refuses(name):
    """Every check of the table is made: by `check_parameters`, in the order of the table."""
    kind = kind_of(name)
    made = inspect.signature(kind).parameters
    model = kind.__new__(kind)
    for parameter in made:
        setattr(model, parameter, made[parameter].default)
    check_parameters(model) if inspect.Parameter.empty not in vars(model).values() else None
    for parameter, table in kind._parameters.items():
        before = getattr(model, parameter)
        for value in POOL if table.checked else ():
            setattr(model, parameter, value)
            expected, found = refusal(table, parameter, value), refusal(_Model, "", model)
            assert repr(found) == repr(expected), (parameter, value)
        setattr(model, parameter, before)


class _Model:
    """`check_parameters`, as a kind of a model."""

    @staticmethod
    def check(_, model):
        check_parameters(model)


@pytest.mark.parametrize(
    "kind, taken, refused",
    [
        (
            Real(),
            (0, -1e308, math.inf, np.float32(1), np.int8(-3)),
            (math.nan, -math.inf, True, "1", None, 1j, 10**400),
        ),
        (Real(above=0), (5e-324, math.inf, 1), (0, -0.0, -1)),
        (Real(at_least=0, at_most=1), (0, -0.0, 1, 0.5), (np.nextafter(1, 2), -5e-324, math.inf)),
        (Real(above=0, below=1), (0.5, np.nextafter(1, 0)), (0, 1, 1.0)),
        (Integer(at_least=1), (1, 2**62 - 1, np.uint8(7)), (0, 2**62, 1.0, True, np.True_, None, "1")),
        (Integer(at_least=0, at_most=8), (0, 8), (-1, 9)),
        (OneOf("l1", "l2", None), ("l1", None), ("L1", "", 0, False, b"l1", [])),
        (OneOf(True, False), (True, False), (0, 1, np.True_, "True")),
        (OneOf(1, 2), (1, 2), (True, 1.0, 3)),
        (BOOL, (True, np.False_), (0, 1, None)),
        (FLAG, (True, np.False_, 0, 1), (2, 0.0, None, "yes")),
        (Real(at_least=0) | ABSENT, (None, 0, 0.5), (-1, "1", True)),
        (BOOL | Integer(at_least=0), (True, False, 0, 9), (-1, 0.5, None)),
        (BOOL | OneOf("auto"), (True, np.True_, "auto"), ("aut", 0, None)),
        (OneOf("auto") | Integer(at_least=1), ("auto", 1), ("aut", 0, 1.0, None)),
        (Integer(at_least=1) | Real(at_least=0, at_most=1), (1, 9, 0.0, 1.0, 0.3), (0, -1, 1.5, True, "1")),
        (Real(above=0, below=1) | Integer(at_least=1), (0.5, 1), (1.0, 0, "1", None)),
        (VERBOSE, (True, 0, 3), (-1, 0.5, None, "1")),
        (JOBS, (None, -1, 8), (0, True, 1.0, "many")),
    ],
    ids=lambda value: value.wording if isinstance(value, Kind) else "",
)
def test_a_kind_takes_what_it_says(kind, taken, refused):
    for value in taken:
        kind.check("it", value)
        assert kind.allows(value), value
    for value in refused:
        assert isinstance(refusal(kind, "it", value), TypeError | ValueError), value
        assert not kind.allows(value) or kind in (VERBOSE, JOBS), value


def test_code_is_taken_by_a_fit_and_never_by_a_file():
    for kind in (Code(), Code(OneOf("word"))):
        kind.check("it", len)
        assert not kind.allows(len)
        assert isinstance(refusal(kind, "it", "wort"), TypeError | ValueError)
    assert Code(OneOf("word")).allows("word")
    assert Code().allows(None)
    assert not Code(OneOf("word")).allows(None)


def test_kinds_that_a_fit_does_not_check_are_no_part_of_its_checks():
    assert not Kind(bool, "what is true").checked
    assert not (Integer(at_least=1) | Kind(bool, "what is true")).checked
    assert (Integer(at_least=1) | Kind(bool, "what is true")).allows("yes")
    assert (Absent() | Integer(at_least=1)).checked
