"""Worlds and servers that more than one folder of tests uses."""
