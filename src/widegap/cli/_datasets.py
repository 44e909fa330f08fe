"""``widegap datasets``: what can be loaded here."""

import os
from pathlib import Path

from widegap.cli import _options as options
from widegap.cli._errors import guarded


@guarded
def datasets(json: options.Json = False, debug: options.Debug = False) -> None:
    """List the data sets that widegap.datasets can load, and where they are looked for."""
    from rich.table import Table as Grid
    from rich.text import Text

    from widegap import datasets as loaders
    from widegap.cli._output import print_json, screen

    folder = os.environ.get("WIDEGAP_DATA")
    found = []
    for name in sorted(vars(loaders)):
        if name.startswith("load_") and getattr(vars(loaders)[name], "__module__", "") == loaders.__name__:
            lines = (vars(loaders)[name].__doc__ or "").strip().splitlines()
            found.append({"name": name, "what": lines[0], "bundled": name == "load_digits"})
    if json:
        print_json({"folder": folder, "datasets": found})
        return
    console = screen()
    grid = Grid(box=None, pad_edge=False, header_style="dim")
    for heading in ("widegap.datasets.", "what", "needs"):
        grid.add_column(heading)
    for entry in found:
        grid.add_row(entry["name"], Text(entry["what"]), "" if entry["bundled"] else "WIDEGAP_DATA")
    console.print(grid)
    where = f"WIDEGAP_DATA is {folder}" if folder else "WIDEGAP_DATA is not set: only the bundled set can be loaded"
    there = "" if folder is None or Path(folder).is_dir() else ", which is no folder"
    console.print(Text(where + there + "."))
