"""Does every kernel compile for every system that there are wheels of?

    python .ci/cross_compile.py                     # make check-targets; or: aarch64-macos text/vectorizer …

Each C file is compiled, not linked, by clang, with the C libraries' headers that zig brings (`pip install ziglang`):
are those of musl, macOS, Windows and glibc; for Windows twice, by the names of GNU and those of Microsoft's compiler.
Python's own headers are this interpreter's, with a pyconfig.h of the target. Kernels are translated first:

    python setup.py translate
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCES = Path("build/src/fastlin")
LEVELS = ([], ["-march=x86_64_v3"], ["-march=x86_64_v4"])
MICROSOFT = ["-U__MINGW32__", "-U__MINGW64__", "-fms-extensions", "-fms-compatibility", "-D_MSC_VER=1940"]
TARGETS: dict[str, tuple[str, list[str], tuple[list[str], ...]]] = {  # name: zig's target, options, instruction sets
    "x86_64-linux-gnu": ("x86_64-linux-gnu.2.28", [], LEVELS),
    "aarch64-linux-gnu": ("aarch64-linux-gnu.2.28", [], ([],)),
    "x86_64-linux-musl": ("x86_64-linux-musl", [], LEVELS),
    "aarch64-linux-musl": ("aarch64-linux-musl", [], ([],)),
    "x86_64-macos": ("x86_64-macos.11.0", [], LEVELS),
    "aarch64-macos": ("aarch64-macos.11.0", [], ([],)),
    "x86_64-windows": ("x86_64-windows-gnu", [], LEVELS),
}
FLAGS = ["-O0", "-fno-math-errno", "-fno-trapping-math", "-fsyntax-only", "-w", "-Werror=implicit-function-declaration"]
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
    own = Path(sysconfig.get_path("include"))
    shutil.copytree(own, place)
    if "windows" in target:
        (place / "pyconfig.h").write_text(WINDOWS, encoding="utf-8")
    return place


def compile_one(path: Path, target: str, python: Path, level: list[str]) -> tuple[str, str]:
    """What was compiled, and what the compiler said: nothing, if all is well."""
    zig, options, _ = TARGETS[target]
    folders = sorted({each.parent for each in Path("src/fastlin/engine").glob("*/*.p[yx][xd]")})
    include = [f"-I{folder}" for folder in (python, *folders)]
    command = [sys.executable, "-m", "ziglang", "cc", "-target", zig, *FLAGS, *options, *level, *include, str(path)]
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
            for level in TARGETS[target][2]:
                jobs += [workers.submit(compile_one, path, target, python, level) for path in paths]
        failed = [(what, said) for what, said in (job.result() for job in jobs) if said]
    for what, said in failed:
        print(f"--- {what}\n{said[:3000]}")
    print(f"{len(jobs) - len(failed)} of {len(jobs)} compiled: {len(paths)} files, {', '.join(targets)}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main(sys.argv[1:])
