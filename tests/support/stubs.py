"""The stubs of the packages whose names are lazy, made from the registry: what type checkers and editors see of them.

Run it to write those that have changed: python tests/support/stubs.py
"""

from pathlib import Path

from fastlin.registry import PUBLIC, ROOMS, PublicName

SOURCE = Path(__file__).parent.parent.parent / "src"


def place(package: str) -> Path:
    return SOURCE / package.replace(".", "/") / "__init__.pyi"


def stub_of(package: str) -> str:
    """The text of a stub, its imports in the order that the linter wants, other packages first."""
    own = [(package, room) for room in (ROOMS if package == "fastlin" else ())]
    own += [("fastlin.version", "__version__")] if package == "fastlin" else []
    own += [imported(name, entry) for name, entry in PUBLIC[package].items() if not entry.attribute]
    other = [line for line in own if not line[0].startswith("fastlin")]
    aliases = [f"{name} = {entry.attribute}\n" for name, entry in PUBLIC[package].items() if entry.attribute]
    blocks = [imports(other), imports([line for line in own if line not in other]), "".join(aliases)]
    return "\n".join(filter(None, blocks))


def imported(name: str, entry: PublicName) -> tuple[str, str]:
    """A module, and what is imported from it; a module comes from its package."""
    return (entry.module, name) if entry.attribute is None else (entry.module.rpartition(".")[0], name)


def imports(names: list[tuple[str, str]]) -> str:
    """Lines of imports: in a module constants, classes, functions."""
    names = sorted(names, key=lambda one: (one[0], not one[1].isupper(), one[1].islower(), one[1]))
    return "".join(f"from {module} import {name} as {name}\n" for module, name in names)


if __name__ == "__main__":
    for package in PUBLIC:
        place(package).write_text(stub_of(package))
