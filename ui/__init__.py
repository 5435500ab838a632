"""Panels: they draw, and nothing else."""

from . import panels

register, unregister = panels.register, panels.unregister
