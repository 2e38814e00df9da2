"""The state of a read: whether every weight is looked at, and how much memory may be taken for it in all."""

import math
from typing import Any

from fastlin.validation import whole_number

FREE_BYTES = 1 << 26  # bytes of memory that every file may take,
BYTES_PER_FILE_BYTE = 100  # and so many times its own
MAX_JSON_BYTES = 1 << 29  # bytes of memory that its JSON may take of them: large things lie in arrays


class ModelFileError(ValueError):
    """A model file or a checkpoint that cannot be trusted: it says which, and why."""


class LoadContext:
    """The context of a load: what is asked of the file, and the memory that it has taken.

    Parameters
    ----------
    verify : bool
        Look at every weight.
    max_bytes : int, optional
        Memory that the file may take; None: 64 MB and 100 times its size.
    """

    def __init__(self, verify: bool = True, max_bytes: Any = None) -> None:
        self.verify = verify
        self._given = None if max_bytes is None else whole_number("max_bytes", max_bytes, 0)
        self._limit: float = math.inf if self._given is None else self._given
        self._size, self._taken = 0, 0

    def begin(self, size: int) -> None:
        """Take note of the bytes of the file, on which the limit depends.

        Parameters
        ----------
        size : int
            Bytes of the file.
        """
        self._size = size
        if self._given is None:
            self._limit = FREE_BYTES + BYTES_PER_FILE_BYTE * size

    def take(self, n_bytes: int, what: str) -> None:
        """Count memory that is about to be taken; too much of it is a ModelFileError.

        Parameters
        ----------
        n_bytes : int
            Bytes that are about to be allocated.
        what : str
            What for, for the message.

        Raises
        ------
        ModelFileError
            If the file asks for more than it may.
        """
        self._taken += int(n_bytes)
        if self._taken > self._limit:
            self._refuse(what, self._taken, self._limit)

    def take_json(self, text: bytes) -> None:
        """Count what JSON of these characters may become: its values, and what is made of them.

        Parameters
        ----------
        text : bytes
            JSON that is about to be parsed.

        Raises
        ------
        ModelFileError
            If the file asks for more than it may.
        """
        opened, objects, values = text.count(b"["), text.count(b"{"), text.count(b",")
        need = 4 * len(text) + 144 * opened + 480 * objects + 80 * values + 25 * text.count(b'"')
        if self._given is None and need > FREE_BYTES + MAX_JSON_BYTES:
            self._refuse("its JSON", need, FREE_BYTES + MAX_JSON_BYTES)
        self.take(need, "its JSON")

    def _refuse(self, what: str, need: int, limit: float) -> None:
        raise ModelFileError(
            f"with {what}, the file asks for {need:,} bytes of memory, and one of {self._size:,} bytes may take "
            f"{limit:,.0f}: if you trust it, load(path, max_bytes={need * 2}) lets it"
        )
