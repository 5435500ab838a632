"""Nearest bone of each cell of a solid, along paths through the solid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.neighbors import find_nearest
from ..geometry.solid_cells import Cells
from ..rig.skeleton import distances_to_bones

# In cells: bones in the middle of a character, between two cells, run through both.
TO_BOTH_SIDES = np.array([1e-3, 0.0, 0.0])


def find_seeds(cells: Cells, heads: np.ndarray, tails: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the nodes that bones run through, and the bone of each: int arrays, shape (S,).

    `heads` and `tails`, float64 arrays, shape (B, 3): in the space of the cells.
    """
    keys = cells.keys
    order = np.argsort(keys, kind="stable")
    nodes, bones = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
    low, high = cells.centers.min(axis=0) - cells.step, cells.centers.max(axis=0) + cells.step
    for bone, (head, tail) in enumerate(zip(heads, tails, strict=True)):
        points = _sample_bone(head, tail, 0.5 * cells.step, low, high)
        both = np.concatenate([points - TO_BOTH_SIDES * cells.step, points + TO_BOTH_SIDES * cells.step])
        found = np.unique(cells.find_nodes(both, order))
        found = found[found < cells.count]
        nodes.append(found)
        bones.append(np.full(len(found), bone))
    return np.concatenate(nodes), np.concatenate(bones)


def _sample_bone(head: np.ndarray, tail: np.ndarray, step: float, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Points of a bone, at most `step` apart, that may lie in a box: shape (N, 3)."""
    offset = tail - head
    max_samples = 2**52  # Float64 can number as many steps along a bone.
    count = int(min(np.ceil(np.linalg.norm(offset) / step), max_samples))
    with np.errstate(divide="ignore", invalid="ignore"):  # along an axis that the bone does not move in
        ends = np.sort((np.stack([low, high]) - head) / offset, axis=0)
    ends[:, offset == 0.0] = [[-np.inf], [np.inf]]
    first, last = np.clip([ends[0].max(), ends[1].min()], 0.0, 1.0) * count
    shares = np.arange(int(np.floor(first)), int(np.ceil(last)) + 1) / max(count, 1)
    points = head + shares[:, None] * offset
    return points[((points >= low) & (points <= high)).all(axis=1)]


def find_nearby_seeds(cells: Cells, heads: np.ndarray, tails: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the nearest node of each bone near the solid's box, as `find_seeds`: for a cape or a mask.

    `heads` and `tails`, float64 arrays, shape (B, 3): in the space of the cells.
    """
    centers = cells.centers
    low, high = centers.min(axis=0), centers.max(axis=0)
    max_nearby = 0.5  # If no bone is inside, bones within this distance count, in sizes of the solid.
    room = max_nearby * (high - low).max()
    bones = np.repeat(np.arange(len(heads)), 9)
    shares = np.tile(np.linspace(0.0, 1.0, 9), len(heads))[:, None]
    positions = heads[bones] * (1.0 - shares) + tails[bones] * shares
    near = ((positions >= low - room) & (positions <= high + room)).all(axis=1)
    if not near.any():
        return np.empty(0, np.intp), np.empty(0, np.intp)
    found = np.unique(np.stack([find_nearest(positions[near], centers, 1)[0][:, 0], bones[near]], axis=1), axis=0)
    return found[:, 0], found[:, 1]


@dataclass(frozen=True)
class Claims:
    """The nearest bone of each node, along paths through the solid.

    Attributes
    ----------
    owner : int array, shape (N,)
        -1 if no bone reaches.
    distance : float64 array, shape (N,)
        From the center of the node's cell; infinite if no bone reaches.
    has_own_bones : bool array, shape (N,)
        Nodes of parts with bones of their own; others are clothes, other parts without a bone, and air below them.
    """

    owner: np.ndarray
    distance: np.ndarray
    has_own_bones: np.ndarray


def claim_nodes(
    cells: Cells,
    seeds: np.ndarray,
    bones: np.ndarray,
    heads: np.ndarray,
    tails: np.ndarray,
    handles: np.ndarray | None = None,
) -> Claims:
    """Spread bones from node to node along links, as long as no other bone is nearer.

    First within the parts that bones run through, then to parts without bones. A bone that only sticks out into a part,
    such as a toe into a sock, is not its own.

    Parameters
    ----------
    seeds, bones : int arrays, shape (S,)
        From `find_seeds`.
    heads, tails : float64 arrays, shape (B, 3)
        In the space of the cells.
    handles : bool array, shape (B,), optional
        Bones that make no part their own, such as a point on a coat, unless all are.
    """
    owner, distance = np.full(cells.count + 1, -1), np.full(cells.count + 1, np.inf)
    within = np.where(cells.open_links, cells.neighbors, cells.count)
    guests = np.zeros(len(seeds), bool) if handles is None or handles[bones].all() else handles[bones]
    parts = cells.parts[seeds]
    own = np.isin(parts, parts[~guests][_is_main(parts[~guests], bones[~guests])])
    away = distances_to_bones(cells.centers[seeds], heads[bones], tails[bones])
    _offer(owner, distance, seeds[own], bones[own], away[own])
    _spread(cells, within, owner, distance, heads, tails)
    has_own_bones = owner[:-1] >= 0
    late = guests & ~own
    _offer(owner, distance, seeds[late], bones[late], away[late])
    left = np.where(owner[cells.neighbors] < 0, cells.neighbors, cells.count)
    _spread(cells, left, owner, distance, heads, tails)
    return Claims(owner[:-1], distance[:-1], has_own_bones)


def _is_main(parts: np.ndarray, bones: np.ndarray) -> np.ndarray:
    """Whether each seed, shape (S,), is in a part with a main share of some bone, or more of it than any other part."""
    count = int(parts.max(initial=0)) + 1
    pairs, sizes = np.unique(bones * count + parts, return_counts=True)
    totals, largest = np.zeros((2, int(bones.max(initial=0)) + 1))
    np.add.at(totals, pairs // count, sizes)
    np.maximum.at(largest, pairs // count, sizes)
    min_main_share = 0.25  # A part that contains this share of a bone has the bone as its own.
    counts = (sizes >= min_main_share * totals[pairs // count]) | (sizes == largest[pairs // count])
    return np.isin(parts, pairs[counts] % count)


def _offer(
    owner: np.ndarray, distance: np.ndarray, nodes: np.ndarray, bones: np.ndarray, away: np.ndarray
) -> np.ndarray:
    """Give nodes, shape (N,), bones that are nearer than theirs, the first of equals; return the changed nodes."""
    better = away < distance[nodes] * (1.0 - 1e-9)
    nodes, bones, away = nodes[better], bones[better], away[better]
    order = np.lexsort((-bones, -away))  # of several that are written to one index, the last stays
    owner[nodes[order]], distance[nodes[order]] = bones[order], away[order]
    return np.unique(nodes)


def _spread(
    cells: Cells, links: np.ndarray, owner: np.ndarray, distance: np.ndarray, heads: np.ndarray, tails: np.ndarray
) -> None:
    """Spread bones along links, shape (N, K), until nothing changes."""
    centers = cells.centers
    frontier = np.flatnonzero(owner[:-1] >= 0)
    while frontier.size:
        givers, takers = np.repeat(frontier, links.shape[1]), links[frontier].ravel()
        kept = (takers < cells.count) & (owner[givers] != owner[takers])
        takers, offered = takers[kept], owner[givers[kept]]
        away = distances_to_bones(centers[takers], heads[offered], tails[offered])
        frontier = _offer(owner, distance, takers, offered, away)


def share_ties(cells: Cells, claims: Claims, usable: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Shares of the bones in each node, float32, shape (N, B): of the nearest bone, and of equally near bones.

    Parameters
    ----------
    usable : int array, shape (U,)
        Bones that may share.
    heads, tails : float64 arrays, shape (B, 3)
    """
    owner, distance = claims.owner, claims.distance
    shares = np.zeros((cells.count + 1, len(heads)), np.float32)
    shares[np.arange(cells.count), owner] = 1.0
    shares[np.flatnonzero(owner < 0)] = 0.0
    tie_distance = 0.02  # Bones that touch are equally near within this distance, in cells.
    centers, near = cells.centers, tie_distance * cells.step
    order = np.argsort(owner, kind="stable")
    starts = np.searchsorted(owner[order], np.arange(len(heads) + 1))
    touching = _measure_gaps(heads[usable], tails[usable]) <= near
    for first, second in usable[np.argwhere(touching)]:
        nodes = order[starts[first] : starts[first + 1]]
        if first != second and nodes.size:
            away = distances_to_bones(centers[nodes], heads[second], tails[second])
            shares[nodes[away <= distance[nodes] + near], second] = 1.0
    return shares[:-1] / np.maximum(shares[:-1].sum(axis=1, keepdims=True), 1.0)


def _measure_gaps(heads: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Approximate distances between segments, shape (B, B), from positions along the first of each two."""
    positions = heads[:, None] + np.linspace(0.0, 1.0, 9)[:, None] * (tails - heads)[:, None]
    away = distances_to_bones(positions[:, None], heads[None, :, None], tails[None, :, None]).min(axis=2)
    return np.minimum(away, away.T)
