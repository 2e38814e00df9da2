"""The table of public names: what is made of it agrees with it, and no name in it is an import that points up."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import fastlin
from fastlin.data import FORMATS
from fastlin.registry import CLASSES, FILE_FORMATS, PUBLIC
from support import stubs
from support.layers import LAYERS, PACKAGE

BY_NAME = {  # the modules that import what a string says, and which modules these may be
    "cli/__init__.py": "the commands, modules of the same room",
    "data/zstd.py": "other packages' decompressors",
    "engine/__init__.py": "the kernels of the build that was chosen",
    "model_files/classes.py": "classes and codecs of the registry, all in rooms below",
    "registry.py": "public names, for the package that offers them, and readers of file formats",
    "runtime/sklearn_import.py": "scikit-learn, and libraries that it imports",
    "runtime/folder_lock.py": "what one system of two has: fcntl or msvcrt",
}
ENTRIES = [(package, name, entry) for package, names in PUBLIC.items() for name, entry in names.items()]


def room_of(module):
    return [*module.split("."), "__init__"][1]


@pytest.mark.parametrize("package", PUBLIC)
def test_type_checkers_see_the_names_of_the_table(package):
    assert stubs.place(package).read_text() == stubs.stub_of(package), "run tests/support/stubs.py"


@pytest.mark.parametrize("package, name, entry", ENTRIES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_package_offers_what_the_table_says(package, name, entry):
    module = importlib.import_module(package)
    found = getattr(module, name)
    assert name in dir(module)
    assert name in module.__all__
    assert found is (getattr(module, entry.attribute) if entry.attribute else found)
    if inspect.isclass(found) or inspect.isfunction(found):
        assert found.__module__.startswith(entry.module) or not entry.module.startswith("fastlin")


@pytest.mark.parametrize("package", PUBLIC)
def test_an_unknown_name_is_an_error_of_its_package(package):
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'Perceptrom'"):
        importlib.import_module(package).Perceptrom  # noqa: B018


@pytest.mark.parametrize("package", PUBLIC)
def test_a_package_offers_nothing_from_above(package):
    for name, entry in PUBLIC[package].items():
        if entry.module.startswith("fastlin"):
            above = LAYERS.index(room_of(entry.module)) < LAYERS.index(room_of(package))
            assert not above, f"{package} offers {name} from {entry.module}"


def test_codecs_are_looked_up_above_all_that_have_some():
    for name, (_, entry) in CLASSES.items():
        for module in (entry.module, entry.codec):
            if module.startswith("fastlin"):
                assert LAYERS.index(room_of(module)) >= LAYERS.index("model_files"), f"{name}: {module}"


def imports_by_name(path):
    """Whether a module imports what a string says; what a string of it alone says is read."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute | ast.Name):
            called = node.attr if isinstance(node, ast.Attribute) else node.id
            if called in ("import_module", "__import__"):
                return True
    return False


def test_no_other_module_imports_by_name():
    found = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if imports_by_name(path)}
    assert found == set(BY_NAME)


@pytest.mark.parametrize("line", ["importlib.import_module(name)", "import_module(name)", "__import__(name)"])
def test_an_import_by_name_is_found(tmp_path: Path, line):
    (tmp_path / "one.py").write_text("import importlib\n")
    assert not imports_by_name(tmp_path / "one.py")
    (tmp_path / "one.py").write_text(f"found = {line}\n")
    assert imports_by_name(tmp_path / "one.py")


def test_every_codec_is_that_of_a_class_of_the_table():
    for module in {entry.codec for _, entry in CLASSES.values()}:
        codecs = importlib.import_module(module).CODECS
        assert set(codecs) == {name for name, (_, entry) in CLASSES.items() if entry.codec == module}


def test_a_class_is_called_after_one_public_name():
    for name, (kind, entry) in CLASSES.items():
        package = name.removesuffix(f".{kind}")
        assert getattr(importlib.import_module(package), kind) is getattr(importlib.import_module(entry.module), kind)
    assert fastlin.MaxEnt is fastlin.LogisticRegression


@pytest.mark.parametrize("name", FILE_FORMATS)
def test_formats_of_files_have_readers_and_options_of_read(name):
    form = FILE_FORMATS[name]
    module, function = form.reader.split(":")
    assert callable(getattr(importlib.import_module(f"fastlin.data.readers.{module}"), function))
    assert form.options <= set(fastlin.data.read.__kwdefaults__)
    assert FORMATS[name] == form.suffixes
    assert name in fastlin.data.read.__doc__
