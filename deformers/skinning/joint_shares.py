"""Which joint's bulge limit and contact each vertex is under, and how much: from weights and rest alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..method import Choice
from ..rig.rest import Joints, Weights, normalize_weights

BULGE_LIMIT = Choice(
    name="bulge_limit",
    label="Bulge Limit",
    tooltip="How much of the skin that swells at a bent joint is drawn back to its distance from the bones at rest",
    highest=1.0,
    unit="FACTOR",
)
CONTACT = Choice(
    name="contact",
    label="Contact",
    tooltip="How much the two sides of a bent elbow, knee or finger keep apart instead of running into each other",
    highest=1.0,
    unit="FACTOR",
)

STRAIGHTEST = 45.0
"""Degrees between two bones at rest: joints bent farther, such as hips of most rigs, are no hinges."""

OF_JOINT = 0.8, 0.95
"""Weight of both bones of a joint, of 1, from which on a vertex belongs to it, and belongs to it fully."""

BLENDED = 0.05
"""Lesser weight of a joint's two bones from which on a vertex can bulge fully."""

NEARER = 0.7
"""Distance from the nearest joint, as a share of that from the next, up to which a vertex belongs to it fully."""

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
    """

    joints: np.ndarray
    limits: np.ndarray
    contacts: np.ndarray


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


def find_joint_shares(points: np.ndarray, weights: Weights, joints: Joints) -> JointShares:
    """The joint that each vertex belongs to: of those whose two bones it follows, and no others, the nearest.

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest, armature space.
    weights : Weights
        Need not be normalized.
    joints : Joints
    """
    count = len(joints.parents)
    hinges = np.flatnonzero(find_hinges(joints))
    found = np.full(len(points), -1), np.zeros(len(points)), np.zeros(len(points))
    by_vertex = normalize_weights(weights, len(points), count).by_vertex()
    bounds = np.searchsorted(by_vertex.vertices, np.arange(0, len(points) + CHUNK, CHUNK))
    for number, start in enumerate(range(0, len(points) if len(hinges) else 0, CHUNK)):
        own = slice(bounds[number], bounds[number + 1])
        chunk = points[start : start + CHUNK]
        dense = np.zeros((len(chunk), count + 1))
        dense[by_vertex.vertices[own] - start, by_vertex.joints[own]] = by_vertex.values[own]
        for whole, part in zip(found, _share_chunk(chunk, dense, joints, hinges), strict=True):
            whole[start : start + CHUNK] = part
    return JointShares(*found)


def _share_chunk(
    points: np.ndarray, dense: np.ndarray, joints: Joints, hinges: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Joint, limit and contact of points with dense weights, shape (V, B + 1)."""
    above, below = dense[:, joints.parents[hinges]], dense[:, hinges]
    belongs = smoothstep(*OF_JOINT, above + below)
    centers = np.asarray(joints.centers, np.float64)[hinges]
    away = np.linalg.norm(points[:, None] - centers, axis=2)
    away[belongs == 0.0] = np.inf
    rows, nearest = np.arange(len(points)), away.argmin(axis=1)
    first = away[rows, nearest]
    away[rows, nearest] = np.inf
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isfinite(first), first / away.min(axis=1), 1.0)  # to nothing where there is no other
    share = belongs[rows, nearest] * (1.0 - smoothstep(NEARER, 1.0, np.nan_to_num(ratio)))
    lesser = np.minimum(above, below)[rows, nearest]
    return np.where(share > 0.0, hinges[nearest], -1), share * smoothstep(0.0, BLENDED, lesser), share


def smoothstep(low: float, high: float, values: np.ndarray) -> np.ndarray:
    """Rise smoothly from 0 to 1.

    Parameters
    ----------
    low, high : float
        Up to which values there is 0, and from which on 1.
    values : float array, shape (...)
    """
    share = np.clip((values - low) / (high - low), 0.0, 1.0)
    return share * share * (3.0 - 2.0 * share)
