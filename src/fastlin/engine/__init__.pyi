from fastlin.engine import check as check
from fastlin.engine import cpu as cpu
from fastlin.engine import online as online
from fastlin.engine import passes as passes
from fastlin.engine import rows as rows

LEVELS: dict[str, int]
ISA: str
