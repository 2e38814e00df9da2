"""scikit-learn's own test modules, with fastlin's classes in the place of their twins.

A module of tests is compiled anew under another name. Behind every import at its top stands an assignment that puts
ours in: for a name that fastlin has, ours; for a module or package that offers such names, a stand-in that offers ours
and, of the rest, theirs. So parametrisations, which Python evaluates while it imports, see ours as well.
"""

import ast
import functools
import importlib
import importlib.util
import inspect
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fastlin
from fastlin import registry, select, text

HOMES = (  # where scikit-learn offers what fastlin has a twin of
    "sklearn.cluster",
    "sklearn.feature_extraction",
    "sklearn.feature_extraction.text",
    "sklearn.feature_selection",
    "sklearn.linear_model",
    "sklearn.naive_bayes",
    "sklearn.neighbors",
    "sklearn.svm",
)
REPLACE = "__put_ours_in__"


@functools.cache
def twins() -> dict[str, Any]:
    """What fastlin has of the names that scikit-learn offers, by name."""
    offered = {name: getattr(fastlin, name) for name in registry.PUBLIC["fastlin"]}
    offered |= {name: getattr(text, name) for name in registry.PUBLIC["fastlin.text"]}
    offered |= {name: getattr(select, name) for name in registry.PUBLIC["fastlin.select"]}
    theirs = {name: getattr(module, name) for module in map(importlib.import_module, HOMES) for name in module.__all__}
    return {name: ours for name, ours in offered.items() if name in theirs and ours is not theirs[name]}


class StandIn(types.ModuleType):
    """A module of scikit-learn that offers ours where there is a twin."""

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(module.__name__)
        self.__wrapped_module = module

    def __getattr__(self, name: str) -> Any:
        return ours_for(name, getattr(self.__wrapped_module, name))


def ours_for(name: str, theirs: Any) -> Any:
    """What a test module gets for what it imports."""
    if isinstance(theirs, types.ModuleType) and theirs.__name__ in HOMES:
        return StandIn(theirs)
    if isinstance(theirs, type | types.FunctionType) and theirs.__module__.startswith("sklearn"):
        return twins().get(theirs.__name__, theirs)
    return theirs


class PrivateAssertions(ast.NodeTransformer):
    """Takes out assertions about attributes that are private in scikit-learn; the rest of such a test stays."""

    def __init__(self, names: tuple[str, ...]) -> None:
        assert all(name.startswith("_") for name in names), names
        self.names, self.met = names, set[str]()

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        """An assertion, or nothing in its place."""
        parts = [each for each in ast.walk(node) if isinstance(each, ast.Attribute | ast.Constant)]
        about = {each.attr if isinstance(each, ast.Attribute) else each.value for each in parts} & {*self.names}
        self.met |= about
        return ast.copy_location(ast.Pass(), node) if about else node


def tests_of(name: str, *private: str) -> dict[str, Any]:
    """The tests and fixtures of a test module of scikit-learn, made anew with ours in the place of theirs.

    What they assert about `private` attributes is left out.
    """
    specification = importlib.util.find_spec(name)
    assert specification is not None, name
    assert specification.origin is not None, name
    path = Path(specification.origin)
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    assertions = PrivateAssertions(private)
    tree = assertions.visit(tree)
    assert assertions.met == set(private), f"{name} asserts nothing about {set(private) - assertions.met}"
    tree.body = list(_with_ours(tree.body))
    alias = "with_ours_" + name.replace(".", "_")
    module = sys.modules[alias] = types.ModuleType(alias)  # pickle finds its functions there
    module.__dict__.update({"__file__": str(path), "__package__": name.rpartition(".")[0], REPLACE: ours_for})
    exec(compile(ast.fix_missing_locations(tree), str(path), "exec"), module.__dict__)
    for test in vars(module).values():
        if hasattr(test, "pytestmark"):
            test.pytestmark = [_of_lists(mark) for mark in test.pytestmark]
    return {key: value for key, value in vars(module).items() if not key.startswith("__")}


def _of_lists(mark: pytest.Mark) -> pytest.Mark:
    """The mark; if it parametrises by an iterator, which pytest is about to refuse, by a list."""
    if mark.name != "parametrize" or len(mark.args) < 2:
        return mark
    names, values, *rest = mark.args
    return pytest.mark.parametrize(names, list(values), *rest, **mark.kwargs).mark


def _with_ours(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, each import of names followed by what puts ours in."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                bound = alias.asname or alias.name
                yield from ast.parse(f"{bound} = {REPLACE}({bound!r}, {bound})").body


def mentioned_twins(test: Any, parameters: dict[str, Any]) -> set[str]:
    """The twins that a test looks up, itself or in the functions of its module that it calls, or is given."""
    ours = {id(value): name for name, value in twins().items()}
    given = [part for value in parameters.values() for part in _parts(value)]
    found = {ours[id(part)] for part in given if id(part) in ours}
    for function in [inspect.unwrap(test), *filter(inspect.isfunction, given)]:
        found |= _looked_up(function, ours, set())
    return found


def mentioned_names(test: Any, parameters: dict[str, Any]) -> set[str]:
    """The names that a test looks up, in itself and in the functions that it is given."""
    given = [part for value in parameters.values() for part in _parts(value) if inspect.isfunction(part)]
    return {name for function in [inspect.unwrap(test), *given] for name in _names_of(function.__code__)}


def _parts(value: Any) -> Iterator[Any]:
    """A parameter of a test, its class, and what a list of them holds."""
    yield value
    yield from type(value).__mro__
    if inspect.isclass(value):
        yield from value.__mro__
    if isinstance(value, list | tuple):
        for item in value:
            yield from _parts(item)


def _looked_up(function: Any, ours: dict[int, str], seen: set[Any]) -> set[str]:
    if function in seen or not hasattr(function, "__code__"):
        return set()
    seen.add(function)
    names = set(_names_of(function.__code__))
    found = set()
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        if id(value) in ours:
            found.add(ours[id(value)])
        elif isinstance(value, StandIn):
            found |= {known for known in names & twins().keys() if getattr(value, known, None) is twins()[known]}
        elif inspect.isfunction(value) or inspect.isclass(value):
            for method in [value] if inspect.isfunction(value) else _own_code(value):
                found |= _looked_up(inspect.unwrap(method), ours, seen) if _is_of(method, function) else set()
            if inspect.isclass(value):
                found |= {ours[id(base)] for base in value.__mro__ if id(base) in ours}
    return found


def _own_code(kind: type) -> list[Any]:
    return [method for method in vars(kind).values() if inspect.isfunction(method)]


def _is_of(function: Any, other: Any) -> bool:
    return inspect.isfunction(function) and function.__globals__ is other.__globals__


def _names_of(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        if isinstance(constant, types.CodeType):
            yield from _names_of(constant)
