"""The arm as arrays: surface, weights, bones and shape keys. NumPy only, so benchmarks can have it without Blender.

Lengths are meters. The arm lies along +X from below the shoulder; its palm looks to +Z, its thumb to -Y.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .implicit import Array
from .surface import build_surface
from .topology import Indices
from .weights import Bone, arm_bones, skin_weights

METERS = 0.001
"""A millimeter, in which the arm is designed, in meters."""

BULGES = {
    "Biceps": ((172.0, -3.0, 46.0), (60.0, 36.0, 32.0), 12.0),
    "Grip": ((345.0, 14.0, 34.0), (75.0, 36.0, 32.0), 7.0),
}
"""Shape keys, muscles that swell: center, half widths along X, Y and Z, and height, in millimeters."""


@dataclass(frozen=True)
class Arm:
    """A skinned arm.

    Attributes
    ----------
    points : ndarray, shape (V, 3), meters
    quads : ndarray, shape (F, 4), wound so that normals look outward
    weights : ndarray, shape (V, B), at most 4 a vertex above 0, rows sum to 1
    bones : tuple of Bone, length B, parents before children, meters
    keys : dict from a shape key's name to its points, shape (V, 3), meters
    """

    points: Array
    quads: Indices
    weights: Array
    bones: tuple[Bone, ...]
    keys: dict[str, Array]


def vertex_normals(points: Array, quads: Indices) -> Array:
    """Return unit normals (V, 3) of the vertices: the mean of their quads' normals, weighted by area."""
    corners = points[quads]
    areas = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
    shared = np.repeat(areas, 4, axis=0)
    normals = np.stack([np.bincount(quads.ravel(), column, len(points)) for column in shared.T], axis=1)
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


def shape_keys(points: Array, quads: Indices) -> dict[str, Array]:
    """Return the points (V, 3) of each shape key: moved along their normals, most at the muscle's center."""
    normals = vertex_normals(points, quads)
    keys = {}
    for name, (center, radii, height) in BULGES.items():
        squared = np.sum(((points - center) / radii) ** 2, axis=1, keepdims=True)
        keys[name] = points + height * np.exp(-squared) * normals
    return keys


def build_arm(vertices: int = 22_000) -> Arm:
    """Build an arm of about `vertices` vertices (2,000 to some millions); 22,000 take 5 seconds."""
    surface = build_surface(vertices)
    keys = shape_keys(surface.points, surface.quads)
    return Arm(
        points=surface.points * METERS,
        quads=surface.quads,
        weights=skin_weights(surface),
        bones=tuple(replace(bone, head=bone.head * METERS, tail=bone.tail * METERS) for bone in arm_bones()),
        keys={name: key * METERS for name, key in keys.items()},
    )
