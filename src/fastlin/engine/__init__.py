"""The engine: Cython kernels that know arrays only.

Each kernel module is built from one source for the baseline of the platform and, on x86-64, for those of the levels v3
(AVX2, FMA) and v4 (AVX-512) that make it faster. Of every kernel the best build that the processor runs is taken; the
environment variable FASTLIN_ISA (baseline, x86-64-v3, x86-64-v4) says up to which.
"""

import importlib
import os
import pkgutil
from pathlib import Path
from types import ModuleType

from fastlin.engine import cpu

LEVELS = {"x86_64_v4": 4, "x86_64_v3": 3, "baseline": 1}  # best first
FOLDER = Path(__file__).parent


def _up_to(build: str) -> list[str]:
    """The builds that are looked through for a kernel, best first."""
    builds = list(LEVELS)
    return builds[builds.index(build) :]


def _kernels(build: str) -> set[str]:
    """folder.kernel of all that this build has."""
    folders = (path for path in (FOLDER / build).glob("*") if path.is_dir())
    return {f"{path.name}.{kernel.name}" for path in folders for kernel in pkgutil.iter_modules([str(path)])}


def _usable() -> list[str]:
    """The builds this machine can run, best first; with the lower ones each has all the kernels."""
    level, kernels = cpu.x86_level(), {build: _kernels(build) for build in LEVELS}
    every = set().union(*kernels.values())
    usable = (build for build in LEVELS if LEVELS[build] <= level and kernels[build])
    return [build for build in usable if set().union(*(kernels[one] for one in _up_to(build))) == every]


def _choose() -> str:
    usable, wanted = _usable(), os.environ.get("FASTLIN_ISA")
    if not usable:
        raise ImportError(f"the kernels of {FOLDER} are built for another processor: build them again")
    if not wanted:
        return usable[0]
    wanted = wanted.replace("-", "_")
    if wanted not in usable:
        raise ImportError(f"FASTLIN_ISA={wanted!r} is not one of the builds this machine can run: {', '.join(usable)}")
    return wanted


ISA = _choose()


def import_kernels(package: str, path: list[str]) -> dict[str, ModuleType]:
    """The kernels of a folder, each in its best build, by name: they become modules of the folder's package.

    `path` is where the package looks for modules, so that kernels find each other's classes there, too.
    """
    places = [str(FOLDER / build / package.rsplit(".", 1)[1]) for build in _up_to(ISA)]
    path += places
    names = [kernel.name for kernel in pkgutil.iter_modules(places)]
    return {name: importlib.import_module(f"{package}.{name}") for name in names}
