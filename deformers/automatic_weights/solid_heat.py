"""Automatic weights from heat that flows from the bones through the whole solid; it works with any mesh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..geometry.solid import Surface, measure_size
from ..option import Option
from .bone_claims import find_seeds
from .levels import (
    MIN_INFLUENCE,
    Level,
    cut_part,
    find_fine_parts,
    make_solution,
    read_solid,
    read_weights,
    solve_heat,
)
from .method import Solution, WeightMethod


@dataclass(frozen=True)
class Params:
    """Resolution of the solid.

    Attributes
    ----------
    resolution : int
        Cells along the longest side of the mesh.
    detail : int
        Finer cells along the side of a cell at dense bones, such as in hands and faces; 1 for none.
    """

    resolution: int = 96
    detail: int = 5


RESOLUTION = Option(
    name="resolution",
    label="Resolution",
    tooltip="Number of cells along the longest side of the mesh. 0 is automatic; more cells keep thin parts separate",
    word=(0, "Automatic"),
    highest=1024,
    slider=(None, 256),
)

INFO = WeightMethod(
    "SOLID",
    "Solid Heat",
    "Heat spreads from the bones through the inside of the mesh: for any mesh, in any number of parts",
    words=("solid",),
    params=Params,
    choices=(RESOLUTION,),
)


def solve(
    points: np.ndarray,
    triangles: np.ndarray,
    heads: np.ndarray,
    tails: np.ndarray,
    params: Params | None = None,
    progress: Callable[[float], None] | None = None,
) -> Solution:
    """Find the weights of all bones for all vertices.

    Raises SkinningError without a surface, or without a bone near it.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Vertices of all parts, armature space.
    triangles : int array, shape (T, 3)
    heads, tails : float arrays, shape (B, 3)
        Armature space.
    progress : callable, optional
        Called with the finished share; its exceptions cancel.

    Notes
    -----
    Baran & Popovic 2007 let heat flow over the surface, which must be connected and closed with vertices that see a
    bone. Here all parts are one solid of cells, and distances to bones are measured along paths through it.
    """
    params, progress = params or Params(), progress or (lambda _share: None)
    points, heads, tails = (np.asarray(values, np.float64) for values in (points, heads, tails))
    step = measure_size(points, triangles) / params.resolution
    surface, cells, sketch = read_solid(points, triangles, heads, tails, step)
    progress(0.3)
    level = solve_heat(cells, heads, tails, sketch, progress=lambda share: progress(0.3 + 0.3 * share))
    weights = read_weights(
        points,
        level,
        find_fine_parts(level, heads, tails, params.detail),
        lambda chosen, factor: _solve_part(surface, level, chosen, factor, heads, tails),
        lambda share: progress(0.6 + 0.4 * share),
    )
    return make_solution(weights, surface, cells.vertex_nodes == cells.count, level.usable, level.note)


def _solve_part(
    surface: Surface, level: Level, chosen: np.ndarray, factor: int, heads: np.ndarray, tails: np.ndarray
) -> Level:
    """Weights in a refined part; on its rim those of the coarser cells around."""
    cells, rim = cut_part(surface, level.cells, chosen, factor)
    used = np.any(level.weights[chosen] > MIN_INFLUENCE, axis=0)
    used[find_seeds(cells, heads, tails)[1]] = True
    owner = np.where(np.append(used, False)[level.claims.owner], (np.cumsum(used) - 1)[level.claims.owner], -1)
    claims = replace(level.claims, owner=owner, has_own_bones=level.claims.has_own_bones & (owner >= 0))
    part = replace(level, claims=claims, weights=level.weights[:, used], given=level.given[:, used])
    fine = solve_heat(cells, heads[used], tails[used], part, rim)
    weights = np.zeros((cells.count, len(heads)), np.float32)
    weights[:, used] = fine.weights
    return replace(fine, weights=weights)
