"""`fastlin demo`."""

import argparse

from fastlin import demo


def run(options: argparse.Namespace) -> int:  # noqa: ARG001
    demo.main()
    return 0
