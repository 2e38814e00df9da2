"""Pages of the site that no one writes: the reference, from the public names, and the pages of the project's root.

Links between Markdown pages work on a forge, where folders are as in the repository; here they are led to pages.
"""

import importlib
import inspect
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from charts import draw_charts

from report import newest
from support.public_members import MODULES, methods, names_of, public_objects

LINK = re.compile(r"\[([^\]]+)\]\(([^):#\s]+)(#[^)]*)?\)")
MARKUP = re.compile(r"(?<!\\)\||(?<=\w)_(?!\w)")  # a bar, and the underscore that ends a name
PIECE = re.compile(r"``[^`]+``|`[^`]+`|[^`]+")
NAME = re.compile(r"`[A-Za-z_][\w.]*`")
GENERATED = "_generated"
PAGES_OF_ROOT = {"CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md", "CHANGELOG.md": "changelog.md"}
NO_GALLERY = "Gallery\n=======\n\nThis build has left the examples out; ``make docs`` runs them.\n"


def relinked(text: str, folder: str, place: str, repository: str | None) -> str:
    """A page of a folder of the repository, such as "docs", that stands at a place of the site, such as "course".

    Files that have no page here are in the repository; where its address is not known, their links are mere text.
    """

    def led(found: re.Match[str]) -> str:
        text, path, heading = found[1], posixpath.normpath(posixpath.join(folder, found[2])), found[3] or ""
        if path in PAGES_OF_ROOT:
            return f"[{text}]({posixpath.relpath(f'{GENERATED}/{PAGES_OF_ROOT[path]}', place or '.')}{heading})"
        if path.startswith("docs/"):
            return f"[{text}]({posixpath.relpath(path.removeprefix('docs/'), place or '.')}{heading})"
        return f"[{text}]({repository}/blob/main/{path}{heading})" if repository else text

    return LINK.sub(led, text)


def escaped(lines: list[str]) -> Iterator[str]:
    """Lines of a docstring in which only asterisks and headings are markup, and `names`; doctests stay as they are.

    What stands in backquotes and is no name, such as `C=1`, is code.
    """
    inside = False
    for line in lines:
        inside = bool(line.strip()) and (inside or line.lstrip().startswith(">>> "))
        yield line if inside else PIECE.sub(_escaped_piece, line)


def _escaped_piece(found: re.Match[str]) -> str:
    piece = found[0]
    if not piece.startswith("`"):
        return MARKUP.sub(r"\\\g<0>", piece)
    return piece if piece.startswith("``") or NAME.fullmatch(piece) else f"`{piece}`"


def write_generated_pages(docs: Path, with_gallery: bool, repository: str | None) -> None:
    """Write the pages into a folder of their own; those that are there as they should be keep their time."""
    pages = dict(reference())
    for name, page in PAGES_OF_ROOT.items():
        pages[page] = relinked((docs.parent / name).read_text(), "", GENERATED, repository)
    if not with_gallery:
        pages["no-gallery/index.rst"] = NO_GALLERY
    folder = docs / GENERATED
    pages["charts.rst"] = page_of_charts(draw_charts(newest(), folder / "charts"))
    for path in [*folder.glob("*.md"), *folder.glob("api/*.rst")]:
        if path.relative_to(folder).as_posix() not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def page_of_charts(names: list[str]) -> str:
    """The charts of results that are there, or where they would come from."""
    shown = "".join(f"\n.. image:: charts/{name}.svg\n   :alt: {name}\n" for name in names)
    absent = "No results are beside the benchmarks that this site was built from; ``make bench`` writes them.\n"
    return f"{heading('Charts of the benchmarks')}{CHARTS if names else absent}{shown}"


CHARTS = """Drawn from what ``make bench`` has written: how many times as long as fastlin another program takes.
Right of the line fastlin is faster, left of it the other; a title ends with the processor.

"""


def reference() -> Iterator[tuple[str, str]]:
    """A page for each package and each public class and function, and one that lists the packages."""
    homes = public_objects()
    names = {value: name for name, value in homes.items()}
    for name, value in homes.items():
        yield f"api/{name}.rst", page_of_class(name, value) if inspect.isclass(value) else page_of_function(name)
    for module in MODULES:
        yield f"api/{module}.rst", page_of_module(importlib.import_module(module), names)
    listed = "".join(f"   {module}\n" for module in MODULES)
    toctree = f".. toctree::\n   :maxdepth: 1\n\n{listed}"
    yield "api/index.rst", f"{heading('Classes and functions')}{INTRODUCTION}{toctree}"


INTRODUCTION = """
Every public class and function, by the package that it is imported from.
Estimators have `get_params`, `set_params`, `fit_transform` and metadata routing of scikit-learn besides.

"""


def heading(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n\n"


def first_sentence(value: Any) -> str:
    """What a table says of a class or function."""
    first = inspect.cleandoc(value.__doc__ or "").split("\n\n", 1)[0]
    return next(escaped([" ".join(first.split())]))


def page_of_class(name: str, kind: type) -> str:
    """A class, what makes it, and the methods and properties that it has from fastlin."""
    found = list(dict.fromkeys(method.__name__ for method in methods(kind)))
    found += [
        key
        for key, value in inspect.getmembers(kind, lambda value: isinstance(value, property))
        if not key.startswith("_") and key not in found and value.fget.__module__.startswith("fastlin")
    ]
    members = f"   :members: {', '.join(sorted(found))}\n" if found else ""
    return f"{heading(name)}.. autoclass:: {name}\n{members}"


def page_of_function(name: str) -> str:
    return f"{heading(name)}.. autofunction:: {name}\n"


def page_of_module(module: ModuleType, names: dict[Any, str]) -> str:
    """What a package is, and a table of its names; those that another page has lead to it."""
    lines, rows, data = [], [], []
    for name in names_of(module):
        value = getattr(module, name)
        home = names.get(value) if inspect.isclass(value) or inspect.isfunction(value) else None
        if home:
            kind = "class" if inspect.isclass(value) else "func"
            rows.append(f"   * - :py:{kind}:`{name} <{home}>`\n     - {first_sentence(value)}\n")
        elif not inspect.ismodule(value):
            data.append(name)
    if rows:
        lines += ["\n.. list-table::\n   :widths: 30 70\n\n", *rows]
    if data:
        lines.append(f"\nConstants and names of other packages: {', '.join(f'``{name}``' for name in data)}.\n")
    own = sorted(home for home in names.values() if home.rpartition(".")[0] == module.__name__)
    lines.append("\n.. toctree::\n   :hidden:\n\n" + "".join(f"   {home}\n" for home in own) if own else "")
    return f"{heading(module.__name__)}.. automodule:: {module.__name__}\n{''.join(lines)}"
