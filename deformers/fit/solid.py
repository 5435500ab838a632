"""A bare mesh as one solid of linked cells: what all of the fit is measured on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import SkinningError, find_unusable
from ..geometry.neighbors import find_nearest
from ..geometry.solid import Grid, Surface, distances_within, fill_grid, find_islands, read_surface, vertex_areas
from ..geometry.solid_skin import sample_triangles

NEAR, COVERED, SPANNED = 0.04, 0.8, 0.85
"""Open islands are cloth, and left out, if this share of their area lies within `NEAR` of the height of the closed
islands, and these span this share of the height; else all islands count, with their holes closed."""

LEAST_PART, LARGEST_GAP = 0.002, 0.12
"""Parts with this share of the cells are joined to the others, across gaps up to so much of the height."""

TUBE = 2
"""Radius of what joins parts, in cells."""

LARGEST_OTHER = 0.15
"""Share of the cells that a part may have that is not joined: from here on it is another character."""

MANY, FINE = 60_000, 0.3
"""Triangles from which on vertices are made one that lie in one cell of a grid, and its side, in cells of the solid."""

LEAST_CELLS = 200
"""Of a solid that anything can be found in."""

SIDES = np.array([side for side in np.ndindex(3, 3, 3) if side != (1, 1, 1)]) - 1
"""Steps to the 26 cells around a cell."""

NOTHING_FILLED = "The meshes enclose no space that a skeleton could be fitted into: close their holes first"


@dataclass(frozen=True)
class BodyCells:
    """The cells of a solid, with the links among them.

    Attributes
    ----------
    points : float64 array, shape (N, 3)
        Centers, in the space that the fit is in: of the mesh, or of the body (see `frame.Frame`).
    step : float
        Side of a cell, in the unit of the points.
    neighbors : int array, shape (N, 26)
        The cell at each of `SIDES`; N for none.
    grid : Grid
        That they were cut from, in the space of the mesh.
    """

    points: np.ndarray
    step: float
    neighbors: np.ndarray
    grid: Grid

    @property
    def count(self) -> int:
        """Cells."""
        return len(self.points)


def check_mesh(points: np.ndarray, triangles: np.ndarray) -> None:
    """Look whether a mesh, shapes (V, 3) and (T, 3), has something to fit a skeleton into.

    Raises
    ------
    SkinningError
        Where it does not.
    """
    if not len(triangles):
        raise SkinningError("The meshes have no faces, and a skeleton needs a body: select meshes that have faces")
    used = points[np.unique(triangles)]
    if find_unusable(used).any():
        raise SkinningError("Some vertex positions are not numbers: repair the mesh first")
    if not np.ptp(used, axis=0)[2] > 0.0:
        raise SkinningError("The mesh has no height: apply its rotation and stand it upright first")


def merge_near(points: np.ndarray, triangles: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """A mesh with fewer vertices, where it has many more than its solid of so many cells along the height can show.

    Parameters
    ----------
    points : float array, shape (V, 3)
    triangles : int array, shape (T, 3)

    Returns
    -------
    float64 array, shape (W, 3), and int array, shape (S, 3)
    """
    if len(triangles) < MANY:
        return points, triangles
    used = points[np.unique(triangles)]
    step = FINE * float(np.ptp(used[:, 2])) / cells
    grid = np.clip(np.floor((points - used.min(axis=0)) / step), 0, 2**20 - 1).astype(np.int64)
    _, owner = np.unique((grid[:, 0] << 40) | (grid[:, 1] << 20) | grid[:, 2], return_inverse=True)
    merged = np.stack([np.bincount(owner, column) for column in points.T], axis=1) / np.bincount(owner)[:, None]
    corners = owner[triangles]
    return merged, corners[(corners != np.roll(corners, 1, axis=1)).all(axis=1)]


def fill_body(points: np.ndarray, triangles: np.ndarray, cells: int) -> BodyCells:
    """Cut what a mesh encloses into linked cells.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Of all meshes of the character, z up, any unit.
    triangles : int array, shape (T, 3)
    cells : int
        Along the height.

    Raises
    ------
    SkinningError
        Where the mesh encloses no space, or is two characters.
    """
    check_mesh(points, triangles)
    height = float(np.ptp(points[np.unique(triangles), 2]))
    step = height / cells
    surface = read_surface(points, triangles)
    grid = None if not len(surface.triangles) else fill_grid(surface, step)
    if grid is None or not _is_body(surface, grid, height):
        surface = read_surface(points, triangles, largest_hole=np.inf)
        if not len(surface.triangles):
            raise SkinningError(NOTHING_FILLED)
        grid = _fill_all(surface, step)
    inside = _join_parts(grid.inside, LARGEST_GAP * height / grid.step)
    indices = np.argwhere(inside)
    if len(indices) < LEAST_CELLS:
        raise SkinningError(NOTHING_FILLED)
    return BodyCells(grid.centers(indices), grid.step, link(inside, indices), replace(grid, inside=inside))


def _is_body(surface: Surface, grid: Grid, height: float) -> bool:
    """Whether the closed islands alone are the body."""
    used = surface.points[np.unique(surface.triangles)]
    if np.ptp(used[:, 2]) < SPANNED * height:
        return False
    if not len(surface.cloth):
        return True
    reach = int(np.ceil(NEAR * height / grid.step))
    near = distances_within(grid.inside, reach + 1) <= reach
    areas = vertex_areas(surface.points, surface.cloth)
    low, high = grid.low, grid.low + grid.step * (np.array(grid.inside.shape) - 1)
    within = ((surface.points >= low) & (surface.points <= high)).all(axis=1) & near[grid.cells(surface.points)]
    return float(areas[within].sum()) >= COVERED * float(areas.sum())


def _fill_all(surface: Surface, step: float) -> Grid:
    """What all islands enclose, and the cells that their triangles run through."""
    grid = fill_grid(surface, step)
    inside = grid.inside.copy()
    triangles = np.concatenate([surface.triangles, surface.cloth])
    inside[grid.cells(sample_triangles(surface.points, triangles, 0.5 * grid.step).points)] = True
    for axis in range(3):
        rim = np.moveaxis(inside, axis, 0)
        rim[0] = rim[-1] = False
    return replace(grid, inside=inside)


def link(inside: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The cells around each cell, see `BodyCells`.

    Parameters
    ----------
    inside : bool array, shape (X, Y, Z)
        Cells on the rim of the grid are outside.
    indices : int array, shape (N, 3)
        Of those inside.
    """
    number = np.full(inside.shape, len(indices), np.intp)
    number[tuple(indices.T)] = np.arange(len(indices))
    strides = np.array([inside.shape[1] * inside.shape[2], inside.shape[2], 1])
    return number.reshape(-1)[(indices @ strides)[:, None] + SIDES @ strides]


def label_parts(neighbors: np.ndarray) -> np.ndarray:
    """The connected part of each cell, largest first: int array, shape (N,)."""
    count = len(neighbors)
    cell, side = np.nonzero(neighbors[:, : len(SIDES) // 2] < count)
    labels = find_islands(np.stack([cell, neighbors[cell, side]], axis=1), count)
    order = np.argsort(-np.bincount(labels), kind="stable")
    return np.argsort(order)[labels]


def _join_parts(inside: np.ndarray, gap: float) -> np.ndarray:
    """One connected solid: small parts left out, the others joined to the largest by tubes where they are nearest.

    Parameters
    ----------
    inside : bool array, shape (X, Y, Z)
    gap : float
        Largest distance of two parts that are joined, in cells.

    Raises
    ------
    SkinningError
        Where large parts lie further apart.
    """
    indices = np.argwhere(inside)
    if not len(indices):
        return inside
    neighbors = link(inside, indices)
    labels = label_parts(neighbors)
    sizes = np.bincount(labels)
    kept = np.flatnonzero(sizes >= LEAST_PART * len(indices))
    result = np.zeros_like(inside)
    result[tuple(indices[labels == 0].T)] = True
    skin = (neighbors == len(indices)).any(axis=1)
    joined, left = indices[(labels == 0) & skin], list(kept[1:])
    while left:  # few parts
        found = []
        for part in left:
            own = indices[(labels == part) & skin]
            nearest, distances = find_nearest(own.astype(float), joined.astype(float), 1)
            best = int(distances[:, 0].argmin())
            found.append((float(distances[best, 0]), part, own[best], joined[nearest[best, 0]]))
        distance, part, start, end = min(found, key=lambda row: row[0])
        if distance > gap:
            if sizes[left].max() > LARGEST_OTHER * len(indices):
                raise SkinningError(f"{1 + len(left)} parts lie apart from each other: select one character")
            break
        left.remove(part)
        result[tuple(indices[labels == part].T)] = True
        _add_tube(result, start, end)
        joined = np.concatenate([joined, indices[(labels == part) & skin]])
    return result


def _add_tube(inside: np.ndarray, start: np.ndarray, end: np.ndarray) -> None:
    count = int(np.ceil(np.linalg.norm(end - start))) + 1
    line = start + np.linspace(0.0, 1.0, count)[:, None] * (end - start)
    ball = np.argwhere(np.ones((2 * TUBE + 1,) * 3)) - TUBE
    ball = ball[(ball**2).sum(axis=1) <= TUBE**2]
    cells = (np.rint(line)[:, None] + ball).reshape(-1, 3).astype(int)
    inside[tuple(np.clip(cells, 1, np.array(inside.shape) - 2).T)] = True


def measure_paths(cells: BodyCells, sources: np.ndarray, allowed: np.ndarray | None = None) -> np.ndarray:
    """Length of the shortest path through the solid from some cells to each, shape (N,): infinite where there is none.

    Parameters
    ----------
    sources : int array, shape (S,)
    allowed : bool array, shape (N,), optional
        Cells that paths may go through.
    """
    lengths = cells.step * np.linalg.norm(SIDES, axis=1)
    result = np.full(cells.count + 1, np.inf)
    closed = np.zeros(cells.count + 1, bool)
    closed[-1] = True
    if allowed is not None:
        closed[:-1] = ~allowed
    result[sources] = 0.0
    front = np.asarray(sources)
    while front.size:  # as many as cells on the longest path
        reached = result[front, None] + lengths
        others = cells.neighbors[front]
        better = (reached < result[others] - 1e-9 * cells.step) & ~closed[others]
        others = others[better]
        np.minimum.at(result, others, reached[better])
        front = np.unique(others)
    return result[:-1]
