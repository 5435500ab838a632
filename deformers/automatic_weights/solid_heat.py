"""Automatic weights by heat that flows from the bones through the whole solid: they never fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..geometry.solid import Surface, measure_size
from ..option import Option
from .bone_claims import find_seeds
from .levels import (
    LEAST_INFLUENCE,
    Level,
    cut_part,
    find_fine_parts,
    make_solution,
    read_solid,
    read_weights,
    solve_heat,
)
from .method import WeightMethod
from .solution import Solution


@dataclass(frozen=True)
class Params:
    """How finely the solid is cut.

    Attributes
    ----------
    resolution : int
        Cells along the longest side of the mesh.
    detail : int
        Cells along the side of a cell where bones are dense, as in hands and faces; 1: nowhere.
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

    Parameters
    ----------
    points : float array, shape (V, 3)
        Vertices of all parts, armature space.
    triangles : int array, shape (T, 3)
    heads, tails : float arrays, shape (B, 3)
        Ends of the bones, armature space.
    progress : callable, optional
        Called with the share that is done; what it raises ends the work.

    Raises
    ------
    SkinningError
        Where there is no surface, or no bone near it.

    Notes
    -----
    Baran & Popovic 2007 let heat flow over the surface: it needs to be connected and closed, and vertices that see a
    bone. Here all parts are one solid of cells, and the nearest bone is the nearest along paths through it.
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
    """Weights in a part that is cut finely; on the rim they are those of the coarser cells around."""
    cells, rim = cut_part(surface, level.cells, chosen, factor)
    used = np.any(level.weights[chosen] > LEAST_INFLUENCE, axis=0)
    used[find_seeds(cells, heads, tails)[1]] = True
    owner = np.where(np.append(used, False)[level.claims.owner], (np.cumsum(used) - 1)[level.claims.owner], -1)
    claims = replace(level.claims, owner=owner, has_own_bones=level.claims.has_own_bones & (owner >= 0))
    part = replace(level, claims=claims, weights=level.weights[:, used], given=level.given[:, used])
    fine = solve_heat(cells, heads[used], tails[used], part, rim)
    weights = np.zeros((cells.count, len(heads)), np.float32)
    weights[:, used] = fine.weights
    return replace(fine, weights=weights)
