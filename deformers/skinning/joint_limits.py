"""Bulge limit and contact at joints: what a posed skin is not to do, whatever method has posed it.

Both know a joint by its two bones, as segments in the pose. The limit keeps vertices as near to these as they were at
rest (after Kim & Han 2014). Contact keeps them on their side of the plane halfway between both bones. Where a vertex is
about a joint is known by its offset from the joint, and how far that goes along each bone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ..geometry.vectors import smooth_step
from ..rig.rest import Joints, Pose
from .joint_shares import JointShares
from .posed_joints import PosedJoints, place_at_rest, pose_joints

BONE_FALLOFF = 0.24
"""Of two bones the one counts e times less that is farther away by this share of the distance at rest."""

SOFTNESS = 0.02
"""Share of the distance at rest over which the limit sets in."""

CONTACT_REACH = 0.05
"""Share of the distance at rest, from the plane, within which contact is felt."""

INNER = 0.3
"""Share of the distance at rest, to the inner side of the joint, over which contact sets in."""


MARGIN = 0.05
"""Share of the distance at rest by which vertices are looked at that cannot come into contact by themselves."""

TINY = 1e-30


@dataclass(frozen=True)
class AtRest:
    """How vertices are about their joint at rest; each a float32 array, shape (A,).

    Attributes
    ----------
    nearest, distances : arrays
        From the nearer bone; from the foot, as `find_feet` has it.
    nearness : array
        Share of the bone below.
    heights, sideways : arrays
        Above the plane of the joint, and along it from the joint.
    """

    nearest: np.ndarray
    distances: np.ndarray
    nearness: np.ndarray
    heights: np.ndarray
    sideways: np.ndarray


@dataclass(frozen=True)
class LimitRows:
    """Vertices that belong to a joint, in the order of a binding's blocks.

    Attributes
    ----------
    ranks : int array, shape (A,)
        Ascending.
    joints : int array, shape (A,)
    limits, contacts : float32 arrays, shape (A,)
        As chosen for the mesh, times what the vertex takes.
    leads : float32 array, shape (A,)
        As in `JointShares`.
    blended : bool array, shape (A,)
        Whether a vertex follows both bones.
    known : dict
        What is known of the shape, by the space it was last seen in.
    """

    ranks: np.ndarray
    joints: np.ndarray
    limits: np.ndarray
    contacts: np.ndarray
    leads: np.ndarray
    blended: np.ndarray
    skeleton: Joints
    known: dict = field(default_factory=dict, repr=False, compare=False)

    def for_other_points(self) -> LimitRows:
        """The same for another shape of the vertices."""
        return replace(self, known={})

    def correct(
        self, first: int, last: int, rest: Callable[[np.ndarray], np.ndarray], posed: np.ndarray, pose: Pose
    ) -> None:
        """Put a run of vertices under limit and contact.

        Parameters
        ----------
        first, last : int
            The run.
        rest : callable
            Gives the rest positions of vertices by rank, shape (3, N), armature space.
        posed : float32 array, shape (3, last - first)
            Armature space; changed.
        """
        joints, at_rest = pose_joints(self.skeleton, pose, None), self._find_at_rest(rest, pose)
        start, end = np.searchsorted(self.ranks, (first, last))
        bent = joints.limits | (joints.contacts > 0.0)
        own = np.flatnonzero(bent[self.joints[start:end]]) + start
        of_vertices = self.joints[own]
        limited = own[(self.limits[own] > 0.0) & joints.limits[of_vertices]]
        if len(limited):
            self._limit(limited, first, joints, at_rest, posed)
        touching = (self.contacts[own] > 0.0) & (joints.contacts[of_vertices] > 0.0)
        own, of_vertices = own[touching], of_vertices[touching]
        cosines, sines = joints.tilts[:, of_vertices]
        lowest = np.abs(at_rest.heights[own]) * cosines - at_rest.sideways[own] * sines
        near = lowest < (CONTACT_REACH + MARGIN) * at_rest.distances[own] - np.minimum(self.leads[own], 0.0)
        touched = own[near | self.blended[own]]
        if len(touched):
            self._keep_apart(touched, first, joints, at_rest, posed)

    def _limit(self, chosen: np.ndarray, first: int, joints: PosedJoints, at_rest: AtRest, posed: np.ndarray) -> None:
        columns, of_vertices = self.ranks[chosen] - first, self.joints[chosen]
        wider = self._widen(chosen, joints, at_rest)
        offsets = posed[:, columns] - joints.centers[:, of_vertices]
        away, distances, _ = find_feet(offsets, joints, of_vertices, at_rest.nearest[chosen] * wider)
        limit = at_rest.distances[chosen] * wider
        excess = find_excess(distances, limit) / np.maximum(distances, TINY)
        posed[:, columns] -= self.limits[chosen] * excess * away

    def _keep_apart(
        self, chosen: np.ndarray, first: int, joints: PosedJoints, at_rest: AtRest, posed: np.ndarray
    ) -> None:
        columns, of_vertices = self.ranks[chosen] - first, self.joints[chosen]
        wider = self._widen(chosen, joints, at_rest)
        before, after = joints.before[:, of_vertices], joints.after[:, of_vertices]
        offsets = posed[:, columns] - joints.centers[:, of_vertices]
        along, beyond = _dot(offsets, before), _dot(offsets, after)
        total, apart = np.maximum(joints.spans[:, of_vertices], TINY)
        heights, reach = at_rest.heights[chosen] * wider, at_rest.distances[chosen] * wider
        lead = self.leads[chosen] * wider * joints.folds[of_vertices]
        push = find_push((along + beyond) / total, heights, reach, lead)
        inner = smooth_step((beyond - along) / np.maximum(INNER * apart * reach, TINY))
        push *= self.contacts[chosen] * joints.contacts[of_vertices] * inner / total
        posed[:, columns] += push * (before + after)

    def _widen(self, chosen: np.ndarray, joints: PosedJoints, at_rest: AtRest) -> np.ndarray:
        above, below = joints.widths[:, self.joints[chosen]]
        return above + at_rest.nearness[chosen] * (below - above)

    def _find_at_rest(self, rest: Callable[[np.ndarray], np.ndarray], pose: Pose) -> AtRest:
        space = b"" if pose.object_to_armature is None else pose.object_to_armature.tobytes()
        if self.known.get("space") != space:
            self.known.update(space=space, at_rest=find_at_rest(rest(self.ranks), self.joints, self.skeleton))
        return self.known["at_rest"]


def find_at_rest(points: np.ndarray, of_vertices: np.ndarray, skeleton: Joints) -> AtRest:
    """How vertices are about their joint at rest.

    Parameters
    ----------
    points : float array, shape (3, A)
        Armature space.
    of_vertices : int array, shape (A,)
        Their joints.
    """
    joints = place_at_rest(skeleton)
    offsets = points.astype(np.float32) - joints.centers[:, of_vertices]
    nearest = _find_nearest(offsets, joints, of_vertices)
    _, distances, nearness = find_feet(offsets, joints, of_vertices, nearest)
    normals = (joints.before + joints.after) / np.maximum(joints.spans[0], TINY)
    heights = _dot(offsets, normals[:, of_vertices])
    sideways = np.sqrt(np.maximum(_dot(offsets, offsets) - heights * heights, 0.0))
    return AtRest(nearest, distances, nearness, heights, sideways)


def sort_limits(
    shares: JointShares, skeleton: Joints, bulge_limit: float, contact: float, ranks: np.ndarray
) -> LimitRows | None:
    """What limit and contact do with the vertices of a binding; None where it is nothing.

    Parameters
    ----------
    bulge_limit, contact : float
        As chosen, 0 to 1.
    ranks : int array, shape (V,)
        Of the vertices in the order of the blocks.
    """
    limits, contacts = bulge_limit * shares.limits, contact * shares.contacts
    chosen = np.flatnonzero((shares.joints >= 0) & (np.maximum(limits, contacts) > 0.0))
    if not len(chosen):
        return None
    chosen = chosen[np.argsort(ranks[chosen])]
    return LimitRows(
        ranks=ranks[chosen],
        joints=shares.joints[chosen],
        limits=limits[chosen].astype(np.float32),
        contacts=contacts[chosen].astype(np.float32),
        leads=shares.leads[chosen].astype(np.float32),
        blended=shares.limits[chosen] > 0.0,
        skeleton=skeleton,
    )


def _dot(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.einsum("ia,ia->a", first, second)


def _go_along(
    offsets: np.ndarray, joints: PosedJoints, of_vertices: np.ndarray
) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Both bones as seen from the joint: directions (3, A), how far offsets go along them, and distances, (A,)."""
    ways = [-joints.before[:, of_vertices], joints.after[:, of_vertices]]
    squares = _dot(offsets, offsets)
    lengths, away = [], []
    for way, longest in zip(ways, joints.lengths[:, of_vertices], strict=True):
        along = _dot(offsets, way)
        length = np.clip(along, 0.0, longest)
        lengths.append(length)
        away.append(np.sqrt(np.maximum(squares + length * (length - 2.0 * along), 0.0)))
    return ways, lengths, away


def _find_nearest(offsets: np.ndarray, joints: PosedJoints, of_vertices: np.ndarray) -> np.ndarray:
    """Distances of points from the nearer bone of their joint, (A,): parameters as in `find_feet`."""
    return np.minimum(*_go_along(offsets, joints, of_vertices)[2])


def find_feet(
    offsets: np.ndarray, joints: PosedJoints, of_vertices: np.ndarray, nearest: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where points are from their feet: the nearest points of both bones, mixed by how near they are.

    Parameters
    ----------
    offsets : float32 array, shape (3, A)
        From their joints.
    of_vertices : int array, shape (A,)
    nearest : float32 array, shape (A,)
        Distances at rest from the nearer bone.

    Returns
    -------
    away : float32 array, shape (3, A)
        From the foot to the point.
    distances, nearness : float32 arrays, shape (A,)
        How long that is; share of the bone below.
    """
    ways, lengths, apart = _go_along(offsets, joints, of_vertices)
    steps = np.clip((apart[1] - apart[0]) / np.maximum(BONE_FALLOFF * nearest, TINY), -60.0, 60.0)
    nearness = 1.0 / (1.0 + np.exp(steps))
    away = offsets - (lengths[0] - nearness * lengths[0]) * ways[0] - nearness * lengths[1] * ways[1]
    return away, np.sqrt(_dot(away, away)), nearness


def find_excess(distances: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """How far points are too far from their feet, (A,).

    Notes
    -----
    Kim & Han 2014, for the bones of one joint, mixed, instead of the nearest bone of all, which jumps between knuckles.
    The excess x counts as x^2 / 4 s up to 2 s, then as x - s, with s the limit times `SOFTNESS`.
    """
    soft = SOFTNESS * limits + TINY
    excess = np.maximum(distances - limits, 0.0)
    return np.where(excess < 2.0 * soft, excess * excess / (4.0 * soft), excess - soft)


def find_push(heights: np.ndarray, rest_heights: np.ndarray, reach: np.ndarray, lead: np.ndarray) -> np.ndarray:
    """How far points are to go along the normal of the joint's plane to stay on their side, (A,).

    Parameters
    ----------
    heights, rest_heights : float arrays, shape (A,)
        Above the plane, in the pose and at rest.
    reach : float array, shape (A,)
        Distances from the bones at rest.
    lead : float array, shape (A,)
        How far beyond the plane points may go.

    Notes
    -----
    With d the height on the point's own side, plus its lead, and h the lesser of that at rest and `CONTACT_REACH`, d
    counts as h exp(d / h - 1) where it is less than h. So it stays above 0, and what is where it was at rest stays
    there.
    """
    side = np.where(rest_heights < 0.0, np.float32(-1.0), np.float32(1.0))
    depth = side * heights + lead
    felt = np.maximum(np.minimum(np.abs(rest_heights), CONTACT_REACH * reach), TINY)
    kept = felt * np.exp(np.clip(depth / felt - 1.0, -60.0, 0.0))
    return side * np.maximum(kept - depth, 0.0) * (depth < felt)
