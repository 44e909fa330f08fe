"""The papers' experiments; every page they write is made from measured results alone."""
