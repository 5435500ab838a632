"""Where limbs are bent, the skin is that of its joints, a bony tip and a closed crease, unless that collapses.

Where the flesh stands out of what the joints make of the skin, this has collapsed, and both are united: what the joints
have outside stays, and what the flesh has outside, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.solid import vertex_normals
from ..geometry.vectors import normalize, smooth_step
from ..rig.rest import Joints
from ..skinning.limb_roots import find_limb_hinges

TURNED = np.radians(30.0)
"""How far a hinge is bent, from rest, up to which that sets in: where a limb is straight, all of it is flesh."""

SOUND, COLLAPSED = 0.08, 0.12
"""Radii of the limb by which flesh stands out of the skin of the joints, on the mean, from which on both are united,
and by how much they are fully."""

MIDDLE = 2.0
"""Radii of the limb from the hinge within which that is measured."""

NEAR, FAR = 2.5, 5.0
"""The same up to which all of this holds, and from which on nothing: so far, no ledge is seen where flesh begins."""

HELD = 0.3, 0.7
"""Weight of both bones of a hinge from which on a vertex is the hinge's, and fully."""

SOFT = 0.06
"""Radii of the limb over which inside goes over to outside."""


@dataclass(frozen=True)
class _Hinge:
    """A hinge and its skin.

    Attributes
    ----------
    joint, parent : int
    axis : float array, shape (3,)
        Of its bone at rest.
    vertices, middle : int arrays, shape (n,), (m,)
        All, and those that tell whether the skin has collapsed.
    near : float array, shape (n,)
        How much each is the hinge's, 0 to 1.
    radius : float
        Of the limb, object space.
    triangles : int array, shape (t, 3)
        Those of the surface that have one of the vertices.
    """

    joint: int
    parent: int
    axis: np.ndarray
    vertices: np.ndarray
    middle: np.ndarray
    near: np.ndarray
    radius: float
    triangles: np.ndarray


@dataclass(frozen=True)
class Hinges:
    """The hinges of a skin.

    Attributes
    ----------
    hinges : tuple of _Hinge
        Those that have skin.
    """

    hinges: tuple[_Hinge, ...]

    def _measure_bends(self, rest_to_pose: np.ndarray) -> np.ndarray:
        """How far each hinge is bent, 0 to 1, shape (H,)."""
        pairs = np.array([(hinge.parent, hinge.joint) for hinge in self.hinges], np.intp).reshape(-1, 2)
        axes = np.array([hinge.axis for hinge in self.hinges]).reshape(-1, 3)
        before, after = normalize(np.einsum("hkij,hj->khi", rest_to_pose[pairs, :3, :3], axes))
        return smooth_step(np.arccos(np.clip(np.einsum("hi,hi->h", before, after), -1.0, 1.0)) / TURNED)

    def unite(self, flesh: np.ndarray, joints: np.ndarray, rest_to_pose: np.ndarray) -> np.ndarray:
        """The skin as flesh, float32, (V, 3), and near hinges as its joints have it, or united with that.

        Parameters
        ----------
        flesh, joints : float32 arrays, shape (V, 3)
            The posed skin by flesh and by the joints.
        rest_to_pose : float array, shape (B, 4, 4)
        """
        offsets, shares = flesh - joints, np.zeros(len(flesh), np.float32)
        lengths = np.sqrt(np.einsum("vi,vi->v", offsets, offsets))
        bends = self._measure_bends(rest_to_pose)
        for number in np.flatnonzero(bends > 0.0).tolist():
            hinge = self.hinges[number]
            near = bends[number] * hinge.near
            if lengths[hinge.middle].mean() > SOUND * hinge.radius:
                heights = np.einsum("vi,vi->v", offsets, vertex_normals(joints, hinge.triangles))
                stands_out = np.maximum(heights[hinge.middle], 0.0).mean() / hinge.radius
                united = smooth_step(np.array((stands_out - SOUND) / (COLLAPSED - SOUND)))
                inside = smooth_step(0.5 - heights[hinge.vertices] / (SOFT * hinge.radius))
                near *= 1.0 - united * (1.0 - inside)
            shares[hinge.vertices] = np.maximum(shares[hinge.vertices], near)
        return flesh - shares[:, None] * offsets


def find_hinges_of_skin(
    points: np.ndarray,
    triangles: np.ndarray,
    weights: np.ndarray,
    joints: Joints,
    centers: np.ndarray,
    radii: np.ndarray,
) -> Hinges:
    """The hinges of a skin, by its weights.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Object space.
    triangles : int array, shape (T, 3)
        Welded at seams.
    weights : float array, shape (V, B)
    joints : Joints
        Without fractions.
    centers : float array, shape (B, 3)
        Of the joints, object space.
    radii : float array, shape (B,)
        Of the limb at each joint, object space.
    """
    found = []
    for joint in np.flatnonzero(find_limb_hinges(joints) & (radii > 0.0)).tolist():
        parent, away = int(joints.parents[joint]), np.linalg.norm(points - centers[joint], axis=1) / radii[joint]
        held = np.clip((weights[:, joint] + weights[:, parent] - HELD[0]) / (HELD[1] - HELD[0]), 0.0, 1.0)
        near = held * (1.0 - smooth_step((away - NEAR) / (FAR - NEAR)))
        vertices, middle = np.flatnonzero(near > 0.0), np.flatnonzero(held * (away < MIDDLE) > 0.5)
        if len(middle):
            around = triangles[(near[triangles] > 0.0).any(axis=1)]
            axis, radius = joints.axes[joint], float(radii[joint])
            found.append(_Hinge(joint, parent, axis, vertices, middle, near[vertices], radius, around))
    return Hinges(tuple(found))
