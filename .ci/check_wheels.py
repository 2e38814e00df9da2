"""How large are these wheels, packed and installed, and is there anything in them that should not be?

python .ci/check_wheels.py dist/*.whl
"""

import sys
import zipfile
from pathlib import Path

MAX_WHEEL, MAX_INSTALLED = 7e6, 15e6  # bytes
KINDS = {".py", ".pyi", ".so", ".pyd", ".typed", ""}


def check(path: Path) -> list[str]:
    """What is wrong with a wheel."""
    with zipfile.ZipFile(path) as wheel:
        members = [member for member in wheel.infolist() if ".dist-info/" not in member.filename]
    packed, installed = path.stat().st_size, sum(member.file_size for member in members)
    modules = sum(member.filename.endswith((".so", ".pyd")) for member in members)
    print(f"{path.name}: {packed / 1e6:.1f} MB, installed {installed / 1e6:.1f} MB, {modules} compiled modules")
    wrong = [f"{member.filename} is in it" for member in members if Path(member.filename).suffix not in KINDS]
    wrong += [f"{packed / 1e6:.1f} MB, and not {MAX_WHEEL / 1e6:.0f}"] * (packed > MAX_WHEEL)
    wrong += [f"installed {installed / 1e6:.1f} MB, and not {MAX_INSTALLED / 1e6:.0f}"] * (installed > MAX_INSTALLED)
    return [f"{path.name}: {what}" for what in wrong]


sys.exit("\n".join(what for path in sys.argv[1:] for what in check(Path(path))) or None)
