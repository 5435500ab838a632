"""Operators: each reads its settings, calls one task and reports. Rooms are named for the work of a rigger."""

import bpy

from . import base, character, corrections, files, patterns, pose, skin, weights

ROOMS = (skin, character, files, corrections, pose, patterns, weights)

_register_classes, _unregister_classes = bpy.utils.register_classes_factory(
    tuple(each for room in ROOMS for each in room.CLASSES)
)


def register() -> None:
    _register_classes()
    patterns.library.register()


def unregister() -> None:
    base.unregister()
    patterns.library.unregister()
    _unregister_classes()
