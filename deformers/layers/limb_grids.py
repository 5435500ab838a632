"""Push loose cloth out of limbs, by a grid of distances around each limb at rest.

A limb is the skin that follows one bone. In a pose, a point is moved to the limb's rest space. The grid there has its
depth and the way out. `nodes.layers` computes the same.
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

# Size of a cell, in heights of the character
CELL_SIZE = 0.009

# A limb starts to count at the first weight of its bone and counts in full at the second.
WEIGHT_RAMP = 0.15, 0.5

# Number of limbs that a point may be pushed out of
LIMB_SLOTS = 12

# At this cosine between the normal of skin and its way out of a limb, it is pushed in full, and from 0 on not at all.
FULL_FACING = -0.5

PASSES = 2
SMOOTHING_STEPS = 2


@dataclass(frozen=True, eq=False)
class LimbGrids:
    """Grids around limbs at rest, in armature space.

    Attributes
    ----------
    bones : int array, shape (L,)
        Bone of each limb.
    lows : float64 array, shape (L, 3)
        Position of the first node.
    steps : float64 array, shape (L,)
        Distance between nodes.
    counts : int array, shape (L, 3)
        Number of nodes along x, y and z.
    firsts : int array, shape (L,)
        Index of each grid's first node in `values`. x changes fastest, then y, then z.
    values : float32 array, shape (G, 4)
        Distance to the skin, negative inside, in the unit of the points, and the way out, multiplied by the share that
        counts.
    """

    bones: np.ndarray
    lows: np.ndarray
    steps: np.ndarray
    counts: np.ndarray
    firsts: np.ndarray
    values: np.ndarray

    def find_ways(self) -> np.ndarray:
        """Whether any corner of the cell that starts at each node has a way out, bool, shape (G,)."""
        found = []
        for count, first in zip(self.counts, self.firsts, strict=True):
            has_way = self.values[first : first + count.prod(), 1:].any(axis=1).reshape(count[::-1])
            for axis in range(3):
                has_way = has_way | np.roll(has_way, -1, axis=axis)  # no cell starts at the last node
            found.append(has_way.ravel())
        return np.concatenate(found)


class Giving(NamedTuple):
    """Skin that limbs push away, and that pushes limbs away.

    Attributes
    ----------
    shares : float32 array, shape (K, N)
        Share of the way out of each limb that each point moves, 0 to 1.
    bones : int array, shape (N,)
        Bone with the largest weight at each point.
    normals : float32 array, shape (N, 3)
        Outward at rest, in armature space.
    """

    shares: np.ndarray
    bones: np.ndarray
    normals: np.ndarray


class NearLimbs(NamedTuple):
    """Limbs that points may be pushed out of.

    Attributes
    ----------
    limbs : int32 array, shape (K, N)
        Indices of limbs, the nearest first; -1 for none.
    distances : float32 array, shape (K, N)
        Distances in the grids at rest, in the unit of the points.
    vertices : int array, shape (N,)
        Vertices of the points, all vertices of loose cloth.
    giving : Giving or None
        For skin. Loose cloth moves all of its way out.
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
    slots: int = LIMB_SLOTS,
    allow: Callable[[int], np.ndarray | bool] = lambda _bone: True,
) -> np.ndarray:
    """Find the bones whose limbs lie nearest to points at rest: int, shape (slots, V), the nearest first, -1 for none.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Points of the cloth.
    skin, weights : float arrays, shapes (S, 3) and (S, B)
        Points and normalized weights of the body.
    height, reach : float
        Height of the character, and largest distance.
    slots : int
        Largest number of bones.
    allow : callable
        Returns whether a bone counts for each point, bool, shape (V,).
    """
    found, distances = [], []
    for bone in range(weights.shape[1]):
        own = np.flatnonzero(weights[:, bone] >= 0.3)
        if len(own) < 4 or np.ptp(skin[own], axis=0).max() < 0.04 * height:
            continue  # too small, such as a toe
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
    for start in range(0, len(points), 16384):
        part = points[start : start + 16384]
        squares = np.square(part).sum(axis=1)[:, None] + sizes - 2.0 * part @ targets.T
        found[start : start + 16384] = squares.min(axis=1)
    return np.sqrt(np.maximum(found, 0.0))


def make_limb_grids(
    skin: np.ndarray,
    triangles: np.ndarray,
    weights: np.ndarray,
    bones: np.ndarray,
    height: float,
    find_nearest: FindNearest,
) -> LimbGrids:
    """Measure the distances around limbs.

    Parameters
    ----------
    skin, triangles : float and int arrays, shapes (S, 3) and (T, 3)
        The body at rest, in armature space.
    weights : float array, shape (S, B)
        Normalized weights of the body.
    bones : int array, shape (L,)
        Bones of the limbs. Each must have skin.
    height : float
        Height of the character.
    """
    skin = np.asarray(skin, np.float64)
    boxes = [lay_out_box(skin, weights, bone, height * CELL_SIZE) for bone in bones]
    counts = np.array([box[2] for box in boxes]).reshape(-1, 3)
    sizes = counts.prod(axis=1)
    nodes = [list_nodes(*box) for box in boxes]
    every = np.concatenate(nodes)
    chosen, index = _find_distinct(every, 0.01 * height * CELL_SIZE)
    owners, shares, distances = measure_distances(every[chosen], skin, triangles, find_nearest)
    values = []
    parts = np.split(index.reshape(-1), np.cumsum(sizes)[:-1])
    for bone, (_, step, shape), part in zip(bones, boxes, parts, strict=True):
        amounts = np.einsum("nc,nc->n", weights[owners[part], bone], shares[part])
        values.append(_describe(distances[part], amounts, step, shape))
    firsts = np.cumsum(sizes) - sizes
    lows, steps = np.array([box[0] for box in boxes]), np.array([box[1] for box in boxes])
    return LimbGrids(np.asarray(bones), lows, steps, counts, firsts, np.concatenate(values).astype(np.float32))


def lay_out_box(skin: np.ndarray, weights: np.ndarray, bone: int, step: float) -> tuple[np.ndarray, float, np.ndarray]:
    """First node, step and numbers of nodes of the grid around the limb of a bone.

    The skin, (S, 3), with weights, (S, B), is at rest. Grids with the same step share their nodes.
    """
    margin, most = 3, 48  # cells around the skin; cells along an axis, or cells become larger
    own = skin[weights[:, bone] >= WEIGHT_RAMP[0]]
    low, high = own.min(axis=0), own.max(axis=0)
    step = max(step, float((high - low).max()) / (most - 2 * margin))
    low = (np.floor(low / step) - margin) * step
    return low, step, np.ceil((high - low) / step).astype(np.intp) + margin + 1


def list_nodes(low: np.ndarray, step: float, counts: np.ndarray) -> np.ndarray:
    """Nodes of a grid, shape (N, 3). x changes fastest."""
    z, y, x = np.meshgrid(*(np.arange(count) for count in counts[::-1]), indexing="ij")
    return low + step * np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)


def _find_distinct(nodes: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Merge equal nodes of overlapping grids, (N, 3): indices of distinct nodes, and the index among them of each."""
    x, y, z = np.rint((nodes - nodes.min(axis=0)) / tolerance).astype(np.int64).T
    keys = (x << 42) | (y << 21) | z
    _, chosen, index = np.unique(keys, return_index=True, return_inverse=True)
    return chosen, index.reshape(-1)


def measure_distances(
    nodes: np.ndarray, skin: np.ndarray, triangles: np.ndarray, find_nearest: FindNearest
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices (N, 3) and weights (N, 3) of the nearest points of the skin, and signed distances (N,)."""
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
    """Rows of a grid's values, shape (N, 4), from distances and the bone's weights, shape (N,).

    Where the blurred distance is not steep, it is unclear which side is nearer, and the depth does not count. With a
    lower ramp, cloth jumps twice as far while a limb passes through it.
    """
    shape = tuple(counts[::-1])
    blurred, amount = _blur(distances.reshape(shape)), _blur(amounts.reshape(shape))
    slopes = np.stack(np.gradient(blurred, step)[::-1], axis=-1)
    lengths = np.linalg.norm(slopes, axis=-1)
    low, high = WEIGHT_RAMP
    counted = smooth_step((amount - low) / (high - low))
    low, high = 0.4, 0.8
    counted *= smooth_step((lengths - low) / (high - low))
    ways = normalize(slopes) * counted[..., None]
    return np.concatenate([distances[:, None], ways.reshape(-1, 3)], axis=1)


def _blur(values: np.ndarray) -> np.ndarray:
    """Blur values on a grid along each axis, extrapolated beyond its ends."""
    deviation = 2.0  # cells: with less, directions flip within a limb
    radius = int(np.ceil(3.0 * deviation))
    kernel = np.exp(-0.5 * np.square(np.arange(-radius, radius + 1) / deviation))
    kernel /= kernel.sum()
    for axis in range(3):
        sides = [(radius, radius) if each == axis else (0, 0) for each in range(3)]
        padded = np.pad(values, sides, "reflect", reflect_type="odd")
        windows = np.lib.stride_tricks.sliding_window_view(padded, len(kernel), axis=axis)
        values = windows @ kernel
    return values


def read_grids(grids: LimbGrids, limbs: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Interpolate values of limbs, (N,), at points at rest, (N, 3): float64, shape (N, 4).

    Beyond a grid's ends, the distance is that at the end, and no way out is given.
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
    """Look up the limbs of bones, (K, N), from `find_near_bones`, at points at rest, (V, 3), in armature space.

    `vertices`, shape (N,), are those that the bones belong to, by default all. `giving` is for skin.
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
        Posed, in armature space.
    matrices : float array, shape (B, 4, 4)
        From rest to pose, of all bones.
    neighbors : int array, shape (V, 4)
        From `find_neighbors`.
    gap : float
        Distance to keep, unless points are nearer at rest.
    anchors : int array, shape (V,), optional
        From `find_anchors`, if there are stiff parts.

    Returns
    -------
    float64 array, shape (V, 3)

    Notes
    -----
    A point with share s is pushed until its depth in the posed limb is (1 - s) times that before the first pass. The
    rest is the limb's own share. The push fades by how far the point faces the limb: the other side of a limb, past the
    middle of the one that it is in, would otherwise be pushed on.
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
                facing[slot, has] = np.where(values[:, 1:].any(axis=1), smooth_step(against / FULL_FACING), 0.0)
            depths = np.maximum(depths - left[slot, has], 0.0) * np.linalg.norm(out, axis=1) * facing[slot, has]
            lengths[has] = np.maximum(lengths[has], depths)
            ways[has] += np.square(depths)[:, None] * normalize(out)
        pushes = np.zeros_like(points)
        pushes[near.vertices] = normalize(ways) * lengths[:, None]
        moves = smooth_pushes(pushes, neighbors, SMOOTHING_STEPS)
        points = points + (moves if anchors is None else moves[anchors])
    return points
