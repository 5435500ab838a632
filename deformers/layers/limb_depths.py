"""Measure how deep limbs press into the skin under a pattern, such as folds of a belly when the thigh lifts.

A limb is the skin that follows one bone. Sampled vertices are blended linearly by their bones, and moved to the limb's
rest space. A grid of distances there has their depth in the limb. So the depth depends on the bones alone, and not on
pushes that keep the skin out of the limb. `nodes.compression` computes the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..geometry.neighbors import FindNearest
from ..geometry.vectors import smooth_step
from .limb_grids import CELL_SIZE, WEIGHT_RAMP, LimbGrids, lay_out_box, list_nodes, measure_distances, read_grids

# Number of joints that carry each sampled vertex
INFLUENCES = 4


def make_depth_grid(
    skin: np.ndarray, triangles: np.ndarray, weights: np.ndarray, joint: int, height: float, find_nearest: FindNearest
) -> LimbGrids | None:
    """Make the grid of a joint's limb, or None if hardly any skin follows the joint.

    Its first value is the signed distance to the skin, its second the share that counts.

    Parameters
    ----------
    skin, triangles : float and int arrays, shapes (S, 3) and (T, 3)
        At rest, in armature space.
    weights : float array, shape (S, B)
        Normalized.
    height : float
        Height of the character.
    """
    least, full = WEIGHT_RAMP
    if np.count_nonzero(weights[:, joint] >= least) < 4:
        return None
    low, step, counts = lay_out_box(skin, weights, joint, height * CELL_SIZE)
    nodes = list_nodes(low, step, counts)
    owners, shares, distances = measure_distances(nodes, skin, triangles, find_nearest)
    amounts = np.einsum("nc,nc->n", weights[owners, joint], shares)
    values = np.zeros((len(nodes), 4), np.float32)
    values[:, 0] = distances
    values[:, 1] = smooth_step((amounts - least) / (full - least))
    return LimbGrids(np.array([joint]), low[None], np.array([step]), counts[None], np.zeros(1, np.intp), values)


def join_grids(grids: Sequence[LimbGrids]) -> LimbGrids:
    """Join several grids."""
    sizes = np.array([len(grid.values) for grid in grids])
    starts = np.cumsum(sizes) - sizes
    moved = [replace(grid, firsts=grid.firsts + start) for grid, start in zip(grids, starts, strict=True)]
    names = ("bones", "lows", "steps", "counts", "firsts", "values")
    return LimbGrids(*(np.concatenate([getattr(grid, name) for grid in moved]) for name in names))


@dataclass(frozen=True, eq=False)
class PressedSkin:
    """Samples of the skin under a pattern, and the limbs that may press into it.

    Attributes
    ----------
    points : float32 array, shape (N, 3)
        At rest, in armature space.
    joints, weights : int and float32 arrays, shape (N, INFLUENCES)
        Joints that carry the points. The weights of a point sum to 1.
    grids : LimbGrids
        Grids of the limbs, from `make_depth_grid`.
    rest : float32 array, shape (L, N)
        Depth of each point in each limb at rest.
    side : float
        Smaller side of the pattern, in armature space. Depths are shares of it.
    """

    points: np.ndarray
    joints: np.ndarray
    weights: np.ndarray
    grids: LimbGrids
    rest: np.ndarray
    side: float


def make_pressed_skin(points: np.ndarray, weights: np.ndarray, grids: LimbGrids, side: float) -> PressedSkin:
    """Sample the skin under a pattern, points (N, 3) at rest with normalized weights (N, B), at most 128 points of it.

    `side` is as in `PressedSkin`.
    """
    chosen = np.arange(0, len(points), -(-len(points) // 128))
    points, weights = points[chosen].astype(np.float32), weights[chosen]
    count = min(INFLUENCES, weights.shape[1])
    joints = np.zeros((len(points), INFLUENCES), np.intp)
    joints[:, :count] = np.argsort(-weights, axis=1, kind="stable")[:, :count]
    carried = np.zeros((len(points), INFLUENCES))
    carried[:, :count] = np.take_along_axis(weights, joints[:, :count], axis=1)
    carried /= carried.sum(axis=1, keepdims=True)
    rest = np.array([_find_depths(grids, limb, points)[0] for limb in range(len(grids.bones))], np.float32)
    cells = (points - grids.lows[:, None]) / grids.steps[:, None, None]
    is_inside = ((cells > 0.0) & (cells < grids.counts[:, None] - 1.0)).all(axis=2)
    rest = np.where(is_inside, rest, np.float32(0.0))  # outside of a grid, a point is not in the limb
    return PressedSkin(points, joints, carried.astype(np.float32), grids, rest, side)


def _find_depths(grids: LimbGrids, limb: int, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Depths of points, shape (N, 3), in a limb at rest, and the shares that count, shape (N,) each."""
    values = read_grids(grids, np.full(len(points), limb), points)
    return np.maximum(-values[:, 0], 0.0), values[:, 1]


def measure_depth(skin: PressedSkin, matrices: np.ndarray) -> float:
    """Measure the largest depth of a limb beyond the depth at rest, as a share of the pattern's side.

    `matrices`, shape (B + 1, 4, 4), lead from rest to pose. The last stays at rest.
    """
    ends = np.einsum("ncij,nj->nci", matrices[skin.joints, :3, :3], skin.points) + matrices[skin.joints, :3, 3]
    posed = np.einsum("nc,nci->ni", skin.weights, ends)
    depth = 0.0
    for limb, joint in enumerate(skin.grids.bones):
        back = np.linalg.inv(matrices[joint])
        depths, counted = _find_depths(skin.grids, limb, posed @ back[:3, :3].T + back[:3, 3])
        depth = max(depth, float(((depths - skin.rest[limb]) * counted).max(initial=0.0)))
    return depth / skin.side
