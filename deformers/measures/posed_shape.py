"""All measures of a skin in one pose."""

from __future__ import annotations

import numpy as np

from ..rig.rest import Rest
from .limbs import Reach, Section, find_limbs, find_owners
from .space import Space, close_surface
from .stretch import EdgeStretch, measure_stretch

# Filled space in the pose and at rest, stretch of edges, farthest skin from its bone, smallest cross-section
PosedShape = tuple[Space, Space, EdgeStretch, Reach, Section]


def measure_shape(rest: Rest, rest_to_pose: np.ndarray, posed: np.ndarray, edges: np.ndarray) -> PosedShape:
    """Measure a posed skin.

    Parameters
    ----------
    rest : Rest
        With `object_to_armature`, or in armature space.
    rest_to_pose : float array, shape (B, 4, 4)
        Armature space.
    posed : float array, shape (V, 3)
        Posed points, in the space of `rest`.
    edges : int array, shape (E, 2)
    """
    space = np.eye(4) if rest.object_to_armature is None else rest.object_to_armature
    at_rest, of_pose = (points @ space[:3, :3].T + space[:3, 3] for points in (rest.points, posed))
    triangles = np.empty((0, 3), np.intp) if rest.triangles is None else rest.triangles
    owners = find_owners(rest.weights, len(rest.points), len(rest.joints.parents))
    limbs = find_limbs(at_rest, triangles, owners, rest.joints)
    solid = close_surface(rest.points, triangles)
    return (
        solid.measure(posed),
        solid.rest,
        measure_stretch(rest.points, posed, edges),
        limbs.find_farthest(of_pose, rest_to_pose),
        limbs.find_smallest_section(of_pose),
    )
