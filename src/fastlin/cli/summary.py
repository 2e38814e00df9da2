"""What is printed of a training."""

import argparse
import json
from typing import Any


def tell(facts: dict[str, Any], options: argparse.Namespace) -> None:
    """The summary of a training."""
    if options.json:
        print(json.dumps(facts))
    elif not options.quiet:
        print(
            f"{options.model}: {options.learner} of {facts['labels']:,} labels and {facts['features']:,} features from "
            f"{facts['documents']:,} documents, {facts['bytes'] / 1e6:.1f} MB, {facts['seconds']:.1f} s"
        )
        if "dev_accuracy" in facts:
            saved = f"; as saved, {facts['dev_accuracy_saved']:.4f}" if "dev_accuracy_saved" in facts else ""
            print(f"accuracy on {options.dev}: {facts['dev_accuracy']:.4f}{saved}")
