"""``widegap datasets``: what can be loaded without any file."""

from widegap.cli import _options as options
from widegap.cli._errors import guarded


@guarded
def datasets(json: options.Json = False, debug: options.Debug = False) -> None:
    """List the data sets that come with widegap, for widegap.datasets."""
    from rich.table import Table as Grid
    from rich.text import Text

    from widegap import datasets as loaders
    from widegap.cli._output import print_json, screen

    found = []
    for name in sorted(vars(loaders)):
        if name.startswith("load_") and getattr(vars(loaders)[name], "__module__", "") == loaders.__name__:
            lines = (vars(loaders)[name].__doc__ or "").strip().splitlines()
            found.append({"name": name, "what": lines[0]})
    if json:
        print_json({"datasets": found})
        return
    grid = Grid(box=None, pad_edge=False, header_style="dim")
    for heading in ("widegap.datasets.", "what"):
        grid.add_column(heading)
    for entry in found:
        grid.add_row(entry["name"], Text(entry["what"]))
    screen().print(grid)
