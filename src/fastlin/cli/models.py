"""Models between files and commands."""

import os
import pickle
from typing import Any

from fastlin.cli.messages import UserError


def check_target(path: str) -> None:
    """Whether a file can be written there: found out before hours of learning."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise UserError(f"{path} is a folder; name a file")
    if not os.path.isdir(folder):
        raise UserError(f"{path} cannot be written: there is no folder {folder}")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise UserError(f"{path} cannot be written: permission denied")


def save(model: Any, path: str, **options: Any) -> dict[str, Any]:
    with open(path, "wb") as stream:
        pickle.dump(model, stream)
    return {"bytes": os.path.getsize(path)}


def load(path: str, jobs: int | None = None) -> Any:
    with open(path, "rb") as stream:
        model = pickle.load(stream)  # noqa: S301
    if jobs is not None:
        for step in [step for _, step in model.steps] if hasattr(model, "steps") else [model]:
            if "n_jobs" in step.get_params(deep=False):
                step.set_params(n_jobs=jobs)
    return model


import fastlin
if not hasattr(fastlin, "load"):
    fastlin.load = load
