"""What the settings of a pattern mean: what drives it, by which law, its relief and its height map."""

from __future__ import annotations

import bpy
import numpy as np

from ...bridge.animation import drivers
from ...bridge.animation.drivers import DrivingJoint
from ...bridge.images.data import read_image
from ...deformers import SkinningError
from ...deformers.anatomy.body import find_axis
from ...deformers.patterns.compression import DRIVERS, SPREADS, CompressionResponse
from ...deformers.patterns.heights import AXES, Relief, Response
from ...settings.patterns import PatternSettings, driving_armature

DATA_SPACE = "Non-Color"
"""Color space of images that hold heights."""


def find_driving_armature(obj: bpy.types.Object) -> bpy.types.Object:
    """The armature whose joints drive an object's patterns; raises SkinningError where there is none."""
    armature = driving_armature(obj)
    if armature is not None:
        return armature
    raise SkinningError(f"'{obj.name}' has no armature to drive patterns: parent it to an armature first")


def read_response(pattern: PatternSettings) -> Response:
    """A pattern's law; raises SkinningError where its angles make no sense."""
    return Response(pattern.law, pattern.direction, pattern.start, pattern.full, pattern.gain)


def has_angle(pattern: PatternSettings) -> bool:
    """Whether the angle of a joint brings a pattern out."""
    return pattern.driver in ("ANGLE", "BOTH")


def has_compression(pattern: PatternSettings) -> bool:
    """Whether the skin's compression or stretch brings a pattern out."""
    return pattern.driver in ("COMPRESSION", "STRETCH", "BOTH")


def has_depth(pattern: PatternSettings) -> bool:
    """Whether limbs that press into the skin bring a pattern out."""
    return pattern.driver == "DEPTH"


def read_compression_response(pattern: PatternSettings) -> CompressionResponse:
    """A pattern's law for compression or depth, as a share; raises SkinningError where its numbers make no sense."""
    start, full = 0.01 * pattern.compression_start, 0.01 * pattern.compression_full
    return CompressionResponse(pattern.law, "POSITIVE", start, full, pattern.compression_gain)


def check_driver(pattern: PatternSettings) -> None:
    """Raise SkinningError where a later version has stored what this one does not know."""
    if pattern.driver not in DRIVERS:
        raise SkinningError("The pattern's driver is unknown to this version: choose one in Driven By")
    if pattern.compression_spread not in SPREADS:
        raise SkinningError("The pattern's compression amount is unknown to this version: choose one in Amount")


def read_relief(pattern: PatternSettings) -> Relief:
    """What a pattern's heights mean."""
    return Relief(pattern.kind, pattern.strength, pattern.softness, pattern.depth)


def find_joint(obj: bpy.types.Object, pattern: PatternSettings) -> DrivingJoint:
    """What drives a pattern; raises SkinningError where its bones are not there."""
    armature = find_driving_armature(obj)
    if pattern.axis not in (*AXES, "BETWEEN"):
        raise SkinningError("The pattern's driving axis is unknown to this version: choose an axis")
    for bone in _name_bones(pattern):
        if not bone:
            raise SkinningError("No bone drives the pattern: choose a bone")
        if bone not in armature.data.bones:
            raise SkinningError(f"'{armature.name}' has no bone '{bone}': choose another bone")
    if pattern.axis == "BETWEEN":
        rest = drivers.measure_rest(armature, pattern.bone, pattern.other_bone)
        return DrivingJoint(armature, pattern.bone, "BETWEEN", pattern.other_bone, rest)
    return DrivingJoint(armature, pattern.bone, pattern.axis, chain=_find_chain(armature, pattern))


def _name_bones(pattern: PatternSettings) -> tuple[str, ...]:
    """The bones that a pattern's settings name and that count."""
    if pattern.axis == "BETWEEN":
        return pattern.bone, pattern.other_bone
    return (pattern.bone, pattern.first_bone) if pattern.first_bone else (pattern.bone,)


def _find_chain(armature: bpy.types.Object, pattern: PatternSettings) -> tuple[tuple[str, str, int], ...]:
    """Bones from a pattern's bone up to its first, without itself; each with its axis nearest to that of the bone."""
    bone = armature.data.bones[pattern.bone]
    axis = np.array(bone.matrix_local, np.float64)[:3, AXES.index(pattern.axis)]
    chain = []
    while pattern.first_bone and bone.name != pattern.first_bone:
        bone = bone.parent
        if bone is None:
            raise SkinningError(f"'{pattern.first_bone}' is not above '{pattern.bone}': choose a bone up the chain")
        name, share = find_axis(np.array(bone.matrix_local, np.float64)[:3, :3], axis)
        chain.append((bone.name, name, 1 if share > 0.0 else -1))
        if len(chain) >= len(drivers.VARIABLES):
            raise SkinningError(
                f"There are more than {len(drivers.VARIABLES)} bones from '{pattern.first_bone}' to "
                f"'{pattern.bone}': choose a closer bone"
            )
    return tuple(chain)


def follow_renamed(obj: bpy.types.Object, pattern: PatternSettings) -> None:
    """Take over renamed bones from the pattern's driver, in which Blender itself follows the names."""
    if not has_angle(pattern):
        return
    armature = find_driving_armature(obj)
    names = _name_bones(pattern)
    if all(name in armature.data.bones for name in names):
        return
    driven = drivers.read_bones(obj, pattern.driven, pattern.slot)
    if len(driven) >= len(names) and all(name in armature.data.bones for name in driven):
        pattern.bone = driven[0]
        if len(names) > 1:
            setattr(pattern, "other_bone" if pattern.axis == "BETWEEN" else "first_bone", driven[-1])


_problems: dict[tuple, str] = {}
"""What is wrong with images, "" for nothing, by their identity and size: a cache."""


def check_image(image: bpy.types.Image | None) -> None:
    """Raise SkinningError where an image is no height map; reads its pixels once."""
    if image is None:
        raise SkinningError("The pattern has no height map: choose an image")
    space = image.colorspace_settings.name
    if space != DATA_SPACE:
        raise SkinningError(
            f"Image '{image.name}' is read as {space}, which distorts its heights: set it to {DATA_SPACE}"
        )
    key = (image.session_uid, tuple(image.size), image.filepath, image.source)
    if key not in _problems:
        try:
            read_image(image)
        except SkinningError as error:
            _problems[key] = str(error)
        else:
            _problems[key] = ""
    if _problems[key]:
        raise SkinningError(_problems[key])
