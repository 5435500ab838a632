"""All bones of an armature at rest as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import bpy
import numpy as np

from ...deformers.anatomy.body import RestBones
from ..arrays import read_array


def read_rest_bones(armature: bpy.types.Object) -> RestBones:
    """All bones of an armature at rest, deforming or not."""
    bones = armature.data.bones
    matrices = read_array(bones, "matrix_local", 16).reshape(-1, 4, 4).transpose(0, 2, 1)
    return RestBones(
        names=tuple(bones.keys()),
        heads=read_array(bones, "head_local", 3).astype(np.float64),
        tails=read_array(bones, "tail_local", 3).astype(np.float64),
        axes=matrices[:, :3, :3].astype(np.float64),
        parents=tuple(parent.name if (parent := bone.parent) else "" for bone in bones),
        deforming=read_array(bones, "use_deform", 0, np.int32) > 0,
    )


@contextmanager
def at_rest(armature: bpy.types.Object) -> Iterator[None]:
    """Have an armature in its rest position meanwhile, with all that follows it."""
    data, layer = armature.data, bpy.context.view_layer
    before, data.pose_position = data.pose_position, "REST"
    layer.update()
    try:
        yield
    finally:
        data.pose_position = before
        layer.update()
