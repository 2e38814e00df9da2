"""Build every kernel for the instruction sets that pay; everything else is in pyproject.toml.

FASTLIN_BUILDS=…    every kernel for these instruction sets and no others, separated by commas: one for development,
                    all for bench/builds.py
FASTLIN_DEBUG=1     bounds checks and assertions in the kernels
FASTLIN_SANITIZE=1  AddressSanitizer and UndefinedBehaviourSanitizer
"""

import sys

if sys.byteorder != "little":
    sys.exit("fastlin needs a little-endian processor: its kernels and files read numbers as they lie in memory")

import copy
import multiprocessing
import os
import platform
import re
import shutil
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, PlatformError

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
PAGES = "https://github.com/fastlin/fastlin/blob/main/"
DEBUG = os.environ.get("FASTLIN_DEBUG") == "1"
SANITIZE = os.environ.get("FASTLIN_SANITIZE") == "1"
# On Windows the baseline only: there clang-cl has no way to ask the processor without a library of its own.
X86_64 = platform.machine().lower() in ("x86_64", "amd64") and sys.platform != "win32"

# Beside the baseline of the platform, which every kernel has; a processor loads the best that a kernel has, and it runs
# (engine/__init__.py). Who is named gained by bench/builds.py, or has the arithmetic of one that did (docs/engine.md).
MARCH = {"x86_64_v3": "-march=x86-64-v3", "x86_64_v4": "-march=x86-64-v4"} if X86_64 else {}
BUILDS = ("baseline", *MARCH)
PAYS = {
    "x86_64_v3": {
        *("chain/chain", "chain/crf_objective", "chain/crf_sgd", "chain/memm_normalizer", "chain/sentence_tagger"),
        *("core/centroids", "core/csr_scores", "core/event_models", "core/gram", "core/likelihood", "core/passes"),
        *("core/row_scores", "lm/class_softmax", "online/lazy_weights", "online/online", "solvers/feature_gain"),
        *("solvers/binary_model", "solvers/few_clusters", "solvers/group_descent", "solvers/iterative_scaling"),
        *("solvers/label_rows", "solvers/logistic_dual", "solvers/multinomial_em", "solvers/svm_dual"),
    },
    "x86_64_v4": {
        *("chain/chain", "chain/crf_objective", "core/likelihood", "online/lazy_weights", "online/online"),
        *("solvers/iterative_scaling", "solvers/multinomial_em"),
    },
}

# No errno, no trapping: both keep gcc from vectorising, neither changes a result. -ffast-math would.
FLAGS = ["-O2" if DEBUG else "-O3", "-fno-math-errno", "-fno-trapping-math", *([] if DEBUG else ["-g0"])]
LINK: list[str] = []
SMALLER = {  # of what is installed, not of what is built in place to be profiled
    "linux": ["-Wl,--strip-all", "-Wl,--gc-sections", "-Wl,-z,noseparate-code"],
    "darwin": ["-Wl,-x", "-Wl,-dead_strip"],
}.get(sys.platform, [])
COMPACT = [] if sys.platform == "win32" else ["-fno-unwind-tables", "-fno-asynchronous-unwind-tables"]  # likewise
CLANG_CL = ["/clang:-O3", "/clang:-fno-math-errno", "/clang:-fno-trapping-math", "-Wno-incompatible-pointer-types"]
if SANITIZE:
    FLAGS = ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    LINK = ["-fsanitize=address,undefined"]
if DEBUG or SANITIZE:
    SMALLER = COMPACT = []
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
    "freethreading_compatible": True,  # kernels hold no lock of the interpreter: docs/engine.md says who locks what
}


def absolute_links(text: str, place: str) -> str:
    """A page of Markdown whose links to files of this repository lead to where they are on the web."""
    return re.sub(r"\]\((?!\w+:|#)([^)]+)\)", rf"]({place}\1)", text)


def builds_of(kernel: str, supported: list[str]) -> list[str]:
    """The instruction sets a kernel is built for, the baseline first."""
    if unknown := set().union(*PAYS.values()) - set(KERNELS):
        raise PlatformError(f"there are no kernels {', '.join(sorted(unknown))}")
    if not (chosen := os.environ.get("FASTLIN_BUILDS")):
        return [build for build in supported if build == "baseline" or kernel in PAYS[build]]
    if unknown := set(chosen.split(",")) - set(BUILDS):
        raise PlatformError(f"FASTLIN_BUILDS: {', '.join(sorted(unknown))} is none of {', '.join(BUILDS)}")
    return [build for build in supported if build in chosen.split(",")]


def options_of(name: str) -> list[str]:
    """What the compiler is told of one module only: its instruction set, and that its code is to be small, not fast,
    where processors of the last ten years load another build of it."""
    build, _, kernel = name.removeprefix("fastlin.engine.").replace(".", "/").partition("/")
    if build in MARCH:
        return [MARCH[build]]
    return ["-Os"] if MARCH and not SANITIZE and build == "baseline" and kernel in PAYS["x86_64_v3"] else []


def name_of(path: str) -> str:
    return f"fastlin.{path.replace('/', '.')}"


def extension(path: str, suffix: str = "pyx") -> Extension:
    return Extension(
        name_of(path),
        [str(PACKAGE / f"{path}.{suffix}")],
        include_dirs=[str(folder) for folder in FOLDERS],
        depends=[str(header) for kind in ("pxd", "h") for header in PACKAGE.glob(f"**/*.{kind}")],
    )


def translate(modules: list[Extension]) -> list[Extension]:
    """The modules with C files for sources: Cython runs here and nowhere else, once a build."""
    from Cython.Build import cythonize

    return cythonize(
        modules,
        build_dir="build",
        shared_utility_qualified_name=name_of(SHARED),
        compiler_directives=DIRECTIVES,
        force=DEBUG or SANITIZE,
        nthreads=PROCESSES,
    )


class Translate(build_ext):
    """C files of all modules and nothing else, as for a compiler elsewhere: python setup.py translate."""

    def run(self) -> None:
        translate(self.extensions)


class BuildEveryInstructionSet(build_ext):
    """The same C file is compiled once for each build, so each needs a folder of its own for its object."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()
        self.installed = not self.inplace  # which setuptools sets back while it builds

    def build_extensions(self) -> None:
        flags, link = self.chosen_flags()
        supported = [build for build in BUILDS if build == "baseline" or self.accepts(MARCH[build])]
        sources = {module.name: module.sources for module in translate(self.extensions)}
        translated = {module.name: module for module in self.extensions}
        for name, module in translated.items():
            module.sources = sources[name]
        self.extensions = [translated[name_of(path)] for path in (SHARED, *ONCE)]
        for kernel in KERNELS:
            for build in builds_of(kernel, supported):
                module = copy.copy(translated[name_of(f"engine/{kernel}")])
                module.name = module._full_name = name_of(f"engine/{build}/{kernel}")
                self.extensions.append(module)
        for module in self.extensions:
            module.extra_compile_args, module.extra_link_args = flags + options_of(module.name), link
        self.extensions.sort(key=lambda module: -os.path.getsize(module.sources[0]))  # the longest work first
        super().build_extensions()

    def chosen_flags(self) -> tuple[list[str], list[str]]:
        """What the compiler and the linker are told; on Windows both are LLVM's, for cl.exe has no vectors of GNU C."""
        if self.compiler.compiler_type != "msvc":
            return (FLAGS + COMPACT, LINK + SMALLER) if self.installed else (FLAGS, LINK)
        if not (clang := shutil.which("clang-cl")):
            raise PlatformError("fastlin's kernels are GNU C: install LLVM, so that clang-cl is on the PATH")
        self.compiler.initialize()
        self.compiler.cc = clang
        return CLANG_CL, []

    def copy_extensions_to_source(self) -> None:
        """In place, what another choice had built goes: it is older than its source, and would be loaded first."""
        built = {Path(self.get_ext_fullpath(module.name)).resolve() for module in self.extensions}
        for build in BUILDS:
            for folder in FOLDERS:
                place = ENGINE / build / folder.name
                place.mkdir(parents=True, exist_ok=True)
                for path in {*place.glob("*.so"), *place.glob("*.pyd")}:
                    if path.resolve() not in built:
                        path.unlink()
        super().copy_extensions_to_source()

    def build_extension(self, ext: Extension) -> None:
        job = copy.copy(self)
        job.build_temp = os.path.join(self.build_temp, ext.name)
        super(BuildEveryInstructionSet, job).build_extension(ext)

    def accepts(self, flag: str) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            probe = Path(folder, "probe.c")
            probe.write_text("int main(void) { return 0; }\n")
            try:
                self.compiler.compile([str(probe)], output_dir=folder, extra_postargs=[flag])
            except CompileError:
                return False
        return True


setup(
    ext_modules=[
        extension(SHARED, "c"),
        *(extension(path) for path in (*ONCE, *(f"engine/{kernel}" for kernel in KERNELS))),
    ],
    cmdclass={"build_ext": BuildEveryInstructionSet, "translate": Translate},
    long_description=absolute_links(Path("README.md").read_text(encoding="utf-8"), PAGES),
    long_description_content_type="text/markdown",
)
