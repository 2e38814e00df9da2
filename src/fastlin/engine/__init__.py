"""The engine: Cython kernels that know arrays only.

Each kernel module is built several times from one source, for the baseline of the platform and, on x86-64, for the
levels v3 (AVX2, FMA) and v4 (AVX-512). The best build that the processor runs is chosen at import; the
environment variable FASTLIN_ISA (baseline, x86-64-v3, x86-64-v4) forces one.
"""

import importlib
import os
import pkgutil
from pathlib import Path
from types import ModuleType

from fastlin.engine import cpu

LEVELS = {"baseline": 1, "x86_64_v3": 3, "x86_64_v4": 4}


def _usable() -> list[str]:
    """The builds this machine can run, best first."""
    level = cpu.x86_level()
    return [
        name
        for name in sorted(LEVELS, key=LEVELS.__getitem__, reverse=True)
        if LEVELS[name] <= level and any((Path(__file__).parent / name).glob("online/online.*"))
    ]


def _choose() -> str:
    usable, wanted = _usable(), os.environ.get("FASTLIN_ISA")
    if not wanted:
        return usable[0]
    wanted = wanted.replace("-", "_")
    if wanted not in usable:
        raise ImportError(f"FASTLIN_ISA={wanted!r} is not one of the builds this machine can run: {', '.join(usable)}")
    return wanted


ISA = _choose()


def import_kernels(package: str, path: list[str]) -> dict[str, ModuleType]:
    """The kernels of a folder of this one, in the chosen build, by name: they become modules of the folder's package.

    `path` is where the package looks for modules, so that kernels find each other's classes there, too.
    """
    built = str(Path(__file__).parent / ISA / package.rsplit(".", 1)[1])
    path.append(built)
    names = [kernel.name for kernel in pkgutil.iter_modules([built])]
    return {name: importlib.import_module(f"{package}.{name}") for name in names}
