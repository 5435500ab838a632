"""How deep limbs press into the skin where a pattern lies: what brings folds out of a belly when the thigh lifts.

A limb is what follows one bone. Sampled vertices of the skin go where their bones blend them linearly; taken back to
where the limb was at rest, a grid of distances there says how deep they are in it. So the depth depends on the bones
alone: pushes that keep the skin out of the limb, and whatever else poses it, do not take it away. `nodes.compression`
computes the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..geometry.neighbors import FindNearest
from ..geometry.vectors import smooth_step
from .limb_grids import STEP, WEIGHTS, LimbGrids, lay_out_box, list_nodes, measure_distances, read_grids

MOST_POINTS = 128
"""Vertices of a pattern that are looked at, as evenly as their order has them."""

INFLUENCES = 4
"""Joints that carry each of them."""

LEAST_SKIN = 4
"""Vertices that a limb has."""


def make_depth_grid(
    skin: np.ndarray,
    triangles: np.ndarray,
    weights: np.ndarray,
    joint: int,
    height: float,
    find_nearest: FindNearest,
) -> LimbGrids | None:
    """The grid of one limb: of `values`, the first is the signed distance to the skin, the second how far it counts.

    Parameters
    ----------
    skin : float array, shape (S, 3)
        At rest, armature space.
    triangles : int array, shape (T, 3)
    weights : float array, shape (S, B)
        Normalized.
    joint : int
        What the limb follows.
    height : float
        Of the character.

    Returns
    -------
    LimbGrids or None
        None where hardly any skin follows the joint.
    """
    if np.count_nonzero(weights[:, joint] >= WEIGHTS[0]) < LEAST_SKIN:
        return None
    low, step, counts = lay_out_box(skin, weights, joint, height * STEP)
    nodes = list_nodes(low, step, counts)
    owners, shares, distances = measure_distances(nodes, skin, triangles, find_nearest)
    amounts = np.einsum("nc,nc->n", weights[owners, joint], shares)
    values = np.zeros((len(nodes), 4), np.float32)
    values[:, 0] = distances
    values[:, 1] = smooth_step((amounts - WEIGHTS[0]) / (WEIGHTS[1] - WEIGHTS[0]))
    return LimbGrids(np.array([joint]), low[None], np.array([step]), counts[None], np.zeros(1, np.intp), values)


def join_grids(grids: Sequence[LimbGrids]) -> LimbGrids:
    """Several grids as one."""
    sizes = np.array([len(grid.values) for grid in grids])
    starts = np.cumsum(sizes) - sizes
    moved = [replace(grid, firsts=grid.firsts + start) for grid, start in zip(grids, starts, strict=True)]
    names = ("bones", "lows", "steps", "counts", "firsts", "values")
    return LimbGrids(*(np.concatenate([getattr(grid, name) for grid in moved]) for name in names))


@dataclass(frozen=True, eq=False)
class PressedSkin:
    """What measures how deep limbs press into the skin under a pattern.

    Attributes
    ----------
    points : float32 array, shape (N, 3)
        At rest, armature space.
    joints : int array, shape (N, INFLUENCES)
        That carry them.
    weights : float32 array, shape (N, INFLUENCES)
        Their sums are 1.
    grids : LimbGrids
        Of the limbs, from `make_depth_grid`.
    rest : float32 array, shape (L, N)
        How deep each point is in each limb at rest.
    side : float
        Of the pattern, the smaller one, in armature space: depths are shares of it.
    """

    points: np.ndarray
    joints: np.ndarray
    weights: np.ndarray
    grids: LimbGrids
    rest: np.ndarray
    side: float


def make_pressed_skin(points: np.ndarray, weights: np.ndarray, grids: LimbGrids, side: float) -> PressedSkin:
    """Work out what measures the depth.

    Parameters
    ----------
    points : float array, shape (N, 3)
        Of the skin under the pattern at rest, armature space.
    weights : float array, shape (N, B)
        Normalized.
    side : float
        See `PressedSkin`.
    """
    chosen = np.arange(0, len(points), -(-len(points) // MOST_POINTS))
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
    rest = np.where(is_inside, rest, np.float32(0.0))  # skin is not deep in anything where no grid says so
    return PressedSkin(points, joints, carried.astype(np.float32), grids, rest, side)


def _find_depths(grids: LimbGrids, limb: int, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How deep points, shape (N, 3), are in a limb at rest, and how far that counts, shape (N,) each."""
    values = read_grids(grids, np.full(len(points), limb), points)
    return np.maximum(-values[:, 0], 0.0), values[:, 1]


def measure_depth(skin: PressedSkin, matrices: np.ndarray) -> float:
    """The largest depth of a limb in the skin under a pattern, beyond that at rest, as a share of the pattern's side.

    Parameters
    ----------
    matrices : float array, shape (B + 1, 4, 4)
        Of all joints, from rest to pose; the last stays at rest.
    """
    ends = np.einsum("ncij,nj->nci", matrices[skin.joints, :3, :3], skin.points) + matrices[skin.joints, :3, 3]
    posed = np.einsum("nc,nci->ni", skin.weights, ends)
    depth = 0.0
    for limb, joint in enumerate(skin.grids.bones):
        back = np.linalg.inv(matrices[joint])
        depths, counted = _find_depths(skin.grids, limb, posed @ back[:3, :3].T + back[:3, 3])
        depth = max(depth, float(((depths - skin.rest[limb]) * counted).max(initial=0.0)))
    return depth / skin.side
