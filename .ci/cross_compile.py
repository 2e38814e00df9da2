"""Does every kernel compile for every system that there are wheels of?

    python .ci/cross_compile.py                     # make check-targets; or: aarch64-macos text/vectorizer …

Clang reads each C file as for that system and writes nothing: the headers of C libraries are those that zig brings
(`pip install ziglang`), Python's are this interpreter's, with a pyconfig.h of Windows for Windows. For it the names are
GNU's and, in a second run, those of Microsoft's compiler, as for clang-cl. Kernels are translated first:

    python setup.py translate
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CLANG = os.environ.get("CLANG", "clang")
SOURCES = Path("build/src/fastlin")
X86_64 = ([], ["-march=x86-64-v3"], ["-march=x86-64-v4"])
ANY: tuple[list[str], ...] = ([],)
GLIBC, MUSL = ("generic-glibc", "any-linux-any"), ("generic-musl", "any-linux-any")
DARWIN, MINGW = "any-darwin-any", "any-windows-any"
MICROSOFT = ["-fms-compatibility-version=19.40", "-D__GNUC__=14", "-D__GNUC_MINOR__=2"]  # zig's headers ask for GNU's
TARGETS: dict[str, tuple[str, tuple[str, ...], list[str], tuple[list[str], ...]]] = {
    # name: clang's target, folders of zig's headers, options, instruction sets; _Float16 is newer than some clangs
    "aarch64-linux-gnu": ("aarch64-linux-gnu", ("aarch64-linux-gnu", *GLIBC), [], ANY),
    "aarch64-linux-musl": ("aarch64-linux-musl", ("aarch64-linux-musl", *MUSL), [], ANY),
    "x86_64-linux-musl": ("x86_64-linux-musl", ("x86_64-linux-musl", *MUSL), [], X86_64),
    "aarch64-macos": ("arm64-apple-macosx11.0", (DARWIN,), [], ANY),
    "x86_64-macos": ("x86_64-apple-macosx11.0", (DARWIN,), ["-D_Float16=short"], X86_64),
    "x86_64-windows": ("x86_64-w64-windows-gnu", (MINGW,), [], ANY),
    "x86_64-windows-msvc": ("x86_64-pc-windows-msvc", (MINGW,), MICROSOFT, ANY),
}
FLAGS = ["-fsyntax-only", "-nostdlibinc", "-fno-math-errno", "-w", "-Werror=implicit-function-declaration"]
WINDOWS = """
#define MS_WINDOWS 1
#define MS_WIN32 1
#define MS_WIN64 1
#define NT_THREADS 1
#define WITH_THREAD 1
#define HAVE_DYNAMIC_LOADING 1
#define HAVE_STDDEF_H 1
#define HAVE_ERRNO_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_LONG_LONG 1
#define HAVE_WCHAR_H 1
#define HAVE_STDARG_PROTOTYPES 1
#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_FLOAT 4
#define SIZEOF_DOUBLE 8
#define SIZEOF_VOID_P 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_TIME_T 8
#define SIZEOF_WCHAR_T 2
#define SIZEOF_FPOS_T 8
#define SIZEOF_HKEY 8
#define SIZEOF_PID_T 8
#define ALIGNOF_SIZE_T 8
#define ALIGNOF_LONG 4
#define ALIGNOF_MAX_ALIGN_T 8
#define PY_FORMAT_SIZE_T "z"
#define Py_ENABLE_SHARED 1
typedef long long Py_ssize_t;
#define HAVE_PY_SSIZE_T 1
#define PY_SSIZE_T_MAX 9223372036854775807LL
"""


def headers(folder: Path, target: str) -> Path:
    """Python's headers for a target: those of this machine, with its sizes of types where they differ."""
    place = folder / target
    shutil.copytree(sysconfig.get_path("include"), place)
    if "windows" in target:
        (place / "pyconfig.h").write_text(WINDOWS, encoding="utf-8")
    return place


def c_headers() -> Path:
    """The folder of zig's headers of C libraries."""
    found = importlib.util.find_spec("ziglang")
    if found is None or not found.submodule_search_locations:
        sys.exit("the headers of other systems are missing: pip install ziglang")
    return Path(found.submodule_search_locations[0], "lib", "libc", "include")


def check(path: Path, target: str, python: Path, level: list[str]) -> tuple[str, str]:
    """What was compiled, and what the compiler said: nothing, if all is well."""
    triple, libraries, options, _ = TARGETS[target]
    folders = sorted({each.parent for each in Path("src/fastlin/engine").glob("*/*.p[yx][xd]")})
    include = [f"-I{folder}" for folder in (python, *folders)]
    for library in libraries:
        include += ["-isystem", str(c_headers() / library)]
    command = [CLANG, f"--target={triple}", *FLAGS, *options, *level, *include, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return " ".join((target, *level, str(path))), done.stderr if done.returncode else ""


def main(chosen: list[str]) -> None:
    targets = [name for name in TARGETS if name in chosen] or list(TARGETS)
    wanted = [name for name in chosen if name not in TARGETS]
    paths = sorted(path for path in SOURCES.rglob("*.c") if not wanted or any(name in str(path) for name in wanted))
    if not paths:
        sys.exit("no C files: python setup.py translate")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as workers:
        jobs = []
        for target in targets:
            python = headers(Path(folder), target)
            for level in TARGETS[target][3]:
                jobs += [workers.submit(check, path, target, python, level) for path in paths]
        failed = [(what, said) for what, said in (job.result() for job in jobs) if said]
    for what, said in failed:
        print(f"--- {what}\n{said[:3000]}")
    print(f"{len(jobs) - len(failed)} of {len(jobs)} compiled: {len(paths)} files, {', '.join(targets)}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main(sys.argv[1:])
