"""What Supple stores of a character's copy for game engines: on its armature, and whether an action is copied."""

from __future__ import annotations

from typing import Any, cast

import bpy

from .character import find_armature
from .properties import BoolProperty, EnumProperty, FloatProperty, IntProperty, StringProperty

ORIGINAL_KEY = "supple_copy_of"
"""Custom property of the collection of a copy: the armature that it is a copy of. Of its objects and actions: the name
of what they are copies of."""

TARGET_ITEMS = (
    ("GLTF", "glTF", "For Godot, Unity, three.js and other programs that read glTF"),
    ("FBX", "FBX", "For Unreal, Unity and other programs that read FBX"),
    ("VRM", "VRM", "For VRM 1.0 avatars, by the VRM add-on"),
    ("USD", "USD", "For programs that read USD"),
)
INFLUENCE_ITEMS = (
    ("4", "4", "Four bones per vertex: supported by every engine"),
    ("8", "8", "Eight bones per vertex: more accurate, for engines that support it"),
)
AS_NEEDED = -1


class EngineCopyOptions:
    """Mix-in: what a copy is made by, but for the number of influences."""

    target: EnumProperty(name="Target", description="Target format of the copy", items=TARGET_ITEMS)
    tolerance: FloatProperty(
        name="Tolerance",
        description="Maximum distance between the copy's skin and the character's: keys are added where it is exceeded",
        subtype="DISTANCE",
        default=0.003,
        min=0.0,
        soft_min=0.0005,
        soft_max=0.02,
        precision=4,
        step=0.1,
    )
    helpers: IntProperty(
        name="Helpers",
        description="Maximum number of bones to add at a joint; -1 for the number that the tolerance needs",
        default=AS_NEEDED,
        min=AS_NEEDED,
        max=8,
    )
    keys: IntProperty(
        name="Keys",
        description="Maximum number of corrective shape keys; -1 for the number that the tolerance needs",
        default=AS_NEEDED,
        min=AS_NEEDED,
        soft_max=64,
        max=256,
    )
    use_bends: BoolProperty(
        name="Range of Motion", description="Also bend and twist each joint from the rest pose", default=True
    )
    angle: FloatProperty(
        name="Bend",
        description="How far each joint bends and twists, to each side",
        subtype="ANGLE",
        default=1.0471976,
        min=0.0,
        max=2.6179939,
    )


class EngineCopySettings(EngineCopyOptions, bpy.types.PropertyGroup):
    """`object.supple_engine_copy`, of an armature"""

    influences: EnumProperty(
        name="Influences", description="Maximum number of bones that influence a vertex", items=INFLUENCE_ITEMS
    )
    active: IntProperty(name="Active Action", options={"HIDDEN"})
    report: StringProperty(name="Report", description="Measured accuracy of the copy, as text", options={"HIDDEN"})
    figures: StringProperty(name="Figures", description="Measured values as JSON", options={"HIDDEN"})


OPTIONS = ("target", "tolerance", "influences", "helpers", "keys", "use_bends", "angle")


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
