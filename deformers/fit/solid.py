"""A bare mesh as one solid of linked cells, on which the fit measures."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import SkinningError, find_unusable
from ..geometry.neighbors import find_nearest
from ..geometry.solid import Grid, Surface, distances_within, fill_grid, find_islands, read_surface, vertex_areas
from ..geometry.solid_skin import sample_triangles

# Steps to the 26 cells around a cell
SIDES = np.array([side for side in np.ndindex(3, 3, 3) if side != (1, 1, 1)]) - 1

NOTHING_FILLED = "The meshes enclose no space that a skeleton could be fitted into: close their holes first"


@dataclass(frozen=True)
class BodyCells:
    """The cells of a solid, with the links among them.

    Attributes
    ----------
    points : float64 array, shape (N, 3)
        Centers, in the space of the mesh or of the body (see `frame.Frame`).
    step : float
        Side of a cell, in the unit of the points.
    neighbors : int array, shape (N, 26)
        Index of the cell at each of `SIDES`; N if there is none.
    grid : Grid
        The grid that the cells were cut from, in the space of the mesh.
    """

    points: np.ndarray
    step: float
    neighbors: np.ndarray
    grid: Grid

    @property
    def count(self) -> int:
        """Number of cells."""
        return len(self.points)


def check_mesh(points: np.ndarray, triangles: np.ndarray) -> None:
    """Check that a mesh, shapes (V, 3) and (T, 3), can hold a skeleton. Raises SkinningError if it cannot."""
    if not len(triangles):
        raise SkinningError("The meshes have no faces, and a skeleton needs a body: select meshes that have faces")
    used = points[np.unique(triangles)]
    if find_unusable(used).any():
        raise SkinningError("Some vertex positions are not numbers: repair the mesh first")
    if not np.ptp(used, axis=0)[2] > 0.0:
        raise SkinningError("The mesh has no height: apply its rotation and stand it upright first")


def merge_near(points: np.ndarray, triangles: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Merge the vertices of a mesh, shapes (V, 3) and (T, 3), that is much finer than `cells` cells along its height.

    Returns a float64 array, shape (W, 3), and int array, shape (S, 3).
    """
    if len(triangles) < 60_000:  # below this, filling the mesh as it is takes no longer
        return points, triangles
    used = points[np.unique(triangles)]
    step = 0.3 * float(np.ptp(used[:, 2])) / cells
    grid = np.clip(np.floor((points - used.min(axis=0)) / step), 0, 2**20 - 1).astype(np.int64)
    _, owner = np.unique((grid[:, 0] << 40) | (grid[:, 1] << 20) | grid[:, 2], return_inverse=True)
    merged = np.stack([np.bincount(owner, column) for column in points.T], axis=1) / np.bincount(owner)[:, None]
    corners = owner[triangles]
    return merged, corners[(corners != np.roll(corners, 1, axis=1)).all(axis=1)]


def fill_body(points: np.ndarray, triangles: np.ndarray, cells: int) -> BodyCells:
    """Cut the inside of a mesh into linked cells.

    Raises SkinningError if the mesh encloses no space, or is two characters.

    Parameters
    ----------
    points : float array, shape (V, 3)
        All meshes of the character, z up, any unit.
    triangles : int array, shape (T, 3)
    cells : int
        Number of cells along the height.
    """
    check_mesh(points, triangles)
    height = float(np.ptp(points[np.unique(triangles), 2]))
    step, max_gap = height / cells, 0.12 * height
    surface = read_surface(points, triangles)
    grid = None if not len(surface.triangles) else fill_grid(surface, step)
    if grid is None or not _is_body(surface, grid, height):
        surface = read_surface(points, triangles, largest_hole=np.inf)
        if not len(surface.triangles):
            raise SkinningError(NOTHING_FILLED)
        grid = _fill_all(surface, step)
    inside = _join_parts(grid.inside, max_gap / grid.step)
    indices = np.argwhere(inside)
    if len(indices) < 200:
        raise SkinningError(NOTHING_FILLED)
    return BodyCells(grid.centers(indices), grid.step, link(inside, indices), replace(grid, inside=inside))


def _is_body(surface: Surface, grid: Grid, height: float) -> bool:
    """Whether the closed islands alone are the body, and the open ones clothes on it.

    Otherwise all islands count, with their holes closed.
    """
    min_span, max_distance, min_covered = 0.85, 0.04 * height, 0.8
    used = surface.points[np.unique(surface.triangles)]
    if np.ptp(used[:, 2]) < min_span * height:
        return False
    if not len(surface.cloth):
        return True
    reach = int(np.ceil(max_distance / grid.step))
    near = distances_within(grid.inside, reach + 1) <= reach
    areas = vertex_areas(surface.points, surface.cloth)
    low, high = grid.low, grid.low + grid.step * (np.array(grid.inside.shape) - 1)
    within = ((surface.points >= low) & (surface.points <= high)).all(axis=1) & near[grid.cells(surface.points)]
    return float(areas[within].sum()) >= min_covered * float(areas.sum())


def _fill_all(surface: Surface, step: float) -> Grid:
    """Fill all islands, and the cells that their triangles pass through."""
    grid = fill_grid(surface, step)
    inside = grid.inside.copy()
    triangles = np.concatenate([surface.triangles, surface.cloth])
    inside[grid.cells(sample_triangles(surface.points, triangles, 0.5 * grid.step)[0])] = True
    for axis in range(3):  # `link` needs a rim of cells that are outside
        rim = np.moveaxis(inside, axis, 0)
        rim[0] = rim[-1] = False
    return replace(grid, inside=inside)


def link(inside: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Find the neighbors of each cell, see `BodyCells`.

    Parameters
    ----------
    inside : bool array, shape (X, Y, Z)
        Cells on the rim of the grid must be outside.
    indices : int array, shape (N, 3)
        The cells that are inside.
    """
    number = np.full(inside.shape, len(indices), np.intp)
    number[tuple(indices.T)] = np.arange(len(indices))
    strides = np.array([inside.shape[1] * inside.shape[2], inside.shape[2], 1])
    return number.reshape(-1)[(indices @ strides)[:, None] + SIDES @ strides]


def label_parts(neighbors: np.ndarray) -> np.ndarray:
    """Label the connected part of each cell, int, shape (N,), the largest part first."""
    count = len(neighbors)
    cell, side = np.nonzero(neighbors[:, : len(SIDES) // 2] < count)
    labels = find_islands(np.stack([cell, neighbors[cell, side]], axis=1), count)
    order = np.argsort(-np.bincount(labels), kind="stable")
    return np.argsort(order)[labels]


def _join_parts(inside: np.ndarray, gap: float) -> np.ndarray:
    """Make one connected solid, bool, shape (X, Y, Z).

    Small parts are left out. The others are joined to the largest by tubes at their nearest cells. Raises SkinningError
    if a large part lies farther away: it is another character.

    Parameters
    ----------
    inside : bool array, shape (X, Y, Z)
    gap : float
        Largest distance of two parts that are joined, in cells.
    """
    min_part, max_other = 0.002, 0.15  # shares of the cells: smaller parts are left out, larger ones must be joined
    indices = np.argwhere(inside)
    if not len(indices):
        return inside
    neighbors = link(inside, indices)
    labels = label_parts(neighbors)
    sizes = np.bincount(labels)
    kept = np.flatnonzero(sizes >= min_part * len(indices))
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
            if sizes[left].max() > max_other * len(indices):
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
    radius = 2
    ball = np.argwhere(np.ones((2 * radius + 1,) * 3)) - radius
    ball = ball[(ball**2).sum(axis=1) <= radius**2]
    cells = (np.rint(line)[:, None] + ball).reshape(-1, 3).astype(int)
    inside[tuple(np.clip(cells, 1, np.array(inside.shape) - 2).T)] = True


def measure_paths(cells: BodyCells, sources: np.ndarray, allowed: np.ndarray | None = None) -> np.ndarray:
    """Measure the shortest paths through the solid from source cells to each cell, shape (N,). inf if there is none.

    Parameters
    ----------
    sources : int array, shape (S,)
    allowed : bool array, shape (N,), optional
        Cells that paths may go through; all by default.
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
