"""One name, one meaning: classes and structs of the package that share a name are few, and each has a reason."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import fastlin.dask

SOURCE = Path(__file__).parent.parent / "src" / "fastlin"  # an installed package has no kernels' sources
COMPILED = re.compile(
    r"^[ \t]*(?:cdef class|cdef struct|ctypedef struct|cdef packed struct|class)[ \t]+(\w+)", re.MULTILINE
)
SHARED = {
    "Chain": "sequence/chain has the public class, engine/chain/chain the struct that its kernels see",
    "TrainingRows": "optim/epochs has what a learner is given, engine/online/minibatch what kernels see of it",
    "TransitionWeights": "inspection/transitions shows to a user the weights that sequence/transition_weights lays out",
}


def classes_of(path: Path) -> set[str]:
    if path.suffix == ".py":
        return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)}
    return set(COMPILED.findall(path.read_text()))


def shared_names(folder: Path) -> dict[str, list[str]]:
    """The names of classes and structs that several modules define, with the modules; a .pyx and its .pxd are one."""
    homes = defaultdict(set)
    for path in folder.rglob("*.p*"):
        if path.suffix in (".py", ".pyx", ".pxd"):
            for name in classes_of(path):
                homes[name].add(path.relative_to(folder).with_suffix("").as_posix())
    return {name: sorted(modules) for name, modules in sorted(homes.items()) if len(modules) > 1}


def test_a_class_has_a_name_of_its_own():
    found = shared_names(SOURCE)
    for name in [name for name, homes in found.items() if any(home.startswith("dask/") for home in homes)]:
        assert name in fastlin.dask.__all__, "a learner on a cluster has the name of the one that is its base"
        del found[name]
    assert set(found) == set(SHARED), f"names with several homes: {found}; rename one, or say in SHARED why not"
    assert len(SHARED) < 10


@pytest.mark.parametrize(
    "suffix, line",
    [
        (".py", "class Twin:\n    pass\n"),
        (".pyx", "cdef class Twin:\n    pass\n"),
        (".pxd", "cdef struct Twin:\n    int n\n"),
    ],
)
def test_a_name_with_two_homes_is_found(tmp_path, suffix, line):
    (tmp_path / f"one{suffix}").write_text(line)
    (tmp_path / "one.pyi").write_text("class Twin: ...\n")
    assert shared_names(tmp_path) == {}
    (tmp_path / "two.py").write_text("class Twin:\n    pass\n")
    assert shared_names(tmp_path) == {"Twin": ["one", "two"]}
