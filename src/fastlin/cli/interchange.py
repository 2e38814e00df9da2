"""`fastlin import` and `fastlin export`: models from other programs, and for them."""

import argparse
import json
import os
from typing import Any

import fastlin
from fastlin import interchange
from fastlin.cli import model_io
from fastlin.cli.errors import UserError
from fastlin.runtime.atomic_write import atomic_write

BEGINNINGS = {  # what files begin with
    "liblinear": (b"solver_type ",), "vw": (b"Version ",), "crfsuite": (b"FILEHEADER", b"LABELS"),
}  # fmt: skip
SUFFIXES = {".safetensors": "safetensors", ".joblib": "joblib", ".pkl": "joblib", ".pickle": "joblib"}


def import_model(options: argparse.Namespace) -> int:
    """A model of another program as a model file."""
    _check_target(options)
    source = options.source or _kind_of(options.model)
    if options.loss and source != "vw":
        raise UserError(f"--loss is of Vowpal Wabbit, and {options.model} is of {source}")
    if source == "vw":
        model = interchange.read_vw(options.model, loss=options.loss)
    else:
        model = getattr(interchange, f"read_{source}")(options.model)
    report = fastlin.save(model, options.output)
    return _tell(options, {"from": source, "bytes": report["bytes"], "weights": report["weights"]}, model)


def export_model(options: argparse.Namespace) -> int:
    """A model file as tensors, or as objects of scikit-learn."""
    _check_target(options)
    to = options.to or SUFFIXES.get(os.path.splitext(options.output)[1].lower())
    if to is None:
        raise UserError(f"{options.output}: its name ends in none of {', '.join(SUFFIXES)}; --to names the format")
    model = fastlin.load(options.model)
    if to == "safetensors":
        n_bytes = interchange.write_safetensors(model, options.output)["bytes"]
    else:
        import joblib

        twin = interchange.to_sklearn(model)
        with atomic_write(options.output) as file:
            joblib.dump(twin, file)
        n_bytes = os.path.getsize(options.output)
    return _tell(options, {"to": to, "bytes": n_bytes}, model)


def _check_target(options: argparse.Namespace) -> None:
    options.files, options.dev = [options.model], None
    model_io.check_target(options.output, options, "model is")


def _kind_of(path: str) -> str:
    """The program whose model a file is."""
    with open(path, "rb") as file:
        start = file.read(16)
    for kind, beginnings in BEGINNINGS.items():
        if start.startswith(beginnings):
            return kind
    if start[8:9] == b"{":
        return "safetensors"
    raise UserError(f"{path} begins like no model of {', '.join(BEGINNINGS)}, or safetensors; --from names one")


def _tell(options: argparse.Namespace, facts: dict[str, Any], model: Any) -> int:
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    names = [type(step).__name__ for step in steps]
    if options.json:
        print(json.dumps({"output": options.output, "model": names, **facts}))
    elif not options.quiet:
        print(f"{options.output}: {' and '.join(names)}, {facts['bytes']:,} bytes")
    return 0
