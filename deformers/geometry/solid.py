"""A surface as a solid: its islands, and the cells of a grid inside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from .neighbors import group_points
from .vectors import list_ranges, normalize, sum_by

# Vertices in one cell of this side, in sizes of the surface, are one point: files split vertices at seams.
WELD_CELL = 1e-6

# Area of an island's holes, in areas of the island: with more it is cloth, not solid. See `_measure_holes`.
MAX_HOLE = 0.13

# A grid that needs more cells has larger ones.
MAX_CELLS = 2_000_000

# Position of a surface's low corner in its cell, in cells: odd numbers, so that lines of centers miss its vertices.
GRID_OFFSET = np.array([0.3712, 0.5843, 0.4391])


@dataclass(frozen=True)
class Rims:
    """The rims of a surface's holes.

    Attributes
    ----------
    sides : int array, shape (R, 2)
        Edges with one triangle, in its direction.
    loops : int array, shape (R,)
        The hole of each.
    """

    sides: np.ndarray
    loops: np.ndarray

    @property
    def count(self) -> int:
        """Number of holes."""
        return int(self.loops.max(initial=-1)) + 1

    def find_lids(self, points: np.ndarray) -> np.ndarray:
        """Triangles that close the holes, each with the middle of its rim: their corners, shape (R, 3, 3)."""
        start, end = points[self.sides[:, 0]], points[self.sides[:, 1]]
        counts = np.maximum(np.bincount(self.loops), 1)
        middle = sum_by(self.loops, start, len(counts)) / counts[:, None]
        return np.stack([middle[self.loops], end, start], axis=1)


@dataclass(frozen=True)
class Surface:
    """The fillable part of a mesh: triangles of its closed islands, wound outward.

    Attributes
    ----------
    points : float64 array, shape (V, 3)
        All vertices of the mesh.
    welded : int array, shape (V,)
        The first vertex at the position of each.
    triangles : int array, shape (T, 3)
    islands : int array, shape (V,)
        The island of each vertex; -1 without triangles.
    solid : bool array, shape (N,)
        Whether each island is filled.
    rims : Rims
        Of holes in filled islands.
    flipped : int
        Number of islands that were inside out.
    cloth : int array, shape (C, 3)
        Triangles of the islands that are not filled.
    """

    points: np.ndarray
    welded: np.ndarray
    triangles: np.ndarray
    islands: np.ndarray
    solid: np.ndarray
    rims: Rims
    flipped: int
    cloth: np.ndarray

    @property
    def volume(self) -> float:
        """Volume inside; overlapping islands count twice."""
        return float(signed_volumes(self.points, self.triangles).sum())


def signed_volumes(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Volumes of the tetrahedra of triangles and the points' center, shape (T,); their sum is the volume inside."""
    a, b, c = (points[triangles[:, corner]] - points.mean(axis=0) for corner in range(3))
    return np.einsum("ti,ti->t", a, np.cross(b, c)) / 6.0


def area_vectors(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Normals of triangles with their areas as lengths, shape (T, 3)."""
    a, b, c = (points[triangles[:, corner]] for corner in range(3))
    return 0.5 * np.cross(b - a, c - a)


def sum_at_vertices(values: np.ndarray, triangles: np.ndarray, count: int) -> np.ndarray:
    """Sum values of triangles, shape (T,) or (T, 3), at each vertex, shape (count,) or (count, 3)."""
    return sum_by(triangles.ravel(), np.repeat(values, 3, axis=0), count)


def vertex_areas(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """A third of the areas of the triangles at each vertex, shape (V,)."""
    areas = np.linalg.norm(area_vectors(points, triangles), axis=1) / 3.0
    return sum_at_vertices(areas, triangles, len(points))


def vertex_normals(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Unit normals of vertices, weighted by the areas of the triangles about them, shape (V, 3)."""
    return normalize(sum_at_vertices(area_vectors(points, triangles), triangles, len(points)))


def find_rim(triangles: np.ndarray, count: int) -> np.ndarray:
    """Whether each vertex is on an edge of a single triangle, bool array, shape (count,)."""
    sides = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    edges, counts = np.unique(sides, axis=0, return_counts=True)
    rim = np.zeros(count, bool)
    rim[edges[counts == 1]] = True
    return rim


def weld(points: np.ndarray) -> np.ndarray:
    """Find for each point, shape (V, 3), the first point in the same cell of `WELD_CELL`: int array, shape (V,).

    Close points on two sides of a border between cells stay two. Vertices split at seams have identical coordinates.
    """
    if not len(points):
        return np.zeros(0, int)
    size = float(np.ptp(points, axis=0).max()) or 1.0
    cells = np.rint((points - points.min(axis=0)) / (WELD_CELL * size)).astype(np.int64)
    flat = (cells[:, 0] << 42) | (cells[:, 1] << 21) | cells[:, 2]
    _, first, inverse = np.unique(flat, return_index=True, return_inverse=True)
    return first[inverse.ravel()]


def measure_size(points: np.ndarray, triangles: np.ndarray) -> float:
    """Measure the longest side of a mesh, in the unit of its points.

    Raises SkinningError if the mesh has no faces or no size.

    Parameters
    ----------
    points : float array, shape (V, 3)
    triangles : int array, shape (T, 3)
    """
    if not len(triangles):
        raise SkinningError("The mesh has no faces, and automatic weights need a surface: choose a mesh that has faces")
    size = float(np.ptp(points[triangles].reshape(-1, 3), axis=0).max())
    if not np.isfinite(size):
        raise SkinningError("Some vertex positions are not numbers: repair the mesh first")
    if not size > 0.0:
        raise SkinningError("All vertices are at the same position: choose a mesh that has a size")
    return size


def find_islands(pairs: np.ndarray, count: int) -> np.ndarray:
    """Number the connected components of a graph with the edges `pairs`, shape (E, 2), of `count` nodes: shape
    (count,).
    """
    label = np.arange(count)
    while True:
        lowest = np.minimum(label[pairs[:, 0]], label[pairs[:, 1]])
        before = label.copy()
        np.minimum.at(label, label[pairs[:, 0]], lowest)
        np.minimum.at(label, label[pairs[:, 1]], lowest)
        while (label[label] != label).any():
            label = label[label]
        if (label == before).all():
            return np.unique(label, return_inverse=True)[1].ravel()


def label_islands(welded: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Number the islands of a mesh, across seams: int array, shape (V,).

    Parameters
    ----------
    welded : int array, shape (V,)
        From `weld`.
    triangles : int array, shape (T, 3)
    """
    corners = welded[triangles]
    return find_islands(np.concatenate([corners[:, :2], corners[:, 1:]]), len(welded))[welded]


def read_surface(points: np.ndarray, triangles: np.ndarray, largest_hole: float | np.ndarray = MAX_HOLE) -> Surface:
    """Find the islands of a mesh, flip those that are inside out, and leave out those that enclose nothing.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Finite, in any unit.
    triangles : int array, shape (T, 3)
    largest_hole : float, or float array, shape (N,)
        See `MAX_HOLE`; for all islands, or for each.
    """
    points = np.asarray(points, np.float64)
    welded = weld(points)
    corners = welded[triangles]
    whole = (corners != np.roll(corners, 1, axis=1)).all(axis=1)
    triangles, corners = triangles[whole], corners[whole]
    islands = label_islands(welded, triangles)
    used = np.unique(islands[triangles])
    islands = np.where(np.isin(islands, used), np.searchsorted(used, islands), -1)
    count = len(used)

    owner = islands[triangles[:, 0]]
    volumes = sum_by(owner, signed_volumes(points, triangles), count)
    inside_out = volumes[owner] < 0
    triangles = np.where(inside_out[:, None], triangles[:, ::-1], triangles)
    areas = sum_by(owner, np.linalg.norm(area_vectors(points, triangles), axis=1), count)
    rims = _find_rims(welded[triangles])
    lids = rims.find_lids(points)
    flat = 0.5 * np.cross(lids[:, 1] - lids[:, 0], lids[:, 2] - lids[:, 0])
    held = sum_by(rims.loops, flat, rims.count)
    loop_islands = np.empty(rims.count, np.intp)
    loop_islands[rims.loops] = islands[rims.sides[:, 0]]
    middles = np.empty((rims.count, 3))
    middles[rims.loops] = lids[:, 0]
    sizes = np.linalg.norm(held, axis=1)
    open_islands = np.flatnonzero(sum_by(loop_islands, sizes, count) > largest_hole * areas)
    for island in open_islands[np.bincount(loop_islands, minlength=count)[open_islands] > 1]:
        own = np.flatnonzero(loop_islands == island)
        sizes[own] = _measure_holes(held[own], middles[own])
    holes = sum_by(loop_islands, sizes, count)
    min_volume = 1e-6  # Volume for an area of 1 below which an island is flat.
    solid = (np.abs(volumes) > min_volume * areas**1.5) & (holes <= largest_hole * areas)
    kept = solid[islands[rims.sides[:, 0]]]
    return Surface(
        points=points,
        welded=welded,
        triangles=triangles[solid[owner]],
        islands=islands,
        solid=solid,
        rims=Rims(rims.sides[kept], np.unique(rims.loops[kept], return_inverse=True)[1].ravel()),
        flipped=int((solid & (volumes < 0)).sum()),
        cloth=triangles[~solid[owner]],
    )


def _measure_holes(held: np.ndarray, middles: np.ndarray) -> np.ndarray:
    """Effective areas of an island's holes, shape (R,): of two opposite holes, only their difference counts.

    Parameters
    ----------
    held : float array, shape (R, 3)
        Outward normals of their lids, as long as their areas.
    middles : float array, shape (R, 3)
        A belt's holes look away from each other, and both count.
    """
    areas = np.linalg.norm(held, axis=1)
    result, free = areas.copy(), areas > 0.0
    # Two holes are opposite each other, such as at a ring that was cut out of a limb, up to this cosine of their
    # normals, this ratio of their areas, and this distance of their middles, in radii of a circle as large as the
    # larger.
    max_opposite_cosine, max_opposite_ratio, max_opposite_distance = -0.8, 2.0, 0.3
    for hole in np.argsort(-areas, kind="stable"):  # few: holes of islands that look open
        if not free[hole]:
            continue
        free[hole] = False
        steps = middles - middles[hole]
        fits = free & (areas * max_opposite_ratio >= areas[hole])
        fits &= held @ held[hole] <= max_opposite_cosine * areas * areas[hole]
        radius = np.sqrt(areas[hole] / np.pi)
        fits &= (steps @ held[hole] > 0.0) & (np.linalg.norm(steps, axis=1) <= max_opposite_distance * radius)
        if fits.any():
            other = int(np.where(fits, areas, 0.0).argmax())
            result[hole], result[other], free[other] = np.linalg.norm(held[hole] + held[other]), 0.0, False
    return result


def _find_rims(corners: np.ndarray) -> Rims:
    """The rims of triangles, shape (T, 3), of welded vertices."""
    sides = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    keys = np.sort(sides, axis=1) @ np.array([corners.max(initial=0) + 1, 1])
    _, edge, counts = np.unique(keys, return_inverse=True, return_counts=True)
    rim = sides[counts[edge.ravel()] == 1]
    loops = find_islands(rim, int(rim.max(initial=-1)) + 1)[rim[:, 0]]
    return Rims(rim, np.unique(loops, return_inverse=True)[1].ravel())


@dataclass(frozen=True)
class Grid:
    """Cells over a surface.

    Attributes
    ----------
    low : float array, shape (3,)
        Center of the first cell.
    step : float
        Side of a cell.
    inside : bool array, shape (X, Y, Z)
        Whether the cell's center is inside the surface. Cells on the rim of the grid are outside.
    """

    low: np.ndarray
    step: float
    inside: np.ndarray

    def centers(self, cells: np.ndarray) -> np.ndarray:
        """Centers of cells with these indices, shape (N, 3): (N, 3)."""
        return self.low + self.step * cells

    def cells(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Indices of the cells of points, shape (N, 3); of the nearest cells for points outside the grid."""
        cells = np.rint((points - self.low) / self.step).astype(np.intp)
        return tuple(np.clip(cells, 0, np.array(self.inside.shape) - 1).T)  # type: ignore[return-value]

    def sample(self, values: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Interpolate values of cells, shape (X, Y, Z), at points, shape (N, 3): shape (N,)."""
        positions = np.clip((points - self.low) / self.step, 0.0, np.array(values.shape) - 1.0)
        first = np.minimum(positions.astype(np.intp), np.maximum(np.array(values.shape) - 2, 0))
        result = np.zeros(len(points))
        for corner in np.ndindex(2, 2, 2):
            share = np.prod(np.where(corner, positions - first, 1.0 - (positions - first)), axis=1)
            result += share * values[tuple((first + corner).T)]
        return result


def fill_grid(surface: Surface, step: float, fixed: bool = False) -> Grid:
    """Find the cells inside a surface by 6 votes: signed crossings along each axis, forward and back.

    Parameters
    ----------
    step : float
        Side of a cell; larger if the surface would need more than `MAX_CELLS`.
    fixed : bool
        Whether cells are aligned to the origin, so that they stay if a vertex moves.

    Notes
    -----
    Yamamoto & Tokoi count the crossings of one ray. Here a crossing into the surface counts 1 and one out of it -1: in
    overlapping shells the count is 2, not even. A ray through a hole is wrong; the others outvote it.
    """
    used = surface.points[np.unique(surface.triangles)]
    low, high = used.min(axis=0), used.max(axis=0)
    room = np.maximum(high - low, 1e-12)
    while np.prod(room / step + 4.0) > MAX_CELLS:
        step *= 1.1
    shape = np.ceil(room / step).astype(int) + 4
    low = low - (1.5 + GRID_OFFSET) * step
    if fixed:
        low, shape = (np.floor(low / step) + GRID_OFFSET) * step, shape + 1
    return Grid(low, step, vote_inside(surface, low, step, shape))


def vote_inside(surface: Surface, low: np.ndarray, step: float, shape: np.ndarray) -> np.ndarray:
    """Whether each cell's center is inside a surface: bool array, shape `shape`. Cells on the rim are outside.

    Parameters
    ----------
    low : float array, shape (3,)
        Center of the first cell.
    step : float
        Side of a cell.
    shape : int array, shape (3,)
    """
    positions = (surface.points - low) / step
    votes = np.zeros(shape, np.int8)
    for axis in range(3):
        forward, back = _count_crossings(positions, surface.triangles, shape, axis)
        votes += (forward != 0).astype(np.int8) + (back != 0).astype(np.int8)
    min_votes = 4  # Votes of 6 directions for a cell to be inside
    inside = votes >= min_votes
    for axis in range(3):
        rim = np.moveaxis(inside, axis, 0)
        rim[0] = rim[-1] = False
    return inside


def _count_crossings(
    positions: np.ndarray, triangles: np.ndarray, shape: np.ndarray, axis: int
) -> tuple[np.ndarray, np.ndarray]:
    """Signed crossings before each cell along an axis, and after it: int arrays, shape (X, Y, Z)."""
    cells, _, signs = _find_crossings(positions, triangles, shape, axis)
    padded = shape + (np.arange(3) == axis)
    crossings = np.bincount(np.ravel_multi_index(tuple(cells), tuple(padded)), signs, minlength=int(np.prod(padded)))
    before = np.cumsum(np.rint(crossings.reshape(padded)).astype(np.int16), axis=axis, dtype=np.int16)
    total_crossings = np.take(before, [-1], axis=axis)
    before = np.take(before, np.arange(shape[axis]), axis=axis)
    return before, before - total_crossings


def _find_crossings(
    positions: np.ndarray, triangles: np.ndarray, shape: np.ndarray, axis: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Crossings of triangles with lines of cell centers along an axis.

    Returns
    -------
    cells : int array, shape (3, N)
        The first cell after each crossing, up to one beyond the last.
    heights : float array, shape (N,)
        Along the axis, in cells.
    signs : float array, shape (N,)
        1 into the surface, -1 out of it.
    """
    u, v = (axis + 1) % 3, (axis + 2) % 3
    corners = positions[triangles]  # (T, 3 corners, 3)
    flat = corners[:, :, [u, v]]
    low, high = (choose(choose(flat[:, 0], flat[:, 1]), flat[:, 2]) for choose in (np.minimum, np.maximum))
    first = np.maximum(np.ceil(low).astype(int), 0)
    last = np.minimum(np.floor(high).astype(int), shape[[u, v]] - 1)
    spans = np.maximum(last - first + 1, 0)
    counts = spans[:, 0] * spans[:, 1]
    which, rank = list_ranges(0, counts)
    columns = np.stack([first[which, 0] + rank // spans[which, 1], first[which, 1] + rank % spans[which, 1]], axis=1)
    a, b, c = (flat[which, corner] - columns for corner in range(3))
    shares = np.stack([_cross(b, c), _cross(c, a), _cross(a, b)], axis=1)
    hit = np.flatnonzero((shares > 0).all(axis=1) | (shares < 0).all(axis=1))
    which, columns, shares = which[hit], columns[hit], shares[hit]
    total = shares.sum(axis=1)
    heights = np.einsum("nc,nc->n", shares, corners[which][:, :, axis]) / total
    cells = np.empty((3, len(which)), int)
    cells[axis], cells[[u, v]] = np.clip(np.ceil(heights).astype(int), 0, shape[axis]), columns.T
    return cells, heights, -np.sign(total)


def measure_lines(surface: Surface, grid: Grid) -> np.ndarray:
    """Distance of each cell's center to the skin along each axis, float32, in cells, shape (3, X, Y, Z).

    The skin is between cells inside and outside. In a hole it is half way between two centers.
    """
    shape = np.array(grid.inside.shape)
    positions = (surface.points - grid.low) / grid.step
    result = np.full((3, *shape), np.inf, np.float32)
    for axis in range(3):
        cells, heights, _ = _find_crossings(positions, surface.triangles, shape, axis)
        known = (cells[axis] > 0) & (cells[axis] < shape[axis])
        shares = np.full(tuple(shape), 0.5, np.float32)
        shares[tuple(cells[:, known])] = cells[axis, known] - heights[known]
        lines, inside, shares = (np.moveaxis(array, axis, 0) for array in (result[axis], grid.inside, shares))
        skin = inside[1:] != inside[:-1]
        lines[1:][skin] = shares[1:][skin]
        for cell in range(1, len(lines)):
            np.minimum(lines[cell], lines[cell - 1] + 1.0, out=lines[cell], where=~skin[cell - 1])
        back = np.full_like(lines, np.inf)
        back[:-1][skin] = 1.0 - shares[1:][skin]
        for cell in range(len(lines) - 2, -1, -1):
            np.minimum(back[cell], back[cell + 1] + 1.0, out=back[cell])
        np.minimum(lines, back, out=lines)
    return result


def distances_across(lines: np.ndarray, cap: int, stride: int = 1) -> np.ndarray:
    """Distance of each cell's center to crossings of the skin with lines of centers, float32, in cells, shape (X, Y,
    Z).

    Parameters
    ----------
    lines : float32 array, shape (3, X, Y, Z)
        From `measure_lines`; of some cells only, if `stride` is more than 1.
    cap : int
        Largest distance, in cells of `lines`.
    stride : int
        Cells from one of `lines` to the next.
    """
    best = np.full(lines.shape[1:], np.float32(cap * stride) ** 2)
    for axis in range(3):
        squares = np.minimum(lines[axis], np.float32(cap * stride)) ** 2
        squares = spread_squares(squares, cap, stride, ((axis + 1) % 3, (axis + 2) % 3))
        np.minimum(best, squares, out=best)
    return np.sqrt(best)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]


def distances_within(mask: np.ndarray, cap: int) -> np.ndarray:
    """Distance of each cell's center to the nearest cell in `mask`, bool array, shape (X, Y, Z).

    Float32, in cells, at most `cap` (120).

    Notes
    -----
    Squared distances are sums over the axes, so that each axis takes the minimum over the results of those before.
    """
    return np.sqrt(spread_squares(np.where(mask, 0, cap * cap).astype(np.int16), cap), dtype=np.float32)


def spread_squares(squares: np.ndarray, cap: int, stride: int = 1, axes: tuple[int, ...] = (0, 1, 2)) -> np.ndarray:
    """Minimum over other cells of their value plus the squared distance to them, for each cell, shape (X, Y, Z).

    Parameters
    ----------
    squares : int16 or float32 array, shape (X, Y, Z)
    cap : int
        Largest distance along each axis, in cells.
    stride : int
        Distance between adjacent cells.
    axes : tuple of int
        Axes to search along.
    """
    result = squares.copy()
    for axis in axes:
        near = np.moveaxis(result, axis, 0)
        best = near.copy()
        for offset in range(1, min(cap, len(near) - 1) + 1):
            extra = near + squares.dtype.type((offset * stride) ** 2)
            np.minimum(best[:-offset], extra[offset:], out=best[:-offset])
            np.minimum(best[offset:], extra[:-offset], out=best[offset:])
        near[...] = best
    return result


def find_crossed(surface: Surface, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Whether each segment crosses a surface before its end: bool array, shape (N,).

    `starts` and `ends`, float arrays, shape (N, 3): in the space of the surface.

    Notes
    -----
    Moller & Trumbore 1997, for groups of segments that are close together and the triangles near them.
    """
    crossed = np.zeros(len(starts), bool)
    corners = surface.points[surface.triangles]
    lows, highs = corners.min(axis=1), corners.max(axis=1)
    for group in group_points(0.5 * (starts + ends)):
        both = np.concatenate([starts[group], ends[group]])
        near = ((lows <= both.max(axis=0)) & (highs >= both.min(axis=0))).all(axis=1)
        if near.any():
            crossed[group] = _cross_triangles(starts[group], ends[group] - starts[group], corners[near]).any(axis=1)
    return crossed


def _cross_triangles(starts: np.ndarray, rays: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Whether each segment crosses each triangle, shape (N, T)."""
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normals = np.cross(first, second)
    facing = -(rays @ normals.T)
    facing = np.where(np.abs(facing) < 1e-200, 1e-200, facing)  # 1e-300 lets quotients overflow
    offsets = starts[:, None] - corners[:, 0]
    along = np.einsum("nti,ti->nt", offsets, normals) / facing
    moments = np.cross(offsets, rays[:, None])
    u = np.einsum("nti,ti->nt", moments, second) / facing
    v = -np.einsum("nti,ti->nt", moments, first) / facing
    return (u >= 0) & (v >= 0) & (u + v <= 1) & (along > 0) & (along < 0.99)
