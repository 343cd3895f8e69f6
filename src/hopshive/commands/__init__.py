"""The commands, each in a module of its own. hopshive.cli puts them together."""
