from collections.abc import Callable
from typing import Any

def skip_lines(text: bytes, start: int, n: int) -> int: ...

class StringPool:
    def __init__(self) -> None: ...

class RecordReader:
    n_columns: int

    def read(self, text: bytes, start: int) -> tuple[list[Any], int]: ...

class FieldReader(RecordReader):
    sliced: int

    def __init__(
        self, delimiter: int, column_of: list[int], pooled: int, quotes: bool, rest: bool, empty: bool
    ) -> None: ...
    def read(self, text: bytes, start: int) -> tuple[list[Any], int]: ...

class ObjectReader(RecordReader):
    def __init__(
        self,
        names: list[bytes],
        others: list[Callable[[bytes], Any]],
        strings: list[bool],
        prove: Callable[[bytes], Any],
        pooled: int,
    ) -> None: ...
