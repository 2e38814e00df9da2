"""What is built and how it is found: builds of kernels, the version, links on the package index, sizes, extras."""

import ast
import fnmatch
import re
import subprocess
import sys
import tomllib
import types
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import fastlin
from fastlin import engine
from support.layers import PACKAGE

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAX_INSTALLED = 15e6  # bytes


# --- builds of kernels -----------------------------------------------------------------------------------------------


@pytest.fixture
def builds(tmp_path, monkeypatch):
    """Makes a package of empty kernels and tells which builds a processor of a level can run."""

    def usable(level, **kernels):
        for build, names in kernels.items():
            for name in names:
                path = tmp_path / build / f"{name}{EXTENSION_SUFFIXES[0]}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
        monkeypatch.setattr(engine, "FOLDER", tmp_path)
        monkeypatch.setattr(engine, "cpu", types.SimpleNamespace(x86_level=lambda: level))
        return engine._usable()

    return usable


@pytest.mark.parametrize("level, expected", [(1, 1), (2, 1), (3, 2), (4, 3)])
def test_builds_are_usable_up_to_the_level_of_the_processor(builds, level, expected):
    found = builds(level, baseline=["core/a", "chain/b"], x86_64_v3=["chain/b"], x86_64_v4=["chain/b"])
    assert found == ["x86_64_v4", "x86_64_v3", "baseline"][-expected:]


def test_a_build_of_which_kernels_are_missing_below_is_not_usable(builds):
    assert builds(4, x86_64_v3=["core/a"], x86_64_v4=["core/a", "chain/b"]) == ["x86_64_v4"]


def test_a_package_for_a_better_processor_says_so(builds, monkeypatch):
    assert builds(1, x86_64_v3=["core/a"]) == []
    with pytest.raises(ImportError, match="another processor"):
        engine._choose()


def test_a_kernel_without_a_build_for_this_processor_is_taken_from_the_next_below(tmp_path):
    """Its classes are the same ones for the kernels of other builds."""
    best, suffix = engine.ISA, EXTENSION_SUFFIXES[0]
    for path in PACKAGE.rglob("*"):
        place = tmp_path / "fastlin" / path.relative_to(PACKAGE)
        if path.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        elif path.suffix != ".pyc":
            place.symlink_to(path)
    folder = tmp_path / "fastlin" / "engine"
    kernel = next(PACKAGE.glob(f"engine/*/core/csr_view.*{suffix[-3:]}"))
    for path in folder.glob(f"*/core/csr_view.*{suffix[-3:]}"):
        path.unlink()
    (folder / "baseline" / "core").mkdir(parents=True, exist_ok=True)
    (folder / "baseline" / "core" / kernel.name).symlink_to(kernel)
    code = f"""import sys; sys.path.insert(0, {str(tmp_path)!r})
from fastlin import MultinomialNB, engine
from fastlin.engine import core
assert engine.__file__.startswith({str(tmp_path)!r})
found = MultinomialNB().fit([[1, 0], [0, 2]], [0, 1]).predict([[0, 1]])
print(engine.ISA, core.csr_view.__file__.split("/")[-3], found)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == [best, "baseline", "[1]"], done.stderr


def test_big_endian_processors_are_refused_before_anything_is_built():
    code = 'import runpy, sys; sys.byteorder = "big"; sys.argv = ["setup.py", "build_ext"]; runpy.run_path("setup.py")'
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "little-endian" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.timing
def test_what_is_installed_is_small():
    """Of the files that are in a wheel: sources of kernels lie only where they were built."""
    kinds = {".py", ".pyi", ".typed", ".so", ".pyd"}
    files = [path for path in PACKAGE.rglob("*") if path.suffix in kinds and path.is_file()]
    assert sum(path.stat().st_size for path in files) < MAX_INSTALLED


# --- what is said of the package -------------------------------------------------------------------------------------


def test_the_version_is_written_in_one_place_and_the_others_agree():
    assert "version" in PROJECT["project"]["dynamic"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    for text, pattern in ((citation, r'^version: "(.+)"$'), (recipe, r'^  version: "(.+)"$')):
        assert re.findall(pattern, text, flags=re.MULTILINE) == [fastlin.__version__]


def test_links_of_the_readme_lead_to_files_of_the_sdist_and_on_the_index_to_the_web():
    tree = ast.parse((ROOT / "setup.py").read_text(encoding="utf-8"))
    names = {"re": re}
    wanted = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "absolute_links"]
    exec(compile(ast.Module(wanted, []), "setup.py", "exec"), names)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    before = re.findall(r"\]\(([^)]+)\)", text)
    after = re.findall(r"\]\(([^)]+)\)", names["absolute_links"](text, "https://example.org/"))
    relative = [link for link in before if not re.match(r"\w+:|#", link)]
    assert len(relative) > 10
    assert len(after) == len(before)
    assert [link for link in after if link.startswith("https://example.org/")] == [
        f"https://example.org/{link}" for link in relative
    ]
    assert all(re.match(r"https?:|#", link) for link in after)
    packed = (ROOT / "MANIFEST.in").read_text(encoding="utf-8")
    single = [name for line in re.findall(r"^include (.*)$", packed, flags=re.MULTILINE) for name in line.split()]
    folders = dict(re.findall(r"^recursive-include (\S+) (.*)$", packed, flags=re.MULTILINE))
    for link in relative:
        path = link.partition("#")[0]
        assert (ROOT / path).is_file(), link
        patterns = folders.get(path.partition("/")[0], "").split() if "/" in path else single
        assert any(fnmatch.fnmatch(path.rpartition("/")[2], pattern) for pattern in patterns), link


def test_extras_are_requirements_for_every_python():
    extras = PROJECT["project"]["optional-dependencies"]
    found = {name: [Requirement(line) for line in lines] for name, lines in extras.items()}
    for python in ("3.11", "3.13", "3.14", "3.15"):
        environment = {"python_version": python, "extra": ""}
        wanted = {
            name: {one.name for one in lines if one.marker is None or one.marker.evaluate(environment)}
            for name, lines in found.items()
        }
        assert wanted["zstd"] == ({"backports.zstd"} if python < "3.14" else set())
        assert ("hmmlearn" in wanted["test"]) == (python < "3.14")
        assert ("python-crfsuite" in wanted["test"]) == (python < "3.15")
    classifiers = PROJECT["project"]["classifiers"]
    built = {one.removesuffix("-*") for one in PROJECT["tool"]["cibuildwheel"]["build"]}
    named = {f"cp{line.rpartition(' ')[2].replace('.', '')}" for line in classifiers if re.search(r":: 3\.\d+$", line)}
    assert {one.removesuffix("t") for one in built} == named
