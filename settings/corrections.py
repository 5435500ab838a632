"""Settings of each correction of an object: a shape key driven by the rotation of bones."""

from __future__ import annotations

import bpy

from .properties import EnumProperty, StringProperty

READER_ITEMS = (
    ("AUTO", "Automatic", "Use one angle if one is enough for all poses of the bone, else its full rotation"),
    ("ANGLE", "Angle", "The bend to one side, or the twist: each pose is active around its own angle"),
    (
        "DIRECTIONS",
        "Directions",
        "How far the bone swings toward the direction of each pose, without its twist: between two poses, both act",
    ),
    ("SWING", "Swing", "The direction of the bone, without its twist: each pose is active around its own direction"),
    ("RBF", "Swing and Twist", "The full rotation of up to three bones: each pose is active around its own rotation"),
)


class CorrectionSettings(bpy.types.PropertyGroup):
    """An entry of `object.supple.corrections`; its name is that of the shape key"""

    bones: StringProperty(
        name="Bones", description="The bones whose rotation drives the correction, one per line", options={"HIDDEN"}
    )
    rotations: StringProperty(
        name="Rotations", description="Rotation of each of these bones in the pose, as JSON", options={"HIDDEN"}
    )
    ramps: StringProperty(
        name="Ramps",
        description="How its value rises with the rotation of each bone, as JSON; empty if its pose drives it",
        options={"HIDDEN"},
    )
    pose: StringProperty(name="Pose", description="The pose of all bones, as JSON", options={"HIDDEN"})
    reader: EnumProperty(name="Driven By", description="What drives the correction", items=READER_ITEMS)
    method: StringProperty(
        name="Method", description="The method that deformed the skin when it was corrected", options={"HIDDEN"}
    )
    driven: StringProperty(
        name="Driven", description="Identifies its driver even if the shape key is renamed", options={"HIDDEN"}
    )
    source: StringProperty(
        name="Source",
        description="The method that gave the correction its shape; empty if sculpted by hand",
        options={"HIDDEN"},
    )
