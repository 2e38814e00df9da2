"""How much memory may be used."""

import contextlib
import os
import re
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


def available() -> int:
    """Bytes that are free: of the machine, of the control group, of the limit on addresses."""
    limits = [1 << 62]
    with contextlib.suppress(AttributeError, OSError, ValueError):  # where nothing says what is free, all there is
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with contextlib.suppress(OSError):
        if found := re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text()):
            limits.append(1024 * int(found[1]))
    with contextlib.suppress(OSError, ValueError):  # "max" is no number
        limits.append(int((CGROUP / "memory.max").read_text()) - int((CGROUP / "memory.current").read_text()))
    with contextlib.suppress(ImportError):  # Windows
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            limits.append(soft)
    return max(0, min(limits))
