"""Operators: each reads its settings, calls one task, reports."""

from . import bake, bind

PARTS = (bind, bake)


def register() -> None:
    for part in PARTS:
        part.register()


def unregister() -> None:
    for part in reversed(PARTS):
        part.unregister()
