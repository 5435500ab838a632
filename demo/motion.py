"""The demo's motion: four key poses and an action of 60 frames that visits them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import bpy

from .anatomy import FINGERS

Channels = dict[str, tuple[float, float, float]]

FRAME_START, FRAME_END = 1, 60


@dataclass(frozen=True)
class KeyPose:
    """A named pose: Euler angles in degrees (XYZ), scales, and shape key values; other bones are at rest."""

    frame: int
    angles: Channels = field(default_factory=dict)
    scales: Channels = field(default_factory=dict)
    keys: dict[str, float] = field(default_factory=dict)


def curled(amount: float) -> Channels:
    """Return the angles of a hand that closes to a fist as `amount` goes from 0 to 1."""
    angles: Channels = {}
    for number, finger in enumerate(FINGERS):
        reach = amount * (1.0 + 0.06 * number)
        angles[f"{finger}.01"] = (62.0 * reach, 0.0, 0.0)
        angles[f"{finger}.02"] = (82.0 * reach, 0.0, 0.0)
        angles[f"{finger}.03"] = (48.0 * reach, 0.0, 0.0)
    angles["thumb.01"] = (18.0 * amount, 0.0, 0.0)
    angles["thumb.02"] = (30.0 * amount, 0.0, 0.0)
    angles["thumb.03"] = (40.0 * amount, 0.0, 0.0)
    return angles


TWIST: Channels = {"forearm_twist": (0.0, 150.0, 0.0), "hand": (0.0, 25.0, 0.0)}
STRETCH: Channels = {"forearm": (0.8, 1.4, 0.8), "hand": (1.5, 1.5, 1.5)}

POSES = {
    "rest": KeyPose(1),
    "bend": KeyPose(16, {"forearm": (130.0, 0.0, 0.0), **curled(0.85)}, keys={"Biceps": 1.0, "Grip": 0.6}),
    "twist": KeyPose(31, {**TWIST, **curled(0.25)}),
    "stretch": KeyPose(46, {"forearm": (95.0, 0.0, 0.0), "hand": (-22.0, 0.0, 0.0), **curled(0.12)}, STRETCH),
    "all": KeyPose(60, {"forearm": (110.0, 0.0, 0.0), **TWIST, **curled(0.6)}, STRETCH, {"Biceps": 1.0, "Grip": 1.0}),
}


def animate(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Key the poses on an armature and on the shape keys of its mesh object, and set the scene's frame range."""
    key_blocks = obj.data.shape_keys.key_blocks
    for pose in POSES.values():
        for bone in armature.pose.bones:
            bone.rotation_euler = [math.radians(angle) for angle in pose.angles.get(bone.name, (0.0, 0.0, 0.0))]
            bone.scale = pose.scales.get(bone.name, (1.0, 1.0, 1.0))
            bone.keyframe_insert("rotation_euler", frame=pose.frame)
            bone.keyframe_insert("scale", frame=pose.frame)
        for key in key_blocks[1:]:
            key.value = pose.keys.get(key.name, 0.0)
            key.keyframe_insert("value", frame=pose.frame)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = FRAME_START, FRAME_END
    scene.frame_set(FRAME_START)
