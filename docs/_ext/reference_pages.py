"""Pages that the program writes about itself: every public name, and the help of every command.

They are made anew in docs/generated/ by each build, so that they cannot differ from the code.
"""

import inspect
from importlib import import_module
from pathlib import Path

import typer.main
from click import Context

import widegap

MODULES = [name for name in widegap.__all__ if inspect.ismodule(getattr(widegap, name))]
CLASSES = [name for name in widegap.__all__ if inspect.isclass(getattr(widegap, name))]
FUNCTIONS = [name for name in widegap.__all__ if inspect.isfunction(getattr(widegap, name))]


def public_functions(module):
    """Names that a module offers: what its ``__all__`` lists, or else its own public functions and classes."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return [name for name in listed if not inspect.ismodule(getattr(module, name))]
    own = (name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__)
    return [name for name in own if not name.startswith("_")]


def api_page():
    """The reference of all public names, as reStructuredText."""
    lines = ["API reference", "=============", ""]
    lines += ["Estimators", "----------", "", *_autosummary("widegap", CLASSES, "class.rst")]
    lines += ["Functions", "---------", "", *_autosummary("widegap", FUNCTIONS)]
    for name in MODULES:
        module = import_module(f"widegap.{name}")
        title = f"widegap.{name}"
        summary = inspect.getdoc(module).split("\n\n")[0]
        lines += [title, "-" * len(title), "", summary, "", *_autosummary(title, public_functions(module))]
    warnings = public_functions(import_module("widegap.exceptions"))
    lines += ["widegap.exceptions", "------------------", "", *_autosummary("widegap.exceptions", warnings)]
    return "\n".join(lines)


def _autosummary(module, names, template=None):
    if not names:
        return []
    options = ["   :toctree:", *([f"   :template: {template}"] if template else [])]
    return [f".. currentmodule:: {module}", "", ".. autosummary::", *options, "", *(f"   {name}" for name in names), ""]


def commands_page():
    """What ``--help`` prints, for every command, as Markdown."""
    from widegap.cli._app import app

    group = typer.main.get_command(app)
    lines = ["# Commands and options", "", "What `widegap COMMAND --help` prints.", ""]
    for name, command in group.commands.items():
        context = Context(command, info_name=f"widegap {name}", max_content_width=100, terminal_width=100)
        lines += [f"## widegap {name}", "", command.help or "", "", f"    {command.get_usage(context)}", ""]
        for parameter in command.params:
            record = parameter.get_help_record(context)
            if record:
                lines += [f"`{record[0]}`", f": {record[1].strip() or 'see above'}", ""]
    return "\n".join(lines)


def _write(app):
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    for name, text in (("api.rst", api_page()), ("commands.md", commands_page())):
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app):
    _write(app)  # at once: Sphinx looks for pages after this
    return {"parallel_read_safe": True, "parallel_write_safe": True}
