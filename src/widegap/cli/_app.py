"""The commands and their names."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from widegap import __version__
from widegap.cli import _options as options
from widegap.cli._cluster import cluster
from widegap.cli._datasets import datasets
from widegap.cli._documents import documents
from widegap.cli._errors import guarded
from widegap.cli._explore import open_explorer
from widegap.cli._export_model import export_model
from widegap.cli._predict import predict, report
from widegap.cli._refine import refine
from widegap.cli._segment import segment_pictures
from widegap.cli._update import update
from widegap.cli._verify import verify
from widegap.cli._warm import warm

app = typer.Typer(
    name="widegap",
    help="Maximum margin clustering: the groups that a large-margin classifier would separate best.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"widegap {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Maximum margin clustering: the groups that a large-margin classifier would separate best."""


@guarded
def demo(
    folder: Annotated[Path | None, typer.Option(help="Folder for the reports (default: widegap-demo).")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", hidden=True)] = None,
    debug: options.Debug = False,
) -> None:
    """Run the demo: digits compared with k-means and spectral clustering, topics of docstrings, a photo."""
    from widegap.cli._demo import run_demo

    run_demo(options.current(folder, output, "--folder", "-o") or Path("widegap-demo"))


class _Command(TyperCommand):
    """A command that knows ``--k`` for a mistyped ``-k``, and so for every option of one letter."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            wrong = str(getattr(error, "option_name", ""))
            short = {name for parameter in self.params for name in parameter.opts if len(name) == 2}
            if len(wrong) == 3 and wrong[1:] in short and hasattr(error, "possibilities"):
                error.possibilities = [wrong[1:]]
            raise


for command in (cluster, documents, predict, update, verify, report, refine, datasets, demo, warm):
    app.command(cls=_Command)(command)
app.command("segment", cls=_Command)(segment_pictures)
app.command("explore", cls=_Command)(open_explorer)
app.command("export", cls=_Command)(export_model)
