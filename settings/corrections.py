"""What Supple stores of each correction on an object: a shape key that the rotation of bones brings in."""

from __future__ import annotations

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


register, unregister = bpy.utils.register_classes_factory((CorrectionSettings,))
