"""Bulge limit: skin at a bent joint keeps about its rest distance from both of its bones (after Kim & Han 2014).

The joint of a vertex follows from weights and rest alone. The bones are segments in the pose. The position of a vertex
is given by its offset from the joint, and how far that goes along each bone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..geometry.solid import label_islands, weld
from ..geometry.vectors import list_ranges, smooth_step
from ..option import Option
from ..rig.hinges import find_hinges, find_starts
from ..rig.rest import Joints, Pose, Rest, Weights, normalize_weights, once_for_a_pose, once_for_joints

BULGE_LIMIT = Option(
    name="bulge_limit",
    label="Bulge Limit",
    tooltip="How far to pull back skin that bulges at a bent joint, toward its distance from the bones at rest",
    highest=1.0,
    unit="FACTOR",
    help="how far to pull back skin that bulges at bent joints, with CENTERS",
    metavar="0..1",
    read=float,
)

# Share of the rest distance over which the limit sets in
SOFTNESS = 0.02

# Avoids divisions by zero
TINY = 1e-30


@dataclass(frozen=True)
class PosedJoints:
    """Joints and their two bones in a pose, armature space.

    Attributes
    ----------
    centers : float64 array, shape (B, 3)
    directions : float64 array, shape (2, B, 3)
        Unit vectors from the joint along the bone above, to its start, and along its own bone.
    lengths, widths : float64 arrays, shape (2, B)
        Of both bones; widths relative to rest.
    is_bent : bool array, shape (B,)
        Whether it is a hinge that is bent from rest.
    """

    centers: np.ndarray
    directions: np.ndarray
    lengths: np.ndarray
    widths: np.ndarray
    is_bent: np.ndarray


@dataclass(frozen=True)
class AtRest:
    """Rest positions of vertices relative to their joints, each a float64 array, shape (A,).

    Attributes
    ----------
    nearest, distances : arrays
        From the nearer bone; from the foot, as in `_find_feet`.
    nearness : array
        Share of the bone below.
    """

    nearest: np.ndarray
    distances: np.ndarray
    nearness: np.ndarray


@dataclass(frozen=True)
class BulgeLimit:
    """The A vertices of a mesh that bend with a joint.

    Attributes
    ----------
    vertices, joints : int arrays, shape (A,)
        Each vertex, and the lower of the two joints that it lies between.
    shares : float64 array, shape (A,)
        Part of the excess distance from its bones by which a vertex is pulled back.
    points : float array, shape (A, 3)
        At rest, object space.
    skeleton : Joints
        Without the ends of segments.
    known : dict
        Rest positions of the vertices, in the latest object space.
    """

    vertices: np.ndarray
    joints: np.ndarray
    shares: np.ndarray
    points: np.ndarray
    skeleton: Joints
    known: dict = field(default_factory=dict, repr=False, compare=False)

    def with_points(self, points: np.ndarray) -> BulgeLimit:
        """Replace the rest positions by those of `points`, shape (V, 3), object space."""
        return replace(self, points=points[self.vertices], known={})

    def read_bones(self, pose: Pose) -> bytes:
        """Matrices of the bones on which the limit depends, to compare."""
        own = np.unique(self.joints)
        return pose.rest_to_pose[np.concatenate([own, self.skeleton.parents[own]])].tobytes()

    def pull_back(self, posed: np.ndarray, pose: Pose) -> np.ndarray:
        """Offsets of all vertices of the mesh, float32, shape (V, 3), object space.

        `posed`, float array, shape (V, 3): Object space.
        """
        joints, at_rest = pose_joints(self.skeleton, pose, None), self._find_at_rest(pose)
        chosen = np.flatnonzero(joints.is_bent[self.joints])
        own, moves = self.joints[chosen], np.zeros(posed.shape, np.float32)
        above, below = joints.widths[:, own]
        wider = above + at_rest.nearness[chosen] * (below - above)
        offsets = _into_armature(posed[self.vertices[chosen]], pose) - joints.centers[own]
        away, distances, _ = _find_feet(offsets, joints, own, at_rest.nearest[chosen] * wider)
        excess = _find_excess(distances, at_rest.distances[chosen] * wider) / np.maximum(distances, TINY)
        back = -(self.shares[chosen] * excess)[:, None] * away
        if pose.object_to_armature is not None:
            back = back @ np.linalg.inv(pose.object_to_armature[:3, :3]).T
        moves[self.vertices[chosen]] = back
        return moves

    def _find_at_rest(self, pose: Pose) -> AtRest:
        space = b"" if pose.object_to_armature is None else pose.object_to_armature.tobytes()
        if self.known.get("space") != space:
            joints = _place_joints(self.skeleton, np.tile(np.eye(4), (len(self.skeleton.parents), 1, 1)))
            offsets = _into_armature(self.points, pose) - joints.centers[self.joints]
            nearest = np.minimum(*_go_along(offsets, joints, self.joints)[2])
            _, distances, nearness = _find_feet(offsets, joints, self.joints, nearest)
            self.known.update(space=space, at_rest=AtRest(nearest, distances, nearness))
        return self.known["at_rest"]


def limit_bulges(rest: Rest, amount: float) -> BulgeLimit | None:
    """The limit of a mesh, by an amount from 0 to 1; None if it changes no vertex."""
    if amount <= 0.0:
        return None
    joints, shares = share_joints(rest)
    shares = amount * (shares if rest.strength is None else shares * rest.strength)
    chosen = np.flatnonzero(shares > 0.0)
    if not len(chosen):
        return None
    points = np.asarray(rest.points, np.float64)[chosen]
    return BulgeLimit(chosen, joints[chosen], shares[chosen], points, rest.joints)


def share_joints(rest: Rest) -> tuple[np.ndarray, np.ndarray]:
    """Find the joint that each vertex bends with: the nearest of those whose two bones alone it follows.

    Parts that a joint does not bend, such as a helmet, do not belong to it; without triangles there is one part.

    Returns
    -------
    joints : int array, shape (V,)
        -1 for none.
    shares : float array, shape (V,)
        How much a vertex can bulge there, 0 to 1.
    """
    points, count = rest.armature_points, len(rest.joints.parents)
    hinges, *sides = _find_sides(rest.joints)
    found = np.full(len(points), -1), np.zeros(len(points)), np.zeros(len(points))
    weights = normalize_weights(rest.weights, len(points), count).by_vertex()
    chunk = 8192
    bounds = np.searchsorted(weights.vertices, np.arange(0, len(points) + chunk, chunk))
    for number, start in enumerate(range(0, len(points) if len(hinges) else 0, chunk)):
        own = slice(bounds[number], bounds[number + 1])
        part = Weights(weights.vertices[own] - start, weights.joints[own], weights.values[own])
        shares = _share_chunk(points[start : start + chunk], part, rest.joints, hinges, sides)
        for whole, of_chunk in zip(found, shares, strict=True):
            whole[start : start + chunk] = of_chunk
    joints, shares, below = found
    shares[_find_unbent(points, rest.triangles, joints, below)] = 0.0
    return joints, shares


@once_for_joints
def _find_sides(joints: Joints) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The hinges, (H,), and the joints in a straight line above and below each, such as twist bones: float (B, H)."""
    hinges = np.flatnonzero(find_hinges(joints))
    above, below = np.zeros((len(joints.parents), len(hinges))), np.zeros((len(joints.parents), len(hinges)))
    straight = np.isin(np.arange(len(joints.parents)), hinges)
    for column, hinge in enumerate(hinges):
        joint = joints.parents[hinge]
        above[joint, column] = 1.0
        while straight[joint]:
            joint = joints.parents[joint]
            above[joint, column] = 1.0
        reached = [hinge]
        while reached:
            joint = reached.pop()
            below[joint, column] = 1.0
            reached += np.flatnonzero((joints.parents == joint) & straight).tolist()
    return hinges, above, below


def _share_chunk(
    points: np.ndarray, weights: Weights, joints: Joints, hinges: np.ndarray, sides: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Joint, share, and weight of the side below, of points with normalized weights, shape (V,) each."""
    above, below = (_add_sides(weights, side, len(points)) for side in sides)
    belongs, away = np.zeros(above.shape), np.full(above.shape, np.inf)
    joint_ramp = 0.8, 0.95  # Weight of both bones of a joint, of 1: a vertex belongs to the joint
    near = np.nonzero(above + below > joint_ramp[0])  # few of all vertices and hinges
    belongs[near] = _rise(*joint_ramp, (above + below)[near])
    offsets = points[near[0]] - np.asarray(joints.centers, np.float64)[hinges[near[1]]]
    away[near] = np.where(belongs[near] > 0.0, np.linalg.norm(offsets, axis=1), np.inf)
    rows, nearest = np.arange(len(points)), away.argmin(axis=1)
    first = away[rows, nearest]
    away[rows, nearest] = np.inf
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isfinite(first), first / away.min(axis=1), 1.0)  # to nothing where there is no other
    # Distance from the nearest joint, relative to the next, up to which a vertex belongs to it fully
    max_nearer = 0.7
    share = belongs[rows, nearest] * (1.0 - _rise(max_nearer, 1.0, np.nan_to_num(ratio)))
    above, below = above[rows, nearest], below[rows, nearest]
    of_side = np.where(share > 0.0, below / np.maximum(above + below, 1e-12), 0.5)
    min_blended = 0.05  # A vertex can bulge fully if the lesser weight of its joint's two bones is at least this.
    limits = share * _rise(0.0, min_blended, np.minimum(above, below))
    return np.where(share > 0.0, hinges[nearest], -1), limits, of_side


def _add_sides(weights: Weights, side: np.ndarray, count: int) -> np.ndarray:
    """Weight of each of `count` vertices on one side of each hinge, from `_find_sides`: shape (count, H)."""
    taken = weights.joints < len(side)  # not the joint that stays at rest
    joints, columns = np.nonzero(side)
    starts = np.searchsorted(joints, np.arange(len(side) + 1))
    first, lengths = starts[weights.joints[taken]], np.diff(starts)[weights.joints[taken]]
    rows, entries = list_ranges(first, lengths)
    cells = (weights.vertices[taken] * side.shape[1])[rows] + columns[entries]
    sums = np.bincount(cells, weights.values[taken][rows], minlength=count * side.shape[1])
    return sums.reshape(count, side.shape[1])


def _find_unbent(points: np.ndarray, triangles: np.ndarray | None, joints: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Vertices of parts that follow one side of their joint only, bool array (V,)."""
    parts = np.zeros(len(points), np.intp)
    if triangles is not None and len(triangles):
        parts = label_islands(weld(points), triangles)
    keys = parts * (int(joints.max(initial=0)) + 2) + joints + 1
    # A part follows one bone of a joint only if the other has at most this weight in it: such a part does not bend.
    max_other_weight = 0.25
    return ~np.isin(keys, keys[below > max_other_weight]) | ~np.isin(keys, keys[below < 1.0 - max_other_weight])


def _rise(low: float, high: float, values: np.ndarray) -> np.ndarray:
    """Rise smoothly from 0 at a low value to 1 at a high value."""
    return smooth_step((values - low) / (high - low))


@once_for_a_pose
def pose_joints(joints: Joints, pose: Pose, _params: None) -> PosedJoints:
    """The joints in a pose, once for all meshes."""
    return _place_joints(joints, pose.rest_to_pose)


@once_for_joints
def _find_rest(joints: Joints) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Ends of both bones and the joint between, (3, B, 3), the bones' lengths, (2, B), angles between them, hinges."""
    centers = np.asarray(joints.centers, np.float64)
    ends = np.stack([find_starts(joints), centers, centers if joints.tails is None else joints.tails])
    (before, after), lengths = _split_lengths(np.diff(ends, axis=0))
    return ends, lengths, _find_angles(before, after), find_hinges(joints)


def _place_joints(joints: Joints, matrices: np.ndarray) -> PosedJoints:
    """The joints under matrices from rest to pose, shape (B, 4, 4)."""
    rest_ends, rest_lengths, rest_bend, hinges = _find_rest(joints)
    moved = np.stack([joints.chains.of_parents(matrices, np.eye(4)), matrices, matrices])
    ends = np.einsum("kbij,kbj->kbi", moved[..., :3, :3], rest_ends) + moved[..., :3, 3]
    (before, after), lengths = _split_lengths(np.diff(ends, axis=0))
    widths, is_flat = _find_widths(matrices, joints.axes)
    is_flat |= joints.chains.of_parents(is_flat, False)
    # Radians from rest: a joint that is bent less bulges by nothing that the soft limit would change.
    min_bend = 0.07
    is_bent = np.abs(_find_angles(before, after) - rest_bend) > min_bend
    min_length = 1e-3  # Relative to rest: a shorter bone has no direction.
    return PosedJoints(
        centers=ends[1],
        directions=np.stack([-before, after]),
        lengths=lengths,
        widths=np.stack([joints.chains.of_parents(widths, 1.0), widths]),
        is_bent=hinges & is_bent & (lengths > min_length * rest_lengths).all(axis=0) & ~is_flat,
    )


def _find_widths(matrices: np.ndarray, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Factors by which matrices widen the surroundings of their bone, (B,), and whether they flatten it, bool (B,).

    The width is the root of the growth of an area across the bone at rest, from cofactors, which do not need the bone's
    length: a bone scaled to zero is as wide as one that is almost as short.
    """
    linear = matrices[:, :3, :3]
    cofactors = np.cross(linear[:, :, [1, 2, 0]], linear[:, :, [2, 0, 1]], axis=1)
    widths = np.sqrt(np.linalg.norm(np.einsum("bij,bj->bi", cofactors, axes), axis=1))
    # Relative to rest, and to the bone's matrix if that is larger: skin around a flatter bone has no width but
    # rounding.
    min_width = 1e-2
    return widths, ~(widths > min_width * np.maximum(np.linalg.norm(linear, axis=(1, 2)), 1.0))


def _find_angles(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Angles between unit vectors, shape (B, 3), in radians."""
    return np.arccos(np.clip(np.einsum("bi,bi->b", first, second), -1.0, 1.0))


def _split_lengths(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Directions, zero for zero vectors, and lengths."""
    lengths = np.linalg.norm(vectors, axis=-1)
    return vectors / np.where(lengths > 0.0, lengths, 1.0)[..., None], lengths


def _into_armature(points: np.ndarray, pose: Pose) -> np.ndarray:
    """Transform points of object space, shape (A, 3), to armature space, float64."""
    space, points = pose.object_to_armature, np.asarray(points, np.float64)
    return points if space is None else points @ space[:3, :3].T + space[:3, 3]


def _go_along(
    offsets: np.ndarray, joints: PosedJoints, of_vertices: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both bones relative to the joint: directions (2, A, 3), lengths of offsets along them, and distances, (2, A)."""
    directions = joints.directions[:, of_vertices]
    along = np.einsum("kai,ai->ka", directions, offsets)
    lengths = np.clip(along, 0.0, joints.lengths[:, of_vertices])
    squares = np.einsum("ai,ai->a", offsets, offsets) + lengths * (lengths - 2.0 * along)
    return directions, lengths, np.sqrt(np.maximum(squares, 0.0))


def _find_feet(
    offsets: np.ndarray, joints: PosedJoints, of_vertices: np.ndarray, nearest: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Offsets of points from their feet: the nearest points of both bones, mixed by nearness.

    Parameters
    ----------
    offsets : float array, shape (A, 3)
        From their joints.
    of_vertices : int array, shape (A,)
        Their joints.
    nearest : float array, shape (A,)
        Distances at rest from the nearer bone.

    Returns
    -------
    away : float array, shape (A, 3)
        From the foot to the point.
    distances, nearness : float arrays, shape (A,)
        Length of `away`; share of the bone below.
    """
    directions, lengths, apart = _go_along(offsets, joints, of_vertices)
    bone_falloff = 0.24  # A bone's influence falls by e for each further share of the rest distance.
    steps = np.clip((apart[1] - apart[0]) / np.maximum(bone_falloff * nearest, TINY), -60.0, 60.0)
    nearness = 1.0 / (1.0 + np.exp(steps))
    feet = np.stack([(1.0 - nearness) * lengths[0], nearness * lengths[1]])
    away = offsets - np.einsum("ka,kai->ai", feet, directions)
    return away, np.linalg.norm(away, axis=1), nearness


def _find_excess(distances: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Excess distances of points from their feet, (A,).

    Notes
    -----
    Kim & Han 2014, for the bones of one joint, mixed, instead of the nearest bone of all, which jumps between knuckles.
    The excess x counts as x^2 / 4 s up to 2 s, then as x - s, with s the limit times `SOFTNESS`.
    """
    soft = SOFTNESS * limits + TINY
    excess = np.maximum(distances - limits, 0.0)
    return np.where(excess < 2.0 * soft, excess * excess / (4.0 * soft), excess - soft)
