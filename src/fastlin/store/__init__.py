"""Model files and checkpoints: named arrays and what belongs to them, in files that hold no code."""

from fastlin.store.archive import read_archive, write_archive
from fastlin.store.checkpoint import Checkpoint, identity
from fastlin.store.exports import export_generator, export_labels, restore_generator, restore_labels
from fastlin.store.models import load, save
from fastlin.store.reading import ModelFileError, Reading

__all__ = [
    "Checkpoint",
    "ModelFileError",
    "Reading",
    "export_generator",
    "export_labels",
    "identity",
    "load",
    "read_archive",
    "restore_generator",
    "restore_labels",
    "save",
    "write_archive",
]
