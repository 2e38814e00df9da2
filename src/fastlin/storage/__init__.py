"""Model files and checkpoints: named arrays and what belongs to them, in files that hold no code."""

from fastlin.storage.archive import read_archive, write_archive
from fastlin.storage.checkpoint_files import Checkpoint, identity
from fastlin.storage.load_context import LoadContext, ModelFileError
from fastlin.storage.safetensors import read_tensors, write_tensors
from fastlin.storage.state_arrays import export_generator, export_labels, restore_generator, restore_labels

__all__ = [
    "Checkpoint",
    "LoadContext",
    "ModelFileError",
    "export_generator",
    "export_labels",
    "identity",
    "read_archive",
    "read_tensors",
    "restore_generator",
    "restore_labels",
    "write_archive",
    "write_tensors",
]
