"""Out of the limbs: loose cloth is pushed out of what lies below it, by a grid of distances about each limb at rest.

A limb is what follows one bone. In a pose, a point is taken back to where the limb was at rest, and the grid there says
how deep it is and which way is out. `nodes.layers` computes the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..geometry.neighbors import FindNearest
from ..geometry.solid import vertex_normals
from ..geometry.vectors import normalize, smooth_step
from .tuck import smooth_pushes, soften

STEP = 0.009
"""Size of a cell, in heights of the character."""

MOST_CELLS = 48
"""Of a grid along an axis: beyond, its cells are larger."""

MARGIN = 3
"""Cells around a limb's skin."""

BLUR = 2.0
"""Standard deviation of the blur that directions are read from, in cells. Less, and they flip within a limb."""

WEIGHTS = 0.15, 0.5
"""Of its bone, where a limb begins to count, and counts in full."""

SLOPES = 0.4, 0.8
"""Of the blurred distance: below, nobody knows which side is nearer, and the depth does not count. From 0.2 to 0.6,
cloth jumps twice as far while a limb passes through it."""

OWN_WEIGHT = 0.3
"""From which on skin belongs to a limb, where limbs near cloth are looked for."""

LEAST_SIZE = 0.04
"""Of a limb, in heights: smaller ones, such as toes, are left out."""

SLOTS = 12
"""The most limbs that a point is pushed out of."""

CHUNK = 16384
"""Points whose distances are worked out at once."""

FACING = -0.5
"""Cosine between the normal of skin and its way out of a limb, from which on it is pushed in full; from 0 on, not."""

PASSES = 2
SMOOTHING = 2
"""Steps in each pass."""


@dataclass(frozen=True, eq=False)
class LimbGrids:
    """Grids about the limbs at rest, in armature space.

    Attributes
    ----------
    bones : int array, shape (L,)
        Of each limb.
    lows : float64 array, shape (L, 3)
        Where the first node of each grid is.
    steps : float64 array, shape (L,)
        Between nodes.
    counts : int array, shape (L, 3)
        Nodes along x, y and z.
    firsts : int array, shape (L,)
        Where each grid begins in `values`: x first, then y, then z.
    values : float32 array, shape (G, 4)
        Distance to the skin, negative inside, in the unit of the points; and the way out, as long as it counts.
    """

    bones: np.ndarray
    lows: np.ndarray
    steps: np.ndarray
    counts: np.ndarray
    firsts: np.ndarray
    values: np.ndarray

    def find_ways(self) -> np.ndarray:
        """Whether there is a way out at any corner of the cell that begins at each node, bool array, shape (G,)."""
        found = []
        for count, first in zip(self.counts, self.firsts, strict=True):
            has_way = self.values[first : first + count.prod(), 1:].any(axis=1).reshape(count[::-1])
            for axis in range(3):
                has_way = has_way | np.roll(has_way, -1, axis=axis)  # no cell begins at the last node
            found.append(has_way.ravel())
        return np.concatenate(found)


class Giving(NamedTuple):
    """Skin that gives way to limbs, as these do to it.

    Attributes
    ----------
    shares : float32 array, shape (K, N)
        Of its way out of each limb that each point goes, 0 to 1.
    bones : int array, shape (N,)
        That most of the skin at each point follows.
    normals : float32 array, shape (N, 3)
        Outward at rest, armature space.
    """

    shares: np.ndarray
    bones: np.ndarray
    normals: np.ndarray


class NearLimbs(NamedTuple):
    """What points may be pushed out of.

    Attributes
    ----------
    limbs : int32 array, shape (K, N)
        Indices of limbs, the nearest first; those that a point does not have are -1.
    distances : float32 array, shape (K, N)
        To the skin at rest, as the grids have them, in the unit of the points.
    vertices : int array, shape (N,)
        Those that these are; all of loose cloth.
    giving : Giving or None
        Where limbs give way, too; None of loose cloth, which goes all of its way out.
    """

    limbs: np.ndarray
    distances: np.ndarray
    vertices: np.ndarray
    giving: Giving | None = None


def find_near_bones(
    points: np.ndarray,
    skin: np.ndarray,
    weights: np.ndarray,
    height: float,
    reach: float,
    slots: int = SLOTS,
    allow: Callable[[int], np.ndarray | bool] = lambda _bone: True,
) -> np.ndarray:
    """Find the bones whose limbs lie nearest to points at rest.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Of the cloth.
    skin : float array, shape (S, 3)
        Of the body.
    weights : float array, shape (S, B)
        Normalized, of the body.
    height : float
        Of the character.
    reach : float
        How far they may be.
    slots : int
        How many are looked for.
    allow : callable
        From a bone to whether it counts for each point, bool array, shape (V,).

    Returns
    -------
    int array, shape (slots, V)
        The nearest first, -1 where there are fewer.
    """
    found, distances = [], []
    for bone in range(weights.shape[1]):
        own = np.flatnonzero(weights[:, bone] >= OWN_WEIGHT)
        if len(own) < 4 or np.ptp(skin[own], axis=0).max() < LEAST_SIZE * height:
            continue
        sample = skin[own[:: max(1, len(own) // 256)]]
        distances.append(np.where(allow(bone), _find_least(points, sample), np.inf))
        found.append(bone)
    count = len(found)
    table = np.full((max(count, slots), len(points)), np.inf)
    table[:count] = distances if count else 0.0
    order = np.argsort(table, axis=0, kind="stable")[:slots]
    nearest = np.take_along_axis(table, order, axis=0)
    return np.where(nearest <= reach, np.append(found, [-1] * slots).astype(np.intp)[order], -1)


def _find_least(points: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Distance of each point, shape (V, 3), to the nearest of targets, shape (N, 3)."""
    found, sizes = np.empty(len(points)), np.square(targets).sum(axis=1)
    for start in range(0, len(points), CHUNK):
        part = points[start : start + CHUNK]
        found[start : start + CHUNK] = (np.square(part).sum(axis=1)[:, None] + sizes - 2.0 * part @ targets.T).min(
            axis=1
        )
    return np.sqrt(np.maximum(found, 0.0))


def make_limb_grids(
    skin: np.ndarray,
    triangles: np.ndarray,
    weights: np.ndarray,
    bones: np.ndarray,
    height: float,
    find_nearest: FindNearest,
) -> LimbGrids:
    """Measure the distances about limbs.

    Parameters
    ----------
    skin : float array, shape (S, 3)
        The body at rest, armature space.
    triangles : int array, shape (T, 3)
    weights : float array, shape (S, B)
        Normalized, of the body.
    bones : int array, shape (L,)
        Whose limbs are measured: each has skin of its own.
    height : float
        Of the character.
    """
    skin = np.asarray(skin, np.float64)
    boxes = [lay_out_box(skin, weights, bone, height * STEP) for bone in bones]
    counts = np.array([box[2] for box in boxes]).reshape(-1, 3)
    sizes = counts.prod(axis=1)
    nodes = [list_nodes(*box) for box in boxes]
    every = np.concatenate(nodes)
    chosen, index = _find_distinct(every, 0.01 * height * STEP)
    owners, shares, distances = measure_distances(every[chosen], skin, triangles, find_nearest)
    values = []
    for bone, (_, step, shape), part in zip(
        bones, boxes, np.split(index.reshape(-1), np.cumsum(sizes)[:-1]), strict=True
    ):
        amounts = np.einsum("nc,nc->n", weights[owners[part], bone], shares[part])
        values.append(_describe(distances[part], amounts, step, shape))
    firsts = np.cumsum(sizes) - sizes
    lows, steps = np.array([box[0] for box in boxes]), np.array([box[1] for box in boxes])
    return LimbGrids(np.asarray(bones), lows, steps, counts, firsts, np.concatenate(values).astype(np.float32))


def lay_out_box(skin: np.ndarray, weights: np.ndarray, bone: int, step: float) -> tuple[np.ndarray, float, np.ndarray]:
    """First node, step and number of nodes of the grid about a limb; grids of one step share their nodes.

    Parameters
    ----------
    skin : float array, shape (S, 3)
        At rest, armature space.
    weights : float array, shape (S, B)
    """
    own = skin[weights[:, bone] >= WEIGHTS[0]]
    low, high = own.min(axis=0), own.max(axis=0)
    step = max(step, float((high - low).max()) / (MOST_CELLS - 2 * MARGIN))
    low = (np.floor(low / step) - MARGIN) * step
    return low, step, np.ceil((high - low) / step).astype(np.intp) + MARGIN + 1


def list_nodes(low: np.ndarray, step: float, counts: np.ndarray) -> np.ndarray:
    """The nodes of such a grid, shape (N, 3), X fastest."""
    z, y, x = np.meshgrid(*(np.arange(count) for count in counts[::-1]), indexing="ij")
    return low + step * np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)


def _find_distinct(nodes: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Indices of nodes, shape (N, 3), that differ, and for each node which of these it is: grids overlap."""
    x, y, z = np.rint((nodes - nodes.min(axis=0)) / tolerance).astype(np.int64).T
    keys = (x << 42) | (y << 21) | z
    _, chosen, index = np.unique(keys, return_index=True, return_inverse=True)
    return chosen, index.reshape(-1)


def measure_distances(
    nodes: np.ndarray, skin: np.ndarray, triangles: np.ndarray, find_nearest: FindNearest
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The vertices (N, 3) and weights (N, 3) of the nearest points of the skin, and signed distances (N,)."""
    chosen, shares, distances = find_nearest(nodes, skin, triangles)
    owners = triangles[chosen]
    corners = skin[owners]
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    smooth = np.einsum("nc,nci->ni", shares, vertex_normals(skin, triangles)[owners])
    is_in_face = np.all(shares > 1e-6, axis=1, keepdims=True)
    normals = np.where(is_in_face, flat, smooth)  # inside a face, its own normal is exact
    ways = nodes - np.einsum("nc,nci->ni", shares, corners)
    return owners, shares, np.where(np.einsum("ni,ni->n", ways, normals) < 0.0, -distances, distances)


def _describe(distances: np.ndarray, amounts: np.ndarray, step: float, counts: np.ndarray) -> np.ndarray:
    """The rows of a grid's values, shape (N, 4), from distances and the bone's weights, shape (N,)."""
    shape = tuple(counts[::-1])
    blurred, amount = _blur(distances.reshape(shape)), _blur(amounts.reshape(shape))
    slopes = np.stack(np.gradient(blurred, step)[::-1], axis=-1)
    lengths = np.linalg.norm(slopes, axis=-1)
    low, high = WEIGHTS
    counted = smooth_step((amount - low) / (high - low))
    low, high = SLOPES
    counted *= smooth_step((lengths - low) / (high - low))
    ways = normalize(slopes) * counted[..., None]
    return np.concatenate([distances[:, None], ways.reshape(-1, 3)], axis=1)


def _blur(values: np.ndarray) -> np.ndarray:
    """Values on a grid, blurred along each axis; beyond its ends they go on as they rise there."""
    radius = int(np.ceil(3.0 * BLUR))
    kernel = np.exp(-0.5 * np.square(np.arange(-radius, radius + 1) / BLUR))
    kernel /= kernel.sum()
    for axis in range(3):
        sides = [(radius, radius) if each == axis else (0, 0) for each in range(3)]
        padded = np.pad(values, sides, "reflect", reflect_type="odd")
        windows = np.lib.stride_tricks.sliding_window_view(padded, len(kernel), axis=axis)
        values = windows @ kernel
    return values


def read_grids(grids: LimbGrids, limbs: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The values at points at rest, trilinear; beyond a grid's ends as there, but without a way out.

    Parameters
    ----------
    limbs : int array, shape (N,)
    points : float array, shape (N, 3)
        Armature space.

    Returns
    -------
    float64 array, shape (N, 4)
    """
    counts = grids.counts[limbs]
    places = (points - grids.lows[limbs]) / grids.steps[limbs, None]
    is_inside = ((places > 0.0) & (places < counts - 1.0)).all(axis=1)
    places = np.clip(places, 0.0, counts - 1.0)
    corners = np.minimum(places.astype(np.intp), counts - 2)
    shares = places - corners
    strides = np.stack([np.ones_like(counts[:, 0]), counts[:, 0], counts[:, 0] * counts[:, 1]], axis=1)
    start = grids.firsts[limbs] + (corners * strides).sum(axis=1)
    total = np.zeros((len(points), 4))
    for corner in np.ndindex(2, 2, 2):
        weights = np.where(corner, shares, 1.0 - shares).prod(axis=1)
        total += weights[:, None] * grids.values[start + strides @ np.array(corner)]
    total[~is_inside, 1:] = 0.0
    return total


def find_near_limbs(
    points: np.ndarray,
    bones: np.ndarray,
    grids: LimbGrids,
    vertices: np.ndarray | None = None,
    giving: Giving | None = None,
) -> NearLimbs:
    """What is known of points at rest, shape (V, 3), armature space.

    Parameters
    ----------
    bones : int array, shape (K, N)
        Of `find_near_bones`.
    vertices : int array, shape (N,), optional
        Those that these are of; by default all points.
    giving : Giving, optional
        Of skin that gives way; none of loose cloth.
    """
    vertices = np.arange(len(points)) if vertices is None else vertices
    index = np.full(int(max(bones.max(initial=-1), grids.bones.max(initial=-1))) + 2, -1)
    index[grids.bones] = np.arange(len(grids.bones))
    limbs = index[bones]
    distances = np.zeros(limbs.shape)
    for slot, chosen in enumerate(limbs):
        has = chosen >= 0
        distances[slot, has] = read_grids(grids, chosen[has], points[vertices[has]])[:, 0]
    return NearLimbs(limbs.astype(np.int32), distances.astype(np.float32), vertices, giving)


def push_out(
    points: np.ndarray,
    matrices: np.ndarray,
    grids: LimbGrids,
    near: NearLimbs,
    neighbors: np.ndarray,
    gap: float,
    anchors: np.ndarray | None = None,
) -> np.ndarray:
    """Push loose cloth, or skin, out of the limbs of a pose.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Posed, armature space.
    matrices : float array, shape (B, 4, 4)
        Of all bones, from rest to pose.
    neighbors : int array, shape (V, 4)
        Of the mesh, from `find_neighbors`.
    gap : float
        How far points stay away, where they are not nearer at rest.
    anchors : int array, shape (V,), optional
        The vertices that the vertices of stiff parts are moved like, from `find_anchors`.

    Returns
    -------
    float64 array, shape (V, 3)

    Notes
    -----
    A point that goes a share s of its way is pushed until it is (1 - s) as deep in the limb, as that was posed, as it
    was before the first pass: what is left is the limb's own share. It is pushed as far as it faced the limb then: the
    other side of a limb, past the middle of what it is in, would be pushed on.
    """
    points = np.asarray(points, np.float64)
    limb_matrices, knee = matrices[grids.bones], 0.5 * gap
    inverses = np.linalg.inv(limb_matrices)
    left, facing = np.zeros(near.limbs.shape), np.ones(near.limbs.shape)
    for number in range(PASSES):
        at = points[near.vertices]
        ways, lengths = np.zeros_like(at), np.zeros(len(at))
        for slot, limbs in enumerate(near.limbs):
            has = np.flatnonzero(limbs >= 0)
            chosen, rest = limbs[has], near.distances[slot, has].astype(np.float64)
            inverse, matrix = inverses[chosen], limb_matrices[chosen]
            local = np.einsum("nij,nj->ni", inverse[:, :3, :3], at[has]) + inverse[:, :3, 3]
            values = read_grids(grids, chosen, local)
            depths = np.maximum(soften(gap - values[:, 0], knee) - soften(gap - rest, knee), 0.0)
            out = np.einsum("nij,nj->ni", matrix[:, :3, :3], values[:, 1:])
            if number == 0 and near.giving is not None:
                left[slot, has] = (1.0 - near.giving.shares[slot, has]) * depths
                bones, normals = near.giving.bones[has], near.giving.normals[has]
                turned = normalize(np.einsum("nij,nj->ni", matrices[bones, :3, :3], normals))
                against = np.einsum("ni,ni->n", normalize(out), turned)
                facing[slot, has] = np.where(values[:, 1:].any(axis=1), smooth_step(against / FACING), 0.0)
            depths = np.maximum(depths - left[slot, has], 0.0) * np.linalg.norm(out, axis=1) * facing[slot, has]
            lengths[has] = np.maximum(lengths[has], depths)
            ways[has] += np.square(depths)[:, None] * normalize(out)
        pushes = np.zeros_like(points)
        pushes[near.vertices] = normalize(ways) * lengths[:, None]
        moves = smooth_pushes(pushes, neighbors, SMOOTHING)
        points = points + (moves if anchors is None else moves[anchors])
    return points
