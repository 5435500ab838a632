"""Limbs that bend deep: there the skin is that of its joints, a bony tip and a closed crease, unless that collapses.

Where the flesh stands out of what the joints make of the skin, this has collapsed, and both are united: what the joints
have outside stays, and what the flesh has outside, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.vectors import normalize, smooth_step
from ..rig.rest import Joints
from ..skinning.joint_shares import find_starts
from ..skinning.limb_roots import find_limb_hinges

DEEP = np.cos(np.radians([80.0, 110.0]))
"""Cosines of the angles between the bones of a hinge between which the skin of the joints takes over."""

TURNED = np.radians(40.0)
"""How far a hinge is bent, from rest, up to which it does so by degrees: bones may stand so at rest."""

SOUND, COLLAPSED = 0.08, 0.12
"""Radii of the limb by which flesh stands out of the skin of the joints, on the mean, from which on both are united,
and by how much they are fully."""

NEAR, FAR = 1.5, 3.0
"""Radii of the limb from the hinge up to which all of this holds, and from which on nothing."""

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
    axes : float array, shape (2, 3)
        Of both bones at rest: the parent's and its own, unit vectors.
    vertices : int array, shape (n,)
    near : float array, shape (n,)
        How much each is the hinge's, 0 to 1.
    radius : float
        Of the limb, object space.
    triangles : int array, shape (t, 3)
        Those of the surface that have one of the vertices.
    """

    joint: int
    parent: int
    axes: np.ndarray
    vertices: np.ndarray
    near: np.ndarray
    radius: float
    triangles: np.ndarray


@dataclass(frozen=True)
class DeepBends:
    """The hinges of a skin."""

    hinges: tuple[_Hinge, ...]

    def measure_depths(self, rest_to_pose: np.ndarray) -> np.ndarray:
        """How deep each hinge is bent, 0 to 1, shape (H,); `rest_to_pose` of shape (B, 4, 4)."""
        joints = np.array([(hinge.parent, hinge.joint) for hinge in self.hinges], np.intp).reshape(-1, 2)
        axes, linear = np.array([hinge.axes for hinge in self.hinges]).reshape(-1, 2, 3), rest_to_pose[joints, :3, :3]
        above, own = normalize(np.einsum("hkij,hkj->khi", linear, axes))
        starts = normalize(np.einsum("hij,hj->hi", linear[:, 0], axes[:, 1]))
        turned = np.arccos(np.clip(np.einsum("hi,hi->h", starts, own), -1.0, 1.0))
        bent = (np.einsum("hi,hi->h", above, own) - DEEP[0]) / (DEEP[1] - DEEP[0])
        return smooth_step(bent) * smooth_step(turned / TURNED)

    def find_contacts(self, depths: np.ndarray, joint_count: int) -> np.ndarray:
        """How much of contact there is at each joint, shape (B,): none where the skin of the joints has taken over.

        Limbs that lie in one another behind a crease are not seen; ledges that part them are.
        """
        contacts = np.ones(joint_count)
        contacts[[hinge.joint for hinge in self.hinges]] = 1.0 - depths
        return contacts

    def unite(self, flesh: np.ndarray, joints: np.ndarray, depths: np.ndarray) -> np.ndarray:
        """The skin as flesh, float32, (V, 3), and near deep bends as its joints have it, or united with that.

        Parameters
        ----------
        flesh, joints : float32 arrays, shape (V, 3)
            The posed skin by flesh and by the joints.
        depths : float array, shape (H,)
            From `measure_depths`.
        """
        shares = np.zeros(len(flesh), np.float32)
        for number in np.flatnonzero(depths > 0.0).tolist():
            hinge, depth = self.hinges[number], float(depths[number])
            own, near = hinge.vertices, depth * hinge.near
            out = _find_heights(flesh - joints, joints, hinge) / hinge.radius
            middle = hinge.near > 0.5
            stands_out = float(np.maximum(out[middle], 0.0).mean()) if middle.any() else 0.0
            united = float(smooth_step(np.array((stands_out - SOUND) / (COLLAPSED - SOUND))))
            shares[own] = np.maximum(shares[own], near * (1.0 - united + united * smooth_step(0.5 - out / SOFT)))
        return flesh + shares[:, None] * (joints - flesh)


def _find_heights(offsets: np.ndarray, points: np.ndarray, hinge: _Hinge) -> np.ndarray:
    """How far offsets, shape (V, 3), of a hinge's vertices go along the normals of the skin at points (V, 3): (n,)."""
    corners = points[hinge.triangles]
    normals, sums = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), np.zeros(points.shape)
    for axis in range(3):
        sums[:, axis] = np.bincount(hinge.triangles.ravel(), np.repeat(normals[:, axis], 3), minlength=len(points))
    return np.einsum("ni,ni->n", offsets[hinge.vertices], normalize(sums[hinge.vertices]))


def find_deep_bends(
    points: np.ndarray,
    triangles: np.ndarray,
    weights: np.ndarray,
    joints: Joints,
    centers: np.ndarray,
    radii: np.ndarray,
) -> DeepBends:
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
    found, starts = [], find_starts(joints)
    for joint in np.flatnonzero(find_limb_hinges(joints)).tolist():
        parent, radius = int(joints.parents[joint]), float(radii[joint])
        if radius <= 0.0:
            continue
        away = np.linalg.norm(points - centers[joint], axis=1) / radius
        held = (weights[:, joint] + weights[:, parent] - HELD[0]) / (HELD[1] - HELD[0])
        near = (1.0 - smooth_step((away - NEAR) / (FAR - NEAR))) * np.clip(held, 0.0, 1.0)
        vertices = np.flatnonzero(near > 0.0)
        if not len(vertices):
            continue
        around = triangles[(near[triangles] > 0.0).any(axis=1)]
        axes = np.stack([normalize(joints.centers[joint] - starts[joint]), joints.axes[joint]])
        found.append(_Hinge(joint, parent, axes, vertices, near[vertices], radius, around))
    return DeepBends(tuple(found))
