"""SSD: skeleton subspace deformation, also called linear blend skinning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..method import BLENDER, Method
from ..rig.rest import Joints, Pose, once_for_a_pose
from .blending import Binding, bind, skin_points, skin_transforms, with_points
from .stages import Stage, linear_stage

__all__ = ["INFO", "Params", "bind", "deform", "vertex_transforms", "with_points"]


@dataclass(frozen=True)
class Params:
    """No choices."""


INFO = Method(
    key="SSD",
    number=0,
    label="Linear",
    tooltip="Linear blending (SSD), as Blender's own: fast, but collapses at bent elbows and twisted wrists",
    params=Params,
    evaluation=BLENDER,
)


def deform(binding: Binding, pose: Pose) -> np.ndarray:
    """Posed positions, float32, shape (V, 3), object space (eq 1)."""
    return skin_points(binding, pose, find_stages(binding.joints, pose, binding.params))


def vertex_transforms(binding: Binding, pose: Pose) -> np.ndarray:
    """Transform of each vertex's space, float32, shape (V, 4, 4): layout as in `blending.skin_transforms`."""
    return skin_transforms(binding, pose, find_stages(binding.joints, pose, binding.params))


@once_for_a_pose
def find_stages(_joints: Joints, pose: Pose, _params: Params) -> list[Stage]:
    """One stage: the joints' own transforms, blended entry by entry."""
    return [linear_stage(pose.rest_to_pose)]
