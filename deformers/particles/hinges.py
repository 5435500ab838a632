"""Skin of bent limbs: it follows the joints, with a bony tip and a closed crease, unless they collapse it.

If the flesh stands out of the skin of the joints, that has collapsed, and both are united: the outer one counts.
Blended skin lies around the outside of a joint like a hose. It is moved toward the corner in which both limbs would
meet, as a bone would move it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.solid import vertex_normals
from ..geometry.vectors import normalize, smooth_ramp, smooth_step
from ..rig.hinges import find_starts
from ..rig.limbs import MAX_IN_LINE_BEND, find_heirs
from ..rig.rest import Joints, Pose
from ..skinning.limb_roots import find_limb_hinges

# Radii of the limb by which flesh of stiffness 1 stands out of the skin of the joints, at its deepest: both start to be
# united at the first, and fully are at the second. Stiffer flesh stands out less, by the square of its stiffness.
COLLAPSE_RAMP = 0.53, 0.69

# Full effect below, none above this distance from the hinge, in radii of the limb. A shorter fade leaves a ledge.
DISTANCE_FADE = 2.5, 5.0

# Largest shift of a tip, in distances from the hinge
MAX_POINT = 0.3


@dataclass(frozen=True)
class _Hinge:
    """A hinge and its skin.

    Attributes
    ----------
    joint, parent : int
    center, before, after : float arrays, shape (3,)
        The hinge, and the directions from it to the start and the end of its limb, at rest in armature space.
    vertices, middle : int arrays, shape (n,), (m,)
        All vertices, and those that show whether the skin has collapsed.
    near : float array, shape (n,)
        Share of each vertex that belongs to the hinge, 0 to 1.
    radius : float
        Radius of the limb, in object space.
    triangles : int array, shape (t, 3)
        Triangles of the surface with one of the vertices.
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
    """A hinge in a pose, in object space.

    Attributes
    ----------
    turned : float
        Angle from rest, radians.
    at_rest, angle : float
        Angles between the limb's directions before and after it, at rest and in the pose, radians.
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
        """Pose a hinge by transforms of the joints, (B, 4, 4), and from armature to object space, `into`, (4, 4)."""
        above, own = rest_to_pose[[hinge.parent, hinge.joint]]
        center = into[:3, :3] @ (own[:3, :3] @ hinge.center + own[:3, 3]) + into[:3, 3]
        rotations = np.stack([above, above, own])[:, :3, :3]
        directions = np.stack([hinge.before, hinge.after, hinge.after])
        before, straight, after = normalize(np.einsum("ij,njk,nk->ni", into[:3, :3], rotations, directions))
        at_rest, angle = np.pi - _find_angle(before, straight), np.pi - _find_angle(before, after)
        out, along = normalize(np.stack([-before - after, after - before]))
        return cls(_find_angle(straight, after), at_rest, angle, center, out, along)

    def point(self, points: np.ndarray) -> np.ndarray:
        """Find the shifts of points near the hinge, shape (N, 3), toward its tip, shape (N, 3).

        Notes
        -----
        Blended skin lies on an arc of the bend's angle between both limbs. At an angle psi from its middle, the corner
        in which the limbs would meet is 1 / cos(angle / 2 - |psi|) times as far from the hinge's axis.
        """
        away = points - self.center
        out, along = away @ self.out, away @ self.along
        turns = np.arctan2(along, out)
        excess = np.maximum(_stand_out(turns, 0.5 * self.angle) - _stand_out(turns, 0.5 * self.at_rest), 0.0)
        shares = excess / (1.0 + excess / MAX_POINT)
        return np.outer(shares * out, self.out) + np.outer(shares * along, self.along)


def _find_angle(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.arccos(np.clip(one @ other, -1.0, 1.0)))


def _stand_out(turns: np.ndarray, half: float) -> np.ndarray:
    """Distance of a rounded corner, relative to the arc, at angles from its middle, for half the arc's angle."""
    roundness = 0.4
    left = np.maximum(half - np.hypot(turns, roundness * half), 0.0)
    return 1.0 / np.cos(left)


@dataclass(frozen=True)
class Hinges:
    """The hinges of a skin.

    Attributes
    ----------
    hinges : tuple of _Hinge
        Hinges with skin.
    bounds : tuple of float
        `COLLAPSE_RAMP` for the stiffness of the flesh.
    """

    hinges: tuple[_Hinge, ...]
    bounds: tuple[float, float]

    def unite(self, flesh: np.ndarray, joints: np.ndarray, pose: Pose) -> np.ndarray:
        """Replace or unite flesh near hinges by the skin of the joints: float32, shape (V, 3).

        `flesh` and `joints`, shape (V, 3), are the posed skin by flesh and by the joints, in object space.
        """
        offsets, shares = flesh - joints, np.zeros(len(flesh), np.float32)
        lengths = np.sqrt(np.einsum("vi,vi->v", offsets, offsets))
        tips, (sound, collapsed), space = np.zeros_like(joints), self.bounds, pose.object_to_armature
        into = np.eye(4) if space is None else np.linalg.inv(space)
        for hinge in self.hinges:
            bend = _Bend.of_pose(hinge, pose.rest_to_pose, into)
            # A straight limb is all flesh.
            near = smooth_step(np.array(bend.turned / np.radians(30.0))) * hinge.near
            if not near.any():
                continue
            tips[hinge.vertices] += near[:, None] * bend.point(joints[hinge.vertices])
            if lengths[hinge.middle].max() > sound * hinge.radius:
                heights = np.einsum("vi,vi->v", offsets, vertex_normals(joints, hinge.triangles))
                # The hole in the crook of a joint is a small part of its skin, hence the high percentile.
                stands_out = np.percentile(heights[hinge.middle], 98.0) / hinge.radius
                united = smooth_ramp(np.array(stands_out), sound, collapsed)
                inside = smooth_step(0.5 - heights[hinge.vertices] / (0.06 * hinge.radius))
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
    """Find the hinges of a skin by its weights.

    Parameters
    ----------
    points, triangles : float and int arrays, shapes (V, 3) and (T, 3)
        In object space, welded at seams.
    weights : float array, shape (V, B)
    joints : Joints
        Joints without the still joint.
    centers, radii : float arrays, shapes (B, 3) and (B,)
        Positions of the joints, and radius of the limb at each, in object space.
    stiffness : float
        Stiffness of the flesh, above 0.
    """
    found, rest_centers = [], np.asarray(joints.centers, np.float64)
    before, heirs = normalize(find_starts(joints) - rest_centers), find_heirs(joints.parents)
    for joint in np.flatnonzero(find_limb_hinges(joints) & (radii > 0.0)).tolist():
        limb = [*_list_line(joint, joints.parents, before, heirs), *np.flatnonzero(joints.chains.below[:, joint])]
        held = np.clip((weights[:, limb].sum(axis=1) - 0.3) / (0.7 - 0.3), 0.0, 1.0)
        away = np.linalg.norm(points - centers[joint], axis=1) / radii[joint]
        near = held * (1.0 - smooth_ramp(away, *DISTANCE_FADE))
        vertices, middle = np.flatnonzero(near > 0.0), np.flatnonzero(held * (away < 2.0) > 0.5)
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
    sound, collapsed = COLLAPSE_RAMP
    return Hinges(tuple(found), (sound / stiffness**2, collapsed / stiffness**2))


def _list_line(joint: int, parents: np.ndarray, before: np.ndarray, heirs: np.ndarray) -> list[int]:
    """List the bones above a hinge that continue in a line, such as both halves of a thigh, from the hinge up."""
    line = [int(parents[joint])]
    while (above := int(parents[line[-1]])) >= 0 and heirs[above] == line[-1]:
        if before[line[-1]] @ before[joint] < np.cos(MAX_IN_LINE_BEND):
            break
        line.append(above)
    return line
