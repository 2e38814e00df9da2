"""Build every kernel once for each instruction set; everything else is in pyproject.toml.

FASTLIN_DEBUG=1     bounds checks and assertions in the kernels
FASTLIN_SANITIZE=1  AddressSanitizer and UndefinedBehaviourSanitizer
FASTLIN_BUILDS=…    only these instruction sets, separated by commas: a development build takes a third of the time
"""

import copy
import multiprocessing
import os
import platform
import tempfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

PACKAGE = Path("src/fastlin")
ENGINE = PACKAGE / "engine"
ONCE = (  # no kernels: one build does
    "engine/cpu",
    "features/dict_rows",
    "features/object_rows",
    "runtime/turns",
    "sequence/attributes",
    "text/token_strings",
)
SHARED = "engine/cython_shared"  # what Cython would write into every module: its memoryviews, a half of each C file
KERNELS = sorted(f"{path.parent.name}/{path.stem}" for path in ENGINE.glob("*/*.pyx"))
FOLDERS = sorted({path.parent for path in ENGINE.glob("*/*.p[yx][xd]")})
# Cython's own processes, where they are copies of this one; elsewhere each would run this file from its beginning.
PROCESSES = os.cpu_count() or 1 if multiprocessing.get_start_method() == "fork" else 0
DEBUG = os.environ.get("FASTLIN_DEBUG") == "1"
SANITIZE = os.environ.get("FASTLIN_SANITIZE") == "1"

# No errno, no trapping: both keep gcc from vectorising, neither changes a result. -ffast-math would.
FLAGS = ["-O2" if DEBUG else "-O3", "-fno-math-errno", "-fno-trapping-math", *([] if DEBUG else ["-g0"])]
LINK = []
if SANITIZE:
    FLAGS = ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    LINK = ["-fsanitize=address,undefined"]
BUILDS = {"baseline": []}
if platform.machine().lower() in ("x86_64", "amd64"):
    BUILDS |= {"x86_64_v3": ["-march=x86-64-v3"], "x86_64_v4": ["-march=x86-64-v4"]}
if os.environ.get("FASTLIN_BUILDS"):
    BUILDS = {build: BUILDS[build] for build in os.environ["FASTLIN_BUILDS"].split(",")}
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": DEBUG,
    "nonecheck": False,  # checked, what is done in place to attributes wants the GIL: kernels would not compile
    "overflowcheck": False,
    "embedsignature": False,
    "legacy_implicit_noexcept": False,
}


def name_of(path: str) -> str:
    return f"fastlin.{path.replace('/', '.')}"


def extension(path: str, suffix: str = "pyx") -> Extension:
    return Extension(
        name_of(path),
        [str(PACKAGE / f"{path}.{suffix}")],
        include_dirs=[str(folder) for folder in FOLDERS],
        depends=[str(header) for kind in ("pxd", "h") for header in PACKAGE.glob(f"**/*.{kind}")],
        extra_compile_args=FLAGS,
        extra_link_args=LINK,
    )


class BuildEveryInstructionSet(build_ext):
    """The same C file is compiled once for each build, so each needs a folder of its own for its object."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def build_extensions(self) -> None:
        supported = [build for build, flags in BUILDS.items() if self.accepts(flags)]
        translated = {module.name: module for module in self.extensions}
        self.extensions = [translated[name_of(path)] for path in (SHARED, *ONCE)]
        for build in supported:
            for kernel in KERNELS:
                module = copy.copy(translated[name_of(f"engine/{kernel}")])
                module.name = module._full_name = name_of(f"engine/{build}/{kernel}")
                module.extra_compile_args = FLAGS + BUILDS[build]
                self.extensions.append(module)
        super().build_extensions()

    def copy_extensions_to_source(self) -> None:
        for build in BUILDS:
            for folder in FOLDERS:
                (ENGINE / build / folder.name).mkdir(parents=True, exist_ok=True)
        super().copy_extensions_to_source()

    def build_extension(self, ext: Extension) -> None:
        job = copy.copy(self)
        job.build_temp = os.path.join(self.build_temp, ext.name)
        super(BuildEveryInstructionSet, job).build_extension(ext)

    def accepts(self, flags: list[str]) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            probe = Path(folder, "probe.c")
            probe.write_text("int main(void) { return 0; }\n")
            try:
                self.compiler.compile([str(probe)], output_dir=folder, extra_postargs=flags)
            except CompileError:
                return False
        return True


setup(
    ext_modules=cythonize(
        [
            extension(SHARED, "c"),
            *(extension(path) for path in (*ONCE, *(f"engine/{kernel}" for kernel in KERNELS))),
        ],
        build_dir="build",
        shared_utility_qualified_name=name_of(SHARED),
        compiler_directives=DIRECTIVES,
        force=DEBUG or SANITIZE,
        nthreads=PROCESSES,
    ),
    cmdclass={"build_ext": BuildEveryInstructionSet},
)
