"""Fill a solid with particles: few large ones where it is thick, small ones where it is thin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..geometry.lattice import SPHERE_SPACE, hexagonal_packing
from ..geometry.neighbors import find_nearest, find_pairs, group_points
from ..geometry.solid import (
    Grid,
    Surface,
    area_vectors,
    distances_across,
    fill_grid,
    find_crossed,
    measure_lines,
    spread_squares,
)
from ..geometry.vectors import smooth_step, sum_by

# Largest radius of a particle, relative to the smallest
MAX_RATIO = 4.0

# The largest ball that fits into the solid around a particle has this many radii of the particle.
RADII_IN_BALL = 3.0

# Largest growth of the radius over a distance of 1
MAX_GROWTH = 0.5

# A ball covers points within so many of its radii. Edges and corners are not thin, though no large ball holds them.
# To find the limb that a point belongs to, a ball reaches farther: the limb of a cube's corner is the cube.
BALL_REACH, LIMB_REACH = 1.3, 1.8

# A ball that is smaller than wanted counts as farther away, by this for a difference of 1. So where the solid grows a
# little, balls appear in the middle first.
LACK = 20.0

# Distances to the skin are measured cell by cell up to the first depth, and up to the second on the fine grid.
SHALLOW_CELLS, DEEPEST_CELLS = 5, 16

# Skin farther from all particles than this, in radii, is bare.
BARE_DISTANCE = 2.2

# Particles nearer than this share of the sum of their radii are too near.
MIN_SPACING = 0.8

# The number of particles may differ from the wanted number by this share.
COUNT_TOLERANCE = 0.35


@dataclass(frozen=True)
class Fill:
    """Particles in a solid.

    Attributes
    ----------
    points : float64 array, shape (P, 3)
        Centers, in the space and unit of the surface.
    radii : float64 array, shape (P,)
    presence : float64 array, shape (P,)
        Weight of each, above 0 to 1. It is small if the solid hardly has room for the particle, so that it comes and
        goes unnoticed.
    volumes : float64 array, shape (P,)
        Volume of the solid that each represents.
    thickness : float64 array, shape (P,)
        Radius of the limb around each: of the largest ball that fits into it.
    limb_grid : Grid
        Cells twice as large as those of `grid`.
    limbs : float32 array, shape (X, Y, Z)
        Radius of the limb around the cells of `limb_grid`, and the cells next to them.
    """

    points: np.ndarray
    radii: np.ndarray
    presence: np.ndarray
    volumes: np.ndarray
    thickness: np.ndarray
    grid: Grid
    limb_grid: Grid
    limbs: np.ndarray
    smallest_radius: float

    def limbs_at(self, points: np.ndarray) -> np.ndarray:
        """Radius of the limb around points, shape (N, 3), on the skin or inside: shape (N,)."""
        return self.limb_grid.sample(self.limbs, points)

    def find_nearest(self, points: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Find the nearest particles of points, shape (N, 3), and their distances: (N, count), nearest first.

        Particles of little presence count as farther, so that they do not displace others.
        """
        near, away = find_nearest(points, self.points, count + 8)  # some may hardly count
        away = away / np.sqrt(self.presence[near])
        order = np.argsort(away, axis=1, kind="stable")[:, :count]
        return np.take_along_axis(near, order, axis=1), np.take_along_axis(away, order, axis=1)


def fill_solid(surface: Surface, smallest_radius: float, count: int) -> Fill:
    """Fill a surface with particles whose radii follow the local thickness.

    Parameters
    ----------
    surface : Surface
        With at least one triangle.
    smallest_radius : float
        In the surface's unit; 0 for about `count` particles.

    Notes
    -----
    Yamamoto & Tokoi choose between two radii by the distance to the surface, which saves few particles in a limb. Here
    the radius is a share of the largest ball that fits into the limb, at its skin as well as at its core.
    """
    coarse = _fill_coarsely(surface)
    if smallest_radius > 0:
        return _fill(surface, smallest_radius, *coarse)
    radius = _round_radius(surface, _find_smallest_radius(surface, *coarse, count))
    fill = _fill(surface, radius, *coarse)
    for _ in range(4):
        excess = len(fill.points) / count
        if abs(excess - 1.0) <= COUNT_TOLERANCE:
            break
        radius = _round_radius(surface, radius * excess**0.4)
        fill = _fill(surface, radius, *coarse)
    return fill


def _round_radius(surface: Surface, radius: float) -> float:
    """Round a radius to a geometric series, so that small moves of vertices do not change it."""
    steps = 8  # to a factor of 2
    size = float(np.ptp(surface.points[np.unique(surface.triangles)], axis=0).max()) or 1.0
    return size * float(2.0 ** (np.rint(steps * np.log2(radius / size)) / steps))


def _fill(surface: Surface, smallest_radius: float, coarse: Grid, coarse_depths: np.ndarray) -> Fill:
    """Fill a surface with particles of at least the smallest radius."""
    grid = fill_grid(surface, smallest_radius, fixed=True)
    depths = _find_depths(surface, grid)
    half, half_depths = _halve(grid, depths, np.mean)
    balls = _double(find_balls(half, half_depths, np.sqrt(2.0), BALL_REACH), grid.inside)
    radii = _grade(grid, np.clip(balls / RADII_IN_BALL, smallest_radius, MAX_RATIO * smallest_radius))
    points, sizes = _pack(grid, depths, radii, smallest_radius)
    presence = _fade(grid.sample(depths, points) / sizes / 0.25)
    points, sizes, presence = _cover(surface, points, sizes, presence, grid, radii, smallest_radius)
    order = np.concatenate(group_points(points))
    points, sizes, presence = points[order], sizes[order], presence[order]
    limbs = _find_limbs(half, _halve(grid, depths)[1], coarse, coarse_depths)
    thickness = np.maximum(half.sample(limbs, points), 0.5 * smallest_radius)
    return Fill(
        points, sizes, presence, _share_volume(grid, sizes, presence), thickness, grid, half, limbs, smallest_radius
    )


def _find_limbs(grid: Grid, depths: np.ndarray, coarse: Grid, coarse_depths: np.ndarray) -> np.ndarray:
    """Radius of the limb around each cell, from the coarse grid if it is too thick to be measured on the fine one."""
    limbs = _largest_near(find_balls(grid, depths, 2.0**0.25, LIMB_REACH))
    share = smooth_step(4.0 * limbs / (DEEPEST_CELLS * 0.5 * grid.step) - 2.0)
    deep = np.nonzero(share)
    coarse_limbs = _largest_near(find_balls(coarse, coarse_depths, 2.0**0.25, LIMB_REACH))
    found = share[deep] * coarse.sample(coarse_limbs, grid.centers(np.stack(deep, axis=1)))
    limbs[deep] = np.maximum(limbs[deep], found)
    return np.float32(2.0**0.125) * limbs  # the middle of the step that contains the radius


def _fill_coarsely(surface: Surface) -> tuple[Grid, np.ndarray]:
    """A grid of about 8000 cells in the surface, and the depth of each, without a limit."""
    loss = 0.3  # cells: on the fine grid, depths are means of 8 cells, and smaller in the middle of a limb
    volume = max(surface.volume, 1e-9 * float(np.prod(np.ptp(surface.points, axis=0)))) or 1.0
    grid = fill_grid(surface, _round_radius(surface, float(np.cbrt(volume / 8000))), fixed=True)
    depths = distances_across(measure_lines(surface, grid), min(120, min(grid.inside.shape) // 2 + 1))
    return grid, np.float32(grid.step) * (np.where(grid.inside, depths, -depths) - np.float32(loss))


def _find_depths(surface: Surface, grid: Grid) -> np.ndarray:
    """Distance of each cell's center to the skin, float32, below 0 outside, at most DEEPEST_CELLS cells.

    From SHALLOW_CELLS on, it is measured for every second cell and interpolated.
    """
    lines = measure_lines(surface, grid)
    depths = distances_across(lines, SHALLOW_CELLS)
    deep = distances_across(lines[:, ::2, ::2, ::2], DEEPEST_CELLS // 2, 2)
    for axis, size in enumerate(depths.shape):
        after = np.take(deep, np.minimum(np.arange(1, deep.shape[axis] + 1), deep.shape[axis] - 1), axis)
        deep = np.stack([deep, 0.5 * (deep + after)], axis=axis + 1)
        deep = deep.reshape(*deep.shape[:axis], -1, *deep.shape[axis + 2 :]).take(np.arange(size), axis)
    depths = np.where(depths < SHALLOW_CELLS, depths, np.maximum(deep, SHALLOW_CELLS))
    return np.float32(grid.step) * np.where(grid.inside, depths, -depths)


def _halve(grid: Grid, values: np.ndarray, choose: Callable = np.max) -> tuple[Grid, np.ndarray]:
    """A grid of cells twice as large, inside if any of its 8 parts is, and their values combined by `choose`."""
    shape = tuple(-(-size // 2) for size in grid.inside.shape)
    room = [(0, 2 * half - size) for half, size in zip(shape, grid.inside.shape, strict=True)]

    def fold(array: np.ndarray) -> np.ndarray:
        return np.pad(array, room).reshape(shape[0], 2, shape[1], 2, shape[2], 2)

    inside = np.asarray(fold(grid.inside).any(axis=(1, 3, 5)))
    return Grid(grid.low + 0.5 * grid.step, 2.0 * grid.step, inside), choose(fold(values), axis=(1, 3, 5))


def _double(values: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Expand values of the cells of `_halve` to their parts. Outside they are 0."""
    for axis in range(3):
        values = np.repeat(values, 2, axis=axis)
    return values[tuple(slice(size) for size in inside.shape)] * inside


def find_smallest_radius(surface: Surface, count: int) -> float:
    """Estimate the smallest radius for `count` particles, in the surface's unit."""
    return _find_smallest_radius(surface, *_fill_coarsely(surface), count)


def _find_smallest_radius(surface: Surface, grid: Grid, depths: np.ndarray, count: int) -> float:
    """Estimate the smallest radius on a coarse grid, by bisection.

    It is not so small that the skin of a plate alone would need far more particles.
    """
    area = float(np.linalg.norm(area_vectors(surface.points, surface.triangles), axis=1).sum())
    least = 0.15 * float(np.sqrt(area / count))
    balls = find_balls(grid, depths, np.sqrt(2.0), BALL_REACH)
    held = balls[grid.inside].astype(float)
    if not held.size:
        return max(grid.step, least)
    low, high = 0.01 * grid.step, 30.0 * grid.step
    for _ in range(40):
        radius = np.sqrt(low * high)
        radii = np.clip(held / RADII_IN_BALL, radius, MAX_RATIO * radius)
        needed = (grid.step**3 / (SPHERE_SPACE * radii**3)).sum()
        low, high = (radius, high) if needed > count else (low, radius)
    return max(float(np.sqrt(low * high)), least)


def find_balls(grid: Grid, depths: np.ndarray, ratio: float, room: float) -> np.ndarray:
    """Radius of the largest ball inside the solid that contains each cell (local thickness), float32, 0 outside.

    Parameters
    ----------
    depths : float32 array, shape (X, Y, Z)
        Distance of each cell to the nearest cell outside, in the grid's unit.
    ratio : float
        Ratio between successive radii of balls.
    room : float
        A ball covers points within so many of its radii.
    """
    balls = np.where(grid.inside, np.maximum(depths, 0.5 * grid.step), 0.0).astype(np.float32)
    reach = (depths / grid.step).astype(np.float32)
    level = 1.0
    while level <= reach.max(initial=0.0) + room * level / LACK:
        lacks = np.float32(LACK) * np.maximum(np.float32(level) - reach, 0.0)
        lacks = np.minimum(lacks, np.float32(room * level + 1.0))
        near = spread_squares(lacks**2, int(np.ceil(room * level))) <= (room * level) ** 2
        np.maximum(balls, np.where(near & grid.inside, np.float32(level * grid.step), 0.0), out=balls)
        level *= ratio
    return balls


def _grade(grid: Grid, radii: np.ndarray) -> np.ndarray:
    """Lower radii so that they grow by at most MAX_GROWTH. Outside of the solid they are the least nearby."""
    radii = np.where(grid.inside, radii, np.float32(radii.max())).astype(np.float32)
    for _ in range(DEEPEST_CELLS):
        before = radii.copy()
        for axis in range(3):
            near = np.moveaxis(radii, axis, 0)
            np.minimum(near[1:], near[:-1] + np.float32(MAX_GROWTH * grid.step), out=near[1:])
            np.minimum(near[:-1], near[1:] + np.float32(MAX_GROWTH * grid.step), out=near[:-1])
        if (before == radii).all():
            break
    return radii


def _largest_near(values: np.ndarray) -> np.ndarray:
    """Largest value of each cell and its 26 neighbors."""
    result = values
    for axis in range(3):
        near = np.moveaxis(result, axis, 0)
        grown = near.copy()
        np.maximum(grown[1:], near[:-1], out=grown[1:])
        np.maximum(grown[:-1], near[1:], out=grown[:-1])
        result = np.moveaxis(grown, 0, axis)
    return result


def _pack(grid: Grid, depths: np.ndarray, radii: np.ndarray, smallest: float) -> tuple[np.ndarray, np.ndarray]:
    """Fill regions of about one radius with close packings, the largest first: centers and radii."""
    steps = _find_steps(radii, smallest).astype(int)
    points, sizes = np.empty((0, 3)), np.empty(0)
    for step in range(int(steps.max(initial=0)), -1, -1):
        size = smallest * 2.0 ** (0.5 * step)
        where = np.argwhere(grid.inside & (steps == step))
        if not len(where):
            continue
        low = grid.centers(where.min(axis=0)) - 0.5 * grid.step
        high = grid.centers(where.max(axis=0)) + 0.5 * grid.step
        period = 2.0 * size * np.array([1.0, np.sqrt(3.0), np.sqrt(8.0 / 3.0)])
        new = hexagonal_packing(np.floor(low / period) * period, high, size)
        cells = grid.cells(new)
        new = new[(steps[cells] == step) & (depths[cells] > -2.0 * grid.step)]
        new = new[grid.sample(depths, new) >= 0.0]
        if len(points) and len(new):
            near, away = find_nearest(new, points, 4)
            new = new[(away >= MIN_SPACING * (size + sizes[near])).all(axis=1)]
        points, sizes = np.concatenate([points, new]), np.concatenate([sizes, np.full(len(new), size)])
    return points, sizes


def sample_skin(surface: Surface, spacing: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sample a surface: points, outward normals, and areas around them, shapes (N, 3), (N, 3), (N,).

    They are at most `spacing` apart, unless that needs too many points, as on needles.
    """
    max_samples = 20_000_000
    vectors = area_vectors(surface.points, surface.triangles)
    areas = np.linalg.norm(vectors, axis=1)
    normals = vectors / np.maximum(areas, 1e-300)[:, None]
    corners = surface.points[surface.triangles]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    while np.square(longest / spacing).sum() > max_samples:
        spacing *= 1.25
    cuts = np.maximum(1, np.ceil(longest / spacing)).astype(int)
    points, directions, sizes = [], [], []
    for cut in np.unique(cuts):
        own = cuts == cut
        first, second = np.meshgrid(np.arange(cut), np.arange(cut), indexing="ij")
        inner = first + second < cut
        share = np.stack([first[inner], second[inner]], axis=1) / cut + 1.0 / (3.0 * cut)
        shares = np.concatenate([1.0 - share.sum(axis=1, keepdims=True), share], axis=1)
        points.append(np.einsum("sc,tci->tsi", shares, corners[own]).reshape(-1, 3))
        directions.append(np.repeat(normals[own], len(shares), axis=0))
        sizes.append(np.repeat(areas[own] / len(shares), len(shares)))
    return np.concatenate(points), np.concatenate(directions), np.concatenate(sizes)


def _divide_skin(surface: Surface, side: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Divide the skin by cells of a side and by 6 directions: middles, normals, and points on it, shape (N, 3) each.

    Middles hardly depend on the triangles of the skin.
    """
    skin, normals, areas = sample_skin(surface, 0.5 * side)
    rows, axis = np.arange(len(skin)), np.abs(normals).argmax(axis=1)
    cells = np.floor(skin / side).astype(np.int64)
    cells = cells - cells.min(axis=0)
    keys = np.ravel_multi_index((*cells.T, axis), (*(cells.max(axis=0) + 1), 3)) * 2 + (normals[rows, axis] > 0)
    _, first, owner = np.unique(keys, return_index=True, return_inverse=True)
    owner, count = owner.ravel(), len(first)
    total = np.maximum(np.bincount(owner, areas, count), 1e-300)
    middles, mean = (sum_by(owner, areas[:, None] * values, count) / total[:, None] for values in (skin, normals))
    order = np.lexsort((np.linalg.norm(skin - middles[owner], axis=1), owner))
    nearest = order[np.searchsorted(owner[order], np.arange(count))]
    return middles, mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-300), skin[nearest]


def _cover(
    surface: Surface,
    points: np.ndarray,
    sizes: np.ndarray,
    presence: np.ndarray,
    grid: Grid,
    graded: np.ndarray,
    smallest: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add particles under bare skin. `graded` are the radii of the grid's cells."""
    skin, normals, touching = _divide_skin(surface, 1.5 * smallest)
    radii = smallest * 2.0 ** (0.5 * _find_steps(grid.sample(graded, skin - smallest * normals), smallest))
    away = np.full(len(skin), np.inf)
    for _ in range(8):
        if len(points):
            away = find_nearest(skin, points, 1)[1][:, 0]
            bare = away > BARE_DISTANCE * radii
            skin, normals, touching, radii, away = skin[bare], normals[bare], touching[bare], radii[bare], away[bare]
        if not len(skin):
            break
        depth = 0.5 * radii[:, None] * normals
        beyond = find_crossed(surface, touching - 1e-3 * depth, touching - depth)  # the solid is thinner
        new = np.where(beyond[:, None], skin, skin - depth)
        chosen = thin_out(new, radii, 2.0 * MIN_SPACING)
        points, sizes = np.concatenate([points, new[chosen]]), np.concatenate([sizes, radii[chosen]])
        presence = np.concatenate([presence, _fade((away[chosen] / radii[chosen] - BARE_DISTANCE) / 0.3)])
    return points, sizes, presence


def _find_steps(radii: np.ndarray, smallest: float) -> np.ndarray:
    """Steps by the square root of 2 from the smallest radius to radii, whole numbers as floats."""
    return np.maximum(np.rint(2.0 * np.log2(radii / smallest)), 0.0)


def thin_out(points: np.ndarray, radii: np.ndarray, factor: float) -> np.ndarray:
    """Choose points, shape (N, 3), that are not near one another, and as many as possible: their indices, shape (n,).

    Points are near if their distance is below `factor` times the smaller of their radii, shape (N,).
    """
    cells = np.floor(points / (factor * radii[:, None]))  # first one point of each cell of its own size
    key = np.concatenate([cells, radii[:, None]], axis=1)
    _, first = np.unique(key, axis=0, return_index=True)
    first = np.sort(first)
    pairs = find_pairs(points[first], radii[first], 0.5 * factor)
    alive, taken = np.ones(len(first), bool), np.zeros(len(first), bool)
    while True:
        open_pairs = pairs[alive[pairs].all(axis=1)]
        blocked = np.zeros(len(first), bool)
        blocked[open_pairs[:, 1]] = True
        new = alive & ~blocked & ~taken
        if not new.any():
            return first[taken]
        taken |= new
        alive[pairs[new[pairs[:, 0]], 1]] = False
        alive[pairs[new[pairs[:, 1]], 0]] &= taken[pairs[new[pairs[:, 1]], 0]]


def _fade(values: np.ndarray) -> np.ndarray:
    """Presence of particles by their margins, 1 for margins from 1 on."""
    return np.maximum(smooth_step(values), 0.02)


def _share_volume(grid: Grid, sizes: np.ndarray, presence: np.ndarray) -> np.ndarray:
    """Divide the volume of the solid among the particles, by their volumes in a close packing."""
    shares = presence * sizes**3
    return shares * (max(grid.inside.sum(), 1) * grid.step**3 / shares.sum())
