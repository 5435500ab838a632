"""What Supple stores of each correction on an object: a shape key that the rotation of bones brings in."""

from __future__ import annotations

from typing import Any, cast

import bpy

from .properties import EnumProperty, StringProperty

READER_ITEMS = (
    ("AUTO", "Automatic", "By one angle while one is enough for all poses of the bone, else by its whole rotation"),
    ("ANGLE", "Angle", "The bone's bend to one side, or its twist: each pose counts around its own angle"),
    ("SWING", "Swing", "Where the bone points: each pose counts around its own direction, whatever the twist"),
    ("RBF", "Swing and Twist", "The whole rotation, of up to three bones: each pose counts around its own"),
)


class CorrectionSettings(bpy.types.PropertyGroup):
    """An entry of `object.supple.corrections`; its name is that of the shape key"""

    bones: StringProperty(
        name="Bones", description="The bones whose rotation brings the correction in, one a line", options={"HIDDEN"}
    )
    rotations: StringProperty(
        name="Rotations", description="Rotation of each of these bones in the pose, as JSON", options={"HIDDEN"}
    )
    pose: StringProperty(name="Pose", description="The pose of all bones, as JSON", options={"HIDDEN"})
    reader: EnumProperty(name="Driven By", description="What brings the correction in", items=READER_ITEMS)
    method: StringProperty(
        name="Method", description="The method that deformed the skin when it was corrected", options={"HIDDEN"}
    )
    driven: StringProperty(
        name="Driven",
        description="What tells its driver from others, should its shape key be renamed",
        options={"HIDDEN"},
    )
    source: StringProperty(
        name="Source",
        description="The method that the correction was made after; empty if a user has made it",
        options={"HIDDEN"},
    )


def find_posed_copies(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """The posed copies of a character that is being corrected: of a mesh, of all meshes of an armature, or of a copy.

    Those of a copy are all of its character. Copies that were deleted are left out.
    """
    settings = cast(Any, obj).supple
    if obj.type == "MESH" and settings.corrected is None:
        copy = settings.posed_copy
        return [copy] if copy is not None and copy.users_scene and copy.supple.corrected == obj else []
    armatures = {obj} if obj.type == "ARMATURE" else _list_armatures(settings.corrected)
    found = []
    for other in bpy.data.objects:
        character = other.supple.corrected if other.type == "MESH" and other.users_scene else None
        if character is not None and (other == obj or armatures & _list_armatures(character)):
            found.append(other)
    return sorted(found, key=lambda copy: copy != obj)


def _list_armatures(obj: bpy.types.Object | None) -> set[bpy.types.Object]:
    modifiers = obj.modifiers if obj is not None else ()
    return {modifier.object for modifier in modifiers if modifier.type == "ARMATURE" and modifier.object is not None}


register, unregister = bpy.utils.register_classes_factory((CorrectionSettings,))
