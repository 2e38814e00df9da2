"""The folder in which a corpus is made: it has the new one when all of it is there, and until then what it had."""

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from fastlin.data.manifest import MANIFEST_NAME, Manifest
from fastlin.data.scratch import TemporaryFolder
from fastlin.runtime.atomic_write import UNFINISHED, sync_folder
from fastlin.runtime.folder_lock import LOCK_FILE, lock_folder

CORPUS_FILES = re.compile(  # what a folder of a corpus may hold
    rf"{re.escape(MANIFEST_NAME)}|{re.escape(LOCK_FILE)}|{UNFINISHED}|shards-\w+"
)


class AtomicFolder:
    """A folder that is written in a `with`, and after a failure is as it was.

    Shards are written into `place`, a new folder within; the manifest that names it is put into its place last, and
    then what is older is removed: the shards of the corpus that was here, and what writers that were killed have left.
    """

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        self.folder, self._durable = folder, durable
        self.temporary: TemporaryFolder | None = None  # what removes the folder when it goes
        self.place = folder / f"shards-{secrets.token_hex(6)}"

    def __enter__(self) -> Self:
        self._refuse_other_files()
        self._made, self._done = not self.folder.exists(), False
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = lock_folder(self.folder)
        try:
            self._lock.__enter__()  # nobody else writes here: each would remove the other's shards
        except BlockingIOError:
            raise FileExistsError(f"{self.folder} is being written by another process or thread") from None
        self.place.mkdir()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._done:
            shutil.rmtree(self.folder if self._made else self.place, ignore_errors=True)
        self._lock.__exit__(None, None, None)
        if not self._done and self._made:  # what Windows keeps while it is locked
            shutil.rmtree(self.folder, ignore_errors=True)

    def _refuse_other_files(self) -> None:
        inside = self.folder.iterdir() if self.folder.exists() else ()
        for path in inside:
            if not CORPUS_FILES.fullmatch(path.name):
                raise FileExistsError(
                    f"{self.folder} holds other files, as {path.name!r}: a corpus needs its own folder"
                )

    def commit(self, manifest: Manifest) -> None:
        """Put the complete corpus into its place."""
        if self._durable:
            for path in self.place.iterdir():
                with path.open("rb") as file:
                    os.fsync(file.fileno())
            sync_folder(self.place)
        manifest.write(self.folder)
        self._done = True
        for path in self.folder.iterdir():
            if path.name.startswith("shards-") and path != self.place:
                shutil.rmtree(path, ignore_errors=True)
            elif re.fullmatch(UNFINISHED, path.name):
                path.unlink(missing_ok=True)


@contextlib.contextmanager
def temporary_corpus_folder() -> Iterator[AtomicFolder]:
    """A folder for a corpus that nobody has to remove."""
    temporary = TemporaryFolder()
    try:
        with AtomicFolder(Path(temporary.path), durable=False) as target:
            target.temporary = temporary
            yield target
    except BaseException:
        temporary.remove()  # now, and not when the last reference goes with the traceback
        raise
