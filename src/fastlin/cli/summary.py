"""What is printed of a training."""

import argparse
import json
from typing import Any


def tell(facts: dict[str, Any], options: argparse.Namespace) -> None:
    """The summary of a training."""
    if options.json:
        print(json.dumps(facts))
    elif not options.quiet:
        labels = f"{facts['labels']:,} labels and " if "labels" in facts else ""
        print(
            f"{options.model}: {options.learner} of {labels}{facts['features']:,} features from "
            f"{facts['documents']:,} documents, {facts['bytes'] / 1e6:.1f} MB, {facts['seconds']:.1f} s"
        )
        for name, shown in {"dev_accuracy": "accuracy", "dev_r2": "R²"}.items():
            if name in facts:
                saved = f"; as saved, {facts[f'{name}_saved']:.4f}" if f"{name}_saved" in facts else ""
                print(f"{shown} on {options.dev}: {facts[name]:.4f}{saved}")
