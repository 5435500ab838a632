"""Settings of a character's copy for game engines, on its armature."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ..bridge.owned import Tag, read_mark
from ..options import CopyOptions
from .character import find_armature
from .properties import IntProperty, StringProperty, with_options


@with_options(CopyOptions)
class EngineCopySettings(bpy.types.PropertyGroup):
    """`object.supple_engine_copy`, of an armature"""

    active: IntProperty(name="Active Action", options={"HIDDEN"})
    report: StringProperty(name="Report", description="Measured accuracy of the copy, as text", options={"HIDDEN"})
    figures: StringProperty(name="Figures", description="Measured values as JSON", options={"HIDDEN"})


def find_source(context: bpy.types.Context) -> bpy.types.Object | None:
    """The armature of the active character; for an engine copy, its original."""
    active = context.active_object
    if active is not None:
        for collection in active.users_collection:
            source = read_mark(collection, Tag.COPY_OF)
            if isinstance(source, bpy.types.Object):
                return source
    return find_armature(context)


def list_copies(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The meshes of all engine copies of the active character."""
    source = find_source(context)
    if source is None:
        return []
    copies = [collection for collection in bpy.data.collections if read_mark(collection, Tag.COPY_OF) == source]
    return [obj for collection in copies for obj in collection.objects if obj.type == "MESH"]


def copy_settings(armature: bpy.types.Object) -> Any:
    """The settings of an armature's engine copy."""
    return cast(Any, armature).supple_engine_copy
