"""What the settings of a pattern mean: the joint that drives it, its law, its relief and its picture."""

from __future__ import annotations

import bpy

from ...bridge import drivers
from ...bridge.drivers import Joint
from ...bridge.images import read_image
from ...deformers import SkinningError
from ...deformers.patterns.heights import Relief, Response
from ...settings.patterns import PatternSettings
from ..stack import armature_modifiers

DATA_SPACE = "Non-Color"
"""Color space of images that hold heights."""


def find_armature(obj: bpy.types.Object) -> bpy.types.Object:
    """The armature whose joints drive an object's patterns.

    Raises
    ------
    SkinningError
        Where there is none.
    """
    for modifier in armature_modifiers(obj):
        if modifier.object is not None:
            return modifier.object
    if obj.parent is not None and obj.parent.type == "ARMATURE":
        return obj.parent
    raise SkinningError(f"'{obj.name}' has no armature to drive patterns: parent it to one first")


def read_response(pattern: PatternSettings) -> Response:
    """A pattern's law; raises SkinningError where its angles make no sense."""
    return Response(pattern.law, pattern.direction, pattern.start, pattern.full, pattern.gain)


def read_relief(pattern: PatternSettings) -> Relief:
    """What a pattern's heights mean."""
    return Relief(pattern.kind, pattern.strength, pattern.softness, pattern.depth)


def find_joint(obj: bpy.types.Object, pattern: PatternSettings) -> Joint:
    """What drives a pattern; raises SkinningError where its bones are not there."""
    armature = find_armature(obj)
    bones = (pattern.bone, pattern.other_bone) if pattern.axis == "BETWEEN" else (pattern.bone,)
    for bone in bones:
        if not bone:
            raise SkinningError("No bone drives the pattern: choose one")
        if bone not in armature.data.bones:
            raise SkinningError(f"'{armature.name}' has no bone '{bone}': choose another one")
    if pattern.axis != "BETWEEN":
        return Joint(armature, pattern.bone, pattern.axis)
    return Joint(armature, pattern.bone, "BETWEEN", pattern.other_bone, drivers.measure_rest(armature, *bones))


def follow_renamed(obj: bpy.types.Object, pattern: PatternSettings) -> None:
    """Take over the names of bones from the pattern's driver, in which Blender follows them when they are renamed."""
    armature = find_armature(obj)
    names = [pattern.bone, pattern.other_bone] if pattern.axis == "BETWEEN" else [pattern.bone]
    if all(name in armature.data.bones for name in names):
        return
    driven = drivers.read_bones(obj, pattern.driven, pattern.slot)
    if len(driven) == len(names) and all(name in armature.data.bones for name in driven):
        pattern.bone = driven[0]
        if len(driven) > 1:
            pattern.other_bone = driven[1]


_looked_at: dict[tuple, str] = {}
"""What is wrong with images, "" for nothing, by their identity and size."""


def check_image(image: bpy.types.Image | None) -> None:
    """Raise SkinningError where an image is no height map; looks at its pixels once."""
    if image is None:
        raise SkinningError("The pattern has no picture: choose one")
    space = image.colorspace_settings.name
    if space != DATA_SPACE:
        raise SkinningError(f"Image '{image.name}' is read as {space}, which bends its heights: set it to {DATA_SPACE}")
    key = (image.session_uid, tuple(image.size), image.filepath, image.source)
    if key not in _looked_at:
        try:
            read_image(image)
        except SkinningError as error:
            _looked_at[key] = str(error)
        else:
            _looked_at[key] = ""
    if _looked_at[key]:
        raise SkinningError(_looked_at[key])
