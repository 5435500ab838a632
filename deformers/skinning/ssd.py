"""SSD: skeleton subspace deformation, also called linear blend skinning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..method import Method
from ..rig.rest import Pose
from .blending import Binding, bind, skin_points, skin_transforms, with_points
from .stages import Stage, linear_stage

__all__ = ["INFO", "Params", "bind", "deform", "vertex_transforms", "with_points"]


@dataclass(frozen=True)
class Params:
    """SSD has nothing to choose."""


INFO = Method(
    key="SSD",
    label="SSD",
    tooltip="Linear blending: fast, but collapses at bent elbows and twisted wrists",
    params=Params,
    has_nodes=True,
)


def deform(binding: Binding, pose: Pose) -> np.ndarray:
    """Posed positions, float32, shape (V, 3), object space (eq 1)."""
    return skin_points(binding, pose, _stages(binding, pose))


def vertex_transforms(binding: Binding, pose: Pose) -> np.ndarray:
    """Where each vertex's space goes, float32, shape (V, 4, 4): layout as in `blending.skin_transforms`."""
    return skin_transforms(binding, pose, _stages(binding, pose))


def _stages(binding: Binding, pose: Pose) -> list[Stage]:
    binding.check(pose)
    return [linear_stage(pose.rest_to_pose)]
