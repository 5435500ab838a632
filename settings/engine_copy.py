"""What Supple stores of a character's copy for game engines: on its armature, and whether an action is copied."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ..options import CopyOptions
from .character import find_armature
from .properties import IntProperty, StringProperty, with_options

ORIGINAL_KEY = "supple_copy_of"
"""Custom property of the collection of a copy: the armature that it is a copy of. Of its objects and actions: the name
of what they are copies of."""


@with_options(CopyOptions)
class EngineCopySettings(bpy.types.PropertyGroup):
    """`object.supple_engine_copy`, of an armature"""

    active: IntProperty(name="Active Action", options={"HIDDEN"})
    report: StringProperty(name="Report", description="Measured accuracy of the copy, as text", options={"HIDDEN"})
    figures: StringProperty(name="Figures", description="Measured values as JSON", options={"HIDDEN"})


def find_source(context: bpy.types.Context) -> bpy.types.Object | None:
    """The armature of the active character; of an engine copy, that which it is a copy of."""
    active = context.active_object
    if active is not None:
        for collection in active.users_collection:
            source = collection.get(ORIGINAL_KEY)
            if isinstance(source, bpy.types.Object):
                return source
    return find_armature(context)


def list_copies(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The meshes of all engine copies of the active character."""
    source = find_source(context)
    if source is None:
        return []
    copies = [collection for collection in bpy.data.collections if collection.get(ORIGINAL_KEY) == source]
    return [obj for collection in copies for obj in collection.objects if obj.type == "MESH"]


def copy_settings(armature: bpy.types.Object) -> Any:
    """What is stored of an armature's engine copy."""
    return cast(Any, armature).supple_engine_copy


_register_class, _unregister_class = bpy.utils.register_classes_factory((EngineCopySettings,))


def register() -> None:
    _register_class()
    bpy.types.Object.supple_engine_copy = bpy.props.PointerProperty(
        type=EngineCopySettings, name="Engine Copy", description="The copy of an armature's character for game engines"
    )
    bpy.types.Action.supple_is_copied = bpy.props.BoolProperty(
        name="Copied", description="Include this action in engine copies", default=True
    )


def unregister() -> None:
    del bpy.types.Action.supple_is_copied
    del bpy.types.Object.supple_engine_copy
    _unregister_class()
