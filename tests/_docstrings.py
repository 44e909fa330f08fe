"""A corpus that every Python has: docstrings of the standard library, the chapters of its reference as classes."""

import importlib
import inspect

CHAPTERS = {
    "numbers": ("decimal", "fractions", "math", "cmath", "statistics", "random"),
    "internet": ("email.message", "ftplib", "http.client", "http.cookiejar", "imaplib", "smtplib", "urllib.request"),
    "threads": ("asyncio", "concurrent.futures", "threading", "multiprocessing.pool", "queue"),
    "files": ("os", "os.path", "pathlib", "shutil", "tarfile", "zipfile", "tempfile"),
}
LEAST_WORDS = 12


def documented(owner):
    """Functions and classes of a module, with the methods of the classes."""
    for _, member in inspect.getmembers(owner):
        if inspect.isroutine(member) or inspect.isclass(member):
            yield member
            if inspect.isclass(member) and inspect.ismodule(owner):
                yield from documented(member)


def docstrings():
    """Docstrings and their chapters, each text once, in a fixed order."""
    chapter_of = {}
    for chapter, modules in CHAPTERS.items():
        for name in modules:
            for member in documented(importlib.import_module(name)):
                text = inspect.getdoc(member) or ""
                if len(text.split()) >= LEAST_WORDS:
                    chapter_of.setdefault(text, chapter)
    texts = sorted(chapter_of)
    return texts, [chapter_of[text] for text in texts]
