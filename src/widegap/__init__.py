"""Maximum margin clustering: the groups that a large-margin classifier would separate best."""

__version__ = "0.1.0.dev0"
