"""Meshes that unit tests share: points, shape (V, 3), and triangles, shape (T, 3)."""

import numpy as np

from benchmarks.surfaces import revolve

Mesh = tuple[np.ndarray, np.ndarray]


def triangulate(index: np.ndarray) -> np.ndarray:
    """Two triangles of each square of a grid of vertices, shape (rows, columns)."""
    a, b, c, d = (part.ravel() for part in (index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]))
    return np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def make_sheet(x: np.ndarray, y: np.ndarray) -> Mesh:
    """A flat sheet in XY with a vertex at each pair of these coordinates, those of one x beside each other."""
    grid = np.meshgrid(x, y, indexing="ij")
    points = np.stack([*(part.ravel() for part in grid), np.zeros(grid[0].size)], axis=1).astype(float)
    return points, triangulate(np.arange(grid[0].size).reshape(grid[0].shape))


def close_rings(rings: int, sides: int) -> np.ndarray:
    """Triangles of rings of vertices about Z, counter-clockwise seen from outside where they rise."""
    index = np.arange(rings * sides).reshape(rings, sides)
    around = np.roll(index, -1, axis=1)
    quads = np.stack([index[:-1], around[:-1], around[1:], index[1:]], axis=-1).reshape(-1, 4)
    return np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])


def make_tube(radius: float, rings: int, sides: int = 12, length: float = 2.0) -> Mesh:
    """An open tube about Z from 0 to `length`, its triangles counter-clockwise seen from outside."""
    angles = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles), np.zeros(sides)], axis=1) * radius
    heights = np.linspace(0.0, length, rings)[:, None, None] * np.array([0.0, 0.0, 1.0])
    return (circle + heights).reshape(-1, 3), close_rings(rings, sides)


def make_sphere(rings: int = 24) -> Mesh:
    """A ball of radius 1."""
    bend = np.linspace(0, np.pi, rings + 1)
    radii = np.sin(bend)
    radii[[0, -1]] = 0.0
    return revolve(radii, -np.cos(bend), 2 * rings)


def join(*meshes: Mesh) -> Mesh:
    """Several meshes as one."""
    starts = np.cumsum([0, *(len(points) for points, _ in meshes)])
    triangles = [part + start for (_, part), start in zip(meshes, starts, strict=False)]
    return np.concatenate([points for points, _ in meshes]), np.concatenate(triangles)


OFFSETS = np.concatenate([np.eye(3, dtype=int), -np.eye(3, dtype=int)])


def link_cells(inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cells of a mask, (N, 3), and their neighbors, (N, 6)."""
    cells = np.argwhere(inside)
    index = np.full(np.array(inside.shape) + 2, len(cells))
    index[tuple((cells + 1).T)] = np.arange(len(cells))
    return cells, np.stack([index[tuple((cells + 1 + offset).T)] for offset in OFFSETS], axis=1)
