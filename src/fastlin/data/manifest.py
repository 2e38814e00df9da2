"""Manifest of a stored corpus: `corpus.json`, written last."""

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fastlin.data.npy_files import CorpusError
from fastlin.runtime.atomic_write import atomic_write
from fastlin.storage.crc32 import crc32
from fastlin.validation import MAX_COLUMNS

MANIFEST_NAME = "corpus.json"
FORMAT_VERSION = 1
FLOATS = ("float32", "float64")
STORAGES = ("npy", "arrow")
MAX_COUNT = 2**62


@dataclass(frozen=True)
class ShardFacts:
    """One shard: its rows, the type of its values, and the CRC-32 of each of its files."""

    rows: int
    nonzeros: int
    dtype: str
    digests: dict[str, int]


@dataclass(frozen=True)
class TableFacts:
    """An array that belongs to the whole corpus; strings are two files, their bytes and where each ends."""

    dtype: str
    length: int
    size: int  # bytes of all strings; 0 for numbers
    digests: dict[str, int]


@dataclass(frozen=True)
class Manifest:
    """All of it."""

    folder: str  # of the shards, beside the manifest
    storage: str
    rows: int
    features: int
    dtype: str  # of the values as they are presented
    weighted: bool
    grouped: bool
    negative: bool
    zeros: bool
    largest: float
    segment: int  # the shards are the segments of so many non-zeros; 0: they are not
    shards: list[ShardFacts] = field(default_factory=list)
    tables: dict[str, TableFacts] = field(default_factory=dict)
    hashed: dict[str, Any] = field(default_factory=dict)  # how columns without names were made

    def write(self, folder: Path) -> None:
        """Put it into its place at once; what it describes must be there already."""
        content = {"format": "fastlin corpus", "version": FORMAT_VERSION, **asdict(self)}
        text = json.dumps(content | {"crc32": _digest(content)}, indent=1, sort_keys=True)
        with atomic_write(folder / MANIFEST_NAME) as file:
            file.write(f"{text}\n".encode())


def read_manifest(path: Path) -> Manifest:
    """A manifest whose every entry is of its kind and agrees with the others."""
    try:
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict) or content.get("format") != "fastlin corpus":
            raise CorpusError(f"{path} is not the manifest of a corpus")
        if content.get("version") != FORMAT_VERSION:
            raise CorpusError(f"{path} has version {content.get('version')!r}; this fastlin reads {FORMAT_VERSION}")
        said = content.pop("crc32", None)
        if said != _digest(content):
            raise CorpusError(f"{path} is damaged: its CRC-32 does not agree")
        return _checked(content)
    except CorpusError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise CorpusError(f"{path} is damaged: {error}") from error


def _digest(content: dict[str, Any]) -> int:
    return crc32(json.dumps(content, sort_keys=True).encode())


def _checked(content: dict[str, Any]) -> Manifest:
    shards = [
        ShardFacts(_number(s["rows"], 1), _number(s["nonzeros"]), _one_of(s["dtype"], FLOATS), _digests(s["digests"]))
        for s in content["shards"]
    ]
    tables = {
        name: TableFacts(_text(t["dtype"]), _number(t["length"]), _number(t["size"]), _digests(t["digests"]))
        for name, t in content["tables"].items()
    }
    if not re.fullmatch(r"shards-\w+", _text(content["folder"])):
        raise ValueError(f"folder is {content['folder']!r}")
    largest = content["largest"]
    if not isinstance(largest, int | float) or not 0 <= largest <= 1e100:
        raise ValueError(f"largest is {largest!r}")
    manifest = Manifest(
        content["folder"],
        _one_of(content["storage"], STORAGES),
        _number(content["rows"], 1),
        _number(content["features"], 1, MAX_COLUMNS),
        _one_of(content["dtype"], FLOATS),
        _truth(content["weighted"]),
        _truth(content["grouped"]),
        _truth(content["negative"]),
        _truth(content["zeros"]),
        float(largest),
        _number(content["segment"]),
        shards,
        tables,
        dict(content["hashed"]),
    )
    if sum(shard.rows for shard in shards) != manifest.rows:
        raise ValueError("the rows of the shards do not add up")
    return manifest


def _number(value: Any, least: int = 0, most: int = MAX_COUNT) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{value!r} is not a number from {least} to {most}")
    return value


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(f"{value!r} is not a string")
    return value


def _one_of(value: Any, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise ValueError(f"{value!r} is none of {', '.join(choices)}")
    return value


def _digests(value: Any) -> dict[str, int]:
    return {_text(name): _number(digest, 0, 2**32 - 1) for name, digest in value.items()}
