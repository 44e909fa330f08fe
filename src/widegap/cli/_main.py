"""Entry point of ``widegap`` and ``python -m widegap``."""

import argparse
from collections.abc import Sequence

from widegap import __version__
from widegap.cli._demo import run_demo


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="widegap", description="Maximum margin clustering.")
    parser.add_argument("--version", action="version", version=f"widegap {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("demo", help="cluster handwritten digits, beside k-means").set_defaults(run=run_demo)
    return parser.parse_args(arguments).run()
