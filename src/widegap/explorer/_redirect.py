"""Opening a page whose address is a secret: every user of a machine can read the arguments of every program.

The browser is started with the name of a file that only its owner can read, in a folder that only its owner can enter;
the file sends it on to the address. It is deleted as soon as the page has arrived.
"""

import os
import webbrowser
from contextlib import ExitStack
from html import escape

from widegap._atomic import passing_folder
from widegap.explorer._autosave import PRIVATE

OPENING = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>widegap explore</title>
</head>
<body><p><a href="{address}">Open the page</a></p></body>
</html>
"""


class Redirect:
    """A private file that sends a browser on to an address."""

    def __init__(self, address: str):
        self._folder = ExitStack()
        self.path = self._folder.enter_context(passing_folder("widegap-explore-")) / "open.html"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(OPENING.format(address=escape(address)))

    def open(self) -> None:
        """Open it in the browser of this machine; without one it is deleted."""
        if not webbrowser.open(self.path.as_uri()):
            self.remove()

    def remove(self) -> None:
        """Delete it; may be called again."""
        self._folder.close()
