"""Where limbs are bent, the skin is that of its joints, a bony tip and a closed crease, unless that collapses.

Where the flesh stands out of what the joints make of the skin, this has collapsed, and both are united: what the joints
have outside stays, and what the flesh has outside, too. Blended skin goes round the outside of a joint like a hose: it
is drawn out toward the corner in which both limbs would meet, as a bone would.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.solid import vertex_normals
from ..geometry.vectors import normalize, smooth_step
from ..rig.hinges import find_starts
from ..rig.limbs import IN_LINE, find_heirs
from ..rig.rest import Joints, Pose
from ..skinning.limb_roots import find_limb_hinges

TURNED = np.radians(30.0)
"""How far a hinge is bent, from rest, up to which that sets in: where a limb is straight, all of it is flesh."""

SOUND, COLLAPSED = 0.53, 0.69
"""Radii of the limb by which flesh of stiffness 1 stands out of the skin of the joints, at its deepest, from which on
both are united, and by how much they are fully. Stiffer flesh stands out less, by the square of its stiffness."""

DEEP = 98.0
"""Percentile of that which counts as the deepest: a hole in the crook of a joint is a small part of its skin."""

MIDDLE = 2.0
"""Radii of the limb from the hinge within which that is measured."""

NEAR, FAR = 2.5, 5.0
"""The same up to which all of this holds, and from which on nothing: so far, no ledge is seen where flesh begins."""

HELD = 0.3, 0.7
"""Weight of a hinge's limb from which on a vertex is the hinge's, and fully."""

SOFT = 0.06
"""Radii of the limb over which inside goes over to outside."""

ROUND = 0.4
"""Share of the arc over which the corner of a tip is rounded."""

POINTED, MOST_POINTED = 1.0, 0.3
"""By how much a tip is drawn out, in what the rounded corner stands out of the arc, while that is little; and by how
much at most, in distances from the hinge."""


@dataclass(frozen=True)
class _Hinge:
    """A hinge and its skin.

    Attributes
    ----------
    joint, parent : int
    center, before, after : float arrays, shape (3,)
        At rest, armature space: the hinge, and the directions from it to where its limb comes from and goes on.
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
    center: np.ndarray
    before: np.ndarray
    after: np.ndarray
    vertices: np.ndarray
    middle: np.ndarray
    near: np.ndarray
    radius: float
    triangles: np.ndarray


@dataclass(frozen=True)
class _Bend:
    """A hinge in a pose, object space.

    Attributes
    ----------
    turned : float
        Radians that it is bent from rest.
    at_rest, angle : float
        Radians between the limb's directions before and behind it, at rest and in the pose.
    center, out, along : float arrays, shape (3,)
        The hinge, and directions at right angles: out of the bend, and along the limb.
    """

    turned: float
    at_rest: float
    angle: float
    center: np.ndarray
    out: np.ndarray
    along: np.ndarray

    @classmethod
    def of_pose(cls, hinge: _Hinge, rest_to_pose: np.ndarray, into: np.ndarray) -> _Bend:
        """A hinge where joints, (B, 4, 4), are in a pose; `into`, (4, 4): from armature to object space."""
        above, own = rest_to_pose[[hinge.parent, hinge.joint]]
        center = into[:3, :3] @ (own[:3, :3] @ hinge.center + own[:3, 3]) + into[:3, 3]
        rotations = np.stack([above, above, own])[:, :3, :3]
        directions = np.stack([hinge.before, hinge.after, hinge.after])
        before, straight, after = normalize(np.einsum("ij,njk,nk->ni", into[:3, :3], rotations, directions))
        at_rest, angle = np.pi - _find_angle(before, straight), np.pi - _find_angle(before, after)
        return cls(
            _find_angle(straight, after),
            at_rest,
            angle,
            center,
            *normalize(np.stack([-before - after, after - before])),
        )

    def point(self, points: np.ndarray) -> np.ndarray:
        """What draws points near the hinge, shape (N, 3), out to its tip: float array (N, 3).

        Notes
        -----
        Blended skin lies on an arc of the bend's angle, between both limbs. At an angle psi from its middle, the
        corner in which these would meet is 1 / cos(angle / 2 - |psi|) times as far from the hinge's axis.
        """
        away = points - self.center
        out, along = away @ self.out, away @ self.along
        turns = np.arctan2(along, out)
        excess = np.maximum(_stand_out(turns, 0.5 * self.angle) - _stand_out(turns, 0.5 * self.at_rest), 0.0)
        shares = excess / (1.0 / POINTED + excess / MOST_POINTED)
        return np.outer(shares * out, self.out) + np.outer(shares * along, self.along)


def _find_angle(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.arccos(np.clip(one @ other, -1.0, 1.0)))


def _stand_out(turns: np.ndarray, half: float) -> np.ndarray:
    """How much farther than an arc a rounded corner is from the middle, at angles from it, for half the arc's angle."""
    left = np.maximum(half - np.hypot(turns, ROUND * half), 0.0)
    return 1.0 / np.cos(left)


@dataclass(frozen=True)
class Hinges:
    """The hinges of a skin.

    Attributes
    ----------
    hinges : tuple of _Hinge
        Those that have skin.
    bounds : tuple of float
        `SOUND` and `COLLAPSED` for its flesh.
    """

    hinges: tuple[_Hinge, ...]
    bounds: tuple[float, float]

    def unite(self, flesh: np.ndarray, joints: np.ndarray, pose: Pose) -> np.ndarray:
        """The skin as flesh, float32, (V, 3), and near hinges as its joints have it, or united with that.

        Parameters
        ----------
        flesh, joints : float32 arrays, shape (V, 3)
            The posed skin by flesh and by the joints, object space.
        pose : Pose
            Of the joints with skin, in any space.
        """
        offsets, shares = flesh - joints, np.zeros(len(flesh), np.float32)
        lengths = np.sqrt(np.einsum("vi,vi->v", offsets, offsets))
        tips, (sound, collapsed), space = np.zeros_like(joints), self.bounds, pose.object_to_armature
        into = np.eye(4) if space is None else np.linalg.inv(space)
        for hinge in self.hinges:
            bend = _Bend.of_pose(hinge, pose.rest_to_pose, into)
            near = smooth_step(np.array(bend.turned / TURNED)) * hinge.near
            if not near.any():
                continue
            tips[hinge.vertices] += near[:, None] * bend.point(joints[hinge.vertices])
            if lengths[hinge.middle].max() > sound * hinge.radius:
                heights = np.einsum("vi,vi->v", offsets, vertex_normals(joints, hinge.triangles))
                stands_out = np.percentile(heights[hinge.middle], DEEP) / hinge.radius
                united = smooth_step(np.array((stands_out - sound) / (collapsed - sound)))
                inside = smooth_step(0.5 - heights[hinge.vertices] / (SOFT * hinge.radius))
                near = near * (1.0 - united * (1.0 - inside))
            shares[hinge.vertices] = np.maximum(shares[hinge.vertices], near)
        return flesh - shares[:, None] * offsets + tips


def find_hinges_of_skin(
    points: np.ndarray,
    triangles: np.ndarray,
    weights: np.ndarray,
    joints: Joints,
    centers: np.ndarray,
    radii: np.ndarray,
    stiffness: float = 1.0,
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
        Of the skin, without the joint that stays at rest.
    centers : float array, shape (B, 3)
        Of the joints, object space.
    radii : float array, shape (B,)
        Of the limb at each joint, object space.
    stiffness : float
        Of the flesh, above 0.
    """
    found, rest_centers = [], np.asarray(joints.centers, np.float64)
    before, heirs = normalize(find_starts(joints) - rest_centers), find_heirs(joints.parents)
    for joint in np.flatnonzero(find_limb_hinges(joints) & (radii > 0.0)).tolist():
        limb = [*_list_line(joint, joints.parents, before, heirs), *np.flatnonzero(joints.chains.below[:, joint])]
        held = np.clip((weights[:, limb].sum(axis=1) - HELD[0]) / (HELD[1] - HELD[0]), 0.0, 1.0)
        away = np.linalg.norm(points - centers[joint], axis=1) / radii[joint]
        near = held * (1.0 - smooth_step((away - NEAR) / (FAR - NEAR)))
        vertices, middle = np.flatnonzero(near > 0.0), np.flatnonzero(held * (away < MIDDLE) > 0.5)
        if len(middle):
            hinge = _Hinge(
                joint=joint,
                parent=int(joints.parents[joint]),
                center=rest_centers[joint],
                before=before[joint],
                after=joints.axes[joint],
                vertices=vertices,
                middle=middle,
                near=near[vertices],
                radius=float(radii[joint]),
                triangles=triangles[(near[triangles] > 0.0).any(axis=1)],
            )
            found.append(hinge)
    return Hinges(tuple(found), (SOUND / stiffness**2, COLLAPSED / stiffness**2))


def _list_line(joint: int, parents: np.ndarray, before: np.ndarray, heirs: np.ndarray) -> list[int]:
    """The bones above a hinge that go on in a line, as both halves of a thigh do, the last first."""
    line = [int(parents[joint])]
    while (above := int(parents[line[-1]])) >= 0 and heirs[above] == line[-1]:
        if before[line[-1]] @ before[joint] < np.cos(IN_LINE):
            break
        line.append(above)
    return line
