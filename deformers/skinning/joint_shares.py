"""Which joint's bulge limit and contact each vertex is under, and how much: from weights and rest alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..geometry.neighbors import find_nearest
from ..geometry.solid import label_islands, weld
from ..geometry.vectors import smooth_step
from ..option import Option
from ..rig.rest import Joints, Rest, Weights, normalize_weights, once_for_joints, once_found
from ..rig.skeleton import distances_to_bones

BULGE_LIMIT = Option(
    name="bulge_limit",
    label="Bulge Limit",
    tooltip="How far to pull back skin that bulges at a bent joint, toward its distance from the bones at rest",
    highest=1.0,
    unit="FACTOR",
    help="how far to pull back skin that bulges at bent joints",
    metavar="0..1",
    read=float,
)
CONTACT = Option(
    name="contact",
    label="Contact",
    tooltip="How strongly contact keeps the two sides of a bent elbow, knee or finger from intersecting",
    highest=1.0,
    unit="FACTOR",
    help="how strongly contact keeps both sides of a bent joint apart",
    metavar="0..1",
    read=float,
)

STRAIGHTEST = 45.0
"""Degrees between two bones at rest: joints bent farther, such as hips of most rigs, are no hinges."""

OF_JOINT = 0.8, 0.95
"""Weight of both bones of a joint, of 1, from which on a vertex belongs to it, and belongs to it fully."""

BLENDED = 0.05
"""Lesser weight of a joint's two bones from which on a vertex can bulge fully."""

HELD = 0.25
"""Most weight that the other bone of a joint has in a part that one bone holds: this does not bend."""

TWINS = 0.05
"""Share by which limbs differ in length that are twins."""

SHORT = 0.35
"""Share of what is below a shoulder that is between it and the trunk, at most."""

NEARER = 0.7
"""Distance from the nearest joint, as a share of that from the next, up to which a vertex belongs to it fully."""

FAR = 4.0, 5.0
"""Height above a joint's plane, in distances from the bone, from which on contact ends: farther out limbs may press
each other, but not at this plane."""

ALIKE = 4
"""Vertices on the other side of a joint whose mean distance from their bone is compared."""

CHUNK = 8192
"""Vertices that are looked at together."""


@dataclass(frozen=True)
class LimitParams:
    """What can be chosen with every method that blends joints.

    Attributes
    ----------
    bulge_limit, contact : float
        0 to 1.
    """

    bulge_limit: float = 0.0
    contact: float = 0.0

    def __post_init__(self) -> None:
        BULGE_LIMIT.check(self.bulge_limit)
        CONTACT.check(self.contact)


@dataclass(frozen=True)
class JointShares:
    """The joint that each vertex belongs to.

    Attributes
    ----------
    joints : int array, shape (V,)
        The lower of the two that are joined there; -1 for none.
    limits, contacts : float64 arrays, shape (V,)
        How much of the bulge limit, and of contact, a vertex takes: 0 to 1.
    leads : float64 array, shape (V,)
        How far beyond the plane halfway between both bones a vertex may go, unit of the points: where one half is
        thicker than the other, they meet on the side of the thinner.
    """

    joints: np.ndarray
    limits: np.ndarray
    contacts: np.ndarray
    leads: np.ndarray


def find_starts(joints: Joints) -> np.ndarray:
    """Where the bone above each joint comes from: the parent's center; the joint's own at a root, shape (B, 3)."""
    centers = np.asarray(joints.centers, np.float64)
    return np.where(joints.chains.is_root[:, None], centers, centers[joints.parents])


def find_hinges(joints: Joints) -> np.ndarray:
    """Which joints have a bone above and one below that go on in much the same direction at rest, bool array (B,)."""
    if joints.tails is None:
        return np.zeros(len(joints.parents), bool)
    before = np.asarray(joints.centers, np.float64) - find_starts(joints)
    length = np.linalg.norm(before, axis=1)
    after = np.linalg.norm(np.asarray(joints.tails, np.float64) - joints.centers, axis=1)
    least = 1e-3 * max(float(np.median(after)), 1e-12) if len(after) else 0.0
    straight = np.einsum("bi,bi->b", before, joints.axes) > np.cos(np.radians(STRAIGHTEST)) * length
    return ~joints.chains.is_root & (length > least) & (after > least) & straight


def find_shoulders(joints: Joints) -> np.ndarray:
    """Which joints are near the trunk, as shoulders below collar bones, and so in no limb's middle, bool array (B,).

    An arm and its twin on the other side are joined to the same bone; the way from there, or to there, is short.
    """
    centers, parents = np.asarray(joints.centers, np.float64), joints.parents
    above = joints.chains.of_parents(centers, 0.0)
    depths = joints.chains.sum(np.where(joints.chains.is_root, 0.0, np.linalg.norm(centers - above, axis=1)))
    levels = joints.chains.sum(np.ones(len(parents), np.intp))
    ends = depths + joints.lengths
    for joint in np.argsort(-levels, kind="stable"):  # children first
        if parents[joint] >= 0:
            ends[parents[joint]] = max(ends[parents[joint]], ends[joint])
    reaches, starts, ways = ends - depths, *np.full((2, len(parents)), -np.inf)
    for joint in np.argsort(levels, kind="stable"):  # parents first
        if (parent := parents[joint]) >= 0:
            siblings = np.flatnonzero((parents == parent) & (np.arange(len(parents)) != joint))
            has_twin = (np.abs(reaches[siblings] - reaches[joint]) < TWINS * reaches[joint]).any()
            starts[joint] = depths[joint] if has_twin else starts[parent]
            ways[joint] = depths[joint] - (depths[parent] if has_twin else starts[parent])
    return (ways >= 0.0) & (ways < SHORT * reaches)


@once_for_joints
def _find_sides(joints: Joints) -> tuple[np.ndarray, ...]:
    """The hinges (H,), the joints that go on straight above and below each, as twist bones do: float (B, H); and which
    joints are shoulders, bool (B,)."""
    hinges = np.flatnonzero(find_hinges(joints))
    return hinges, *_list_sides(joints, hinges), find_shoulders(joints)


def _list_sides(joints: Joints, hinges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
    return above, below


@once_found
def share_joints(rest: Rest) -> JointShares:
    """The same of a mesh at rest as `find_joint_shares` gives."""
    return find_joint_shares(rest.armature_points, rest.weights, rest.joints, rest.triangles)


def find_joint_shares(
    points: np.ndarray, weights: Weights, joints: Joints, triangles: np.ndarray | None = None
) -> JointShares:
    """The joint that each vertex belongs to: of those whose bones it follows, and no others, the nearest.

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest, armature space.
    weights : Weights
        Need not be normalized.
    triangles : int array, shape (T, 3), or None
        Parts that a joint does not bend, such as a helmet, do not belong to it; without triangles all is one part.
    """
    count = len(joints.parents)
    hinges, *sides, shoulders = _find_sides(joints)
    found = np.full(len(points), -1), np.zeros(len(points)), np.zeros(len(points)), np.zeros(len(points))
    by_vertex = normalize_weights(weights, len(points), count).by_vertex()
    bounds = np.searchsorted(by_vertex.vertices, np.arange(0, len(points) + CHUNK, CHUNK))
    for number, start in enumerate(range(0, len(points) if len(hinges) else 0, CHUNK)):
        own = slice(bounds[number], bounds[number + 1])
        part = Weights(by_vertex.vertices[own] - start, by_vertex.joints[own], by_vertex.values[own])
        shares = _share_chunk(points[start : start + CHUNK], part, joints, hinges, sides)
        for whole, of_chunk in zip(found, shares, strict=True):
            whole[start : start + CHUNK] = of_chunk
    _leave_unbent(points, triangles, *found)
    of_vertices, limits, contacts, _ = found
    contacts[np.isin(of_vertices, np.flatnonzero(shoulders))] = 0.0
    return JointShares(of_vertices, limits, contacts, _find_leads(points, of_vertices, contacts, joints))


def _leave_unbent(
    points: np.ndarray,
    triangles: np.ndarray | None,
    of_vertices: np.ndarray,
    limits: np.ndarray,
    contacts: np.ndarray,
    below: np.ndarray,
) -> None:
    """Take the vertices of parts out that one side of their joint holds: in which none follows both, or the other."""
    parts = np.zeros(len(points), np.intp)
    if triangles is not None and len(triangles):
        parts = label_islands(weld(points), triangles)
    keys = parts * (int(of_vertices.max(initial=0)) + 2) + of_vertices + 1
    unbent = np.any([~np.isin(keys, keys[bent]) for bent in (limits > 0.0, below > HELD, below < 1.0 - HELD)], axis=0)
    of_vertices[unbent], contacts[unbent] = -1, 0.0


def _find_leads(points: np.ndarray, of_vertices: np.ndarray, contacts: np.ndarray, joints: Joints) -> np.ndarray:
    """Half of how much farther from its bone a vertex is than its like on the other side of its joint, (V,).

    Contact ends where vertices are far from the plane.
    """
    starts, leads = find_starts(joints), np.zeros(len(points))
    for joint in np.unique(of_vertices[of_vertices >= 0]):
        own, center = np.flatnonzero(of_vertices == joint), joints.centers[joint]
        offsets = points[own] - center
        before = center - starts[joint]
        normal = before / np.linalg.norm(before) + joints.axes[joint]
        normal /= np.linalg.norm(normal)
        heights = offsets @ normal
        ends = np.where((heights < 0.0)[:, None], starts[joint], center + joints.lengths[joint] * joints.axes[joint])
        away = distances_to_bones(points[own], np.broadcast_to(center, ends.shape), ends)
        contacts[own] *= 1.0 - rise(*FAR, np.abs(heights) / np.maximum(away, 1e-12))
        sides = [np.flatnonzero(heights < 0.0), np.flatnonzero(heights >= 0.0)]
        for side, other in (sides, sides[::-1]):
            if len(side) and len(other):
                mirrored = offsets[side] - 2.0 * heights[side, None] * normal
                like, _ = find_nearest(mirrored, offsets[other], ALIKE)
                leads[own[side]] = 0.5 * (away[side] - away[other[like]].mean(axis=1))
    return leads


def _share_chunk(
    points: np.ndarray, weights: Weights, joints: Joints, hinges: np.ndarray, sides: Sequence[np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Joint, limit, contact, and the share of the side below of points with normalized weights, shape (V,) each."""
    above, below = (_add_sides(weights, side, len(points)) for side in sides)
    belongs, away = np.zeros(above.shape), np.full(above.shape, np.inf)
    near = np.nonzero(above + below > OF_JOINT[0])  # few of all vertices and hinges
    belongs[near] = rise(*OF_JOINT, (above + below)[near])
    offsets = points[near[0]] - np.asarray(joints.centers, np.float64)[hinges[near[1]]]
    away[near] = np.where(belongs[near] > 0.0, np.linalg.norm(offsets, axis=1), np.inf)
    rows, nearest = np.arange(len(points)), away.argmin(axis=1)
    first = away[rows, nearest]
    away[rows, nearest] = np.inf
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isfinite(first), first / away.min(axis=1), 1.0)  # to nothing where there is no other
    share = belongs[rows, nearest] * (1.0 - rise(NEARER, 1.0, np.nan_to_num(ratio)))
    above, below = above[rows, nearest], below[rows, nearest]
    limits = share * rise(0.0, BLENDED, np.minimum(above, below))
    of_side = below / np.maximum(above + below, 1e-12)
    return np.where(share > 0.0, hinges[nearest], -1), limits, share, np.where(share > 0.0, of_side, 0.5)


def _add_sides(weights: Weights, side: np.ndarray, count: int) -> np.ndarray:
    """Weight that each of `count` vertices has on one side of each hinge, from `_list_sides`: shape (count, H)."""
    taken = weights.joints < len(side)  # not the joint that stays at rest
    joints, columns = np.nonzero(side)
    starts = np.searchsorted(joints, np.arange(len(side) + 1))
    first, lengths = starts[weights.joints[taken]], np.diff(starts)[weights.joints[taken]]
    entries = np.repeat(first - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
    cells = np.repeat(weights.vertices[taken] * side.shape[1], lengths) + columns[entries]
    sums = np.bincount(cells, np.repeat(weights.values[taken], lengths), minlength=count * side.shape[1])
    return sums.reshape(count, side.shape[1])


def rise(low: float, high: float, values: np.ndarray) -> np.ndarray:
    """Rise smoothly from 0 to 1.

    Parameters
    ----------
    low, high : float
        Up to which values there is 0, and from which on 1.
    values : float array, shape (...)
    """
    return smooth_step((values - low) / (high - low))
