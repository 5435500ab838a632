"""Plain surfaces to measure on: boxes, bodies of revolution, heads. Pure functions, NumPy only.

All return points (V, 3) and triangles (T, 3), counter-clockwise seen from outside.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.skin_measures import find_normals
from demo.topology import triangulate

SEED = 7


def make_box(size: tuple[float, float, float], step: float) -> tuple[np.ndarray, np.ndarray]:
    """A box around the origin, its faces cut into squares of about `step`."""
    counts = np.maximum(1, np.round(np.array(size) / step)).astype(int)
    corners, quads = [], []
    for axis in range(3):
        first, second = (axis + 1) % 3, (axis + 2) % 3
        for side in (0, 1):
            grid = np.zeros((counts[first] + 1, counts[second] + 1, 3), int)
            grid[..., axis] = side * counts[axis]
            grid[..., first] = np.arange(counts[first] + 1)[:, None]
            grid[..., second] = np.arange(counts[second] + 1)
            index = np.arange(grid.size // 3).reshape(grid.shape[:2]) + sum(len(part) for part in corners)
            square = np.stack([index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]], axis=-1).reshape(-1, 4)
            quads.append(square if side else square[:, ::-1])
            corners.append(grid.reshape(-1, 3))
    lattice, places = np.unique(np.concatenate(corners), axis=0, return_inverse=True)
    points = (lattice / counts - 0.5) * np.array(size)
    return points, triangulate(places.reshape(-1)[np.concatenate(quads)])


def join_rings(rings: int, sides: int) -> np.ndarray:
    """Quads (F, 4) of a tube of vertices in rings, one after the other."""
    index = np.arange(rings * sides).reshape(rings, sides)
    around = np.roll(index, -1, axis=1)
    return np.stack([index[:-1], around[:-1], around[1:], index[1:]], axis=-1).reshape(-1, 4)


def revolve(radii: np.ndarray, heights: np.ndarray, sides: int) -> tuple[np.ndarray, np.ndarray]:
    """A body of revolution about z, closed at both ends by a pole.

    Parameters
    ----------
    radii, heights : float arrays, shape (N,)
        The profile from the lower to the upper end; its first and last radius are 0.
    """
    rings = len(radii) - 2
    angles = np.arange(sides) * 2.0 * np.pi / sides
    circle = np.stack([np.cos(angles), np.sin(angles), np.zeros(sides)], axis=1)
    points = radii[1:-1, None, None] * circle
    points[..., 2] = heights[1:-1, None]
    first, last = np.arange(sides), (rings - 1) * sides + np.arange(sides)
    low, high = rings * sides, rings * sides + 1
    caps = [np.stack([np.full(sides, low), np.roll(first, -1), first], axis=1)]
    caps.append(np.stack([np.full(sides, high), last, np.roll(last, -1)], axis=1))
    ends = np.array([[0.0, 0.0, heights[0]], [0.0, 0.0, heights[-1]]])
    return np.concatenate([points.reshape(-1, 3), ends]), np.concatenate([triangulate(join_rings(rings, sides)), *caps])


def make_capsule(length: float, radius: float, step: float) -> tuple[np.ndarray, np.ndarray]:
    """A capsule along z from the origin: a cylinder of `length` with half a ball at both ends."""
    bend = np.linspace(0.0, np.pi / 2.0, max(4, round(np.pi / 2.0 * radius / step)) + 1)
    along = np.linspace(0.0, length, max(2, round(length / step)) + 1)[1:-1]
    radii = np.concatenate([radius * np.sin(bend), np.full(len(along), radius), radius * np.cos(bend)])
    heights = np.concatenate([-radius * np.cos(bend), along, length + radius * np.sin(bend)])
    radii[[0, -1]] = 0.0
    return revolve(radii, heights, max(8, round(2.0 * np.pi * radius / step)))


def make_head(step: float = 0.0042) -> tuple[np.ndarray, np.ndarray]:
    """A head of 0.24 m on a neck of 0.14 m, along z from the origin, with a nose and fine wrinkles and pores.

    The profile is cut at equal lengths; the detail is a sum of waves in space, 16 to 34 mm long and some 1 mm high.
    """
    knots = np.array([
        [0.0, 0.0], [0.062, 0.0], [0.060, 0.05], [0.058, 0.1], [0.066, 0.135], [0.088, 0.17], [0.1, 0.22],
        [0.1, 0.27], [0.088, 0.315], [0.062, 0.35], [0.03, 0.371], [0.0, 0.377],
    ])  # fmt: skip
    for _ in range(3):  # cut corners (Chaikin), the ends stay
        inner = np.stack([0.75 * knots[:-1] + 0.25 * knots[1:], 0.25 * knots[:-1] + 0.75 * knots[1:]], axis=1)
        knots = np.concatenate([knots[:1], inner.reshape(-1, 2)[1:-1], knots[-1:]])
    lengths = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(knots, axis=0), axis=1)))
    at = np.linspace(0.0, lengths[-1], round(lengths[-1] / step) + 1)
    radii, heights = (np.interp(at, lengths, column) for column in knots.T)
    points, triangles = revolve(radii, heights, round(2.0 * np.pi * 0.085 / step))
    nose = np.exp(-np.sum(((points - [0.0, -0.1, 0.22]) / [0.018, 0.03, 0.028]) ** 2, axis=1))
    fine = _waves(points) * np.clip((heights.max() - points[:, 2]) / 0.03, 0.0, 1.0)  # the rings crowd at the pole
    fine *= np.clip(points[:, 2] / 0.02, 0.0, 1.0)
    _, normals = find_normals(points, triangles)
    return points + (0.028 * nose + 0.0011 * fine)[:, None] * normals, triangles


def _waves(points: np.ndarray, count: int = 24) -> np.ndarray:
    """Sum of waves of random directions, its rms 1: shape (V,)."""
    random = np.random.default_rng(SEED)
    directions = random.normal(size=(count, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    numbers = 2.0 * np.pi / random.uniform(0.016, 0.034, count)
    phases = random.uniform(0.0, 2.0 * np.pi, count)
    return np.sin(points @ (directions * numbers[:, None]).T + phases).sum(axis=1) / np.sqrt(count / 2.0)


def read_obj(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Points and triangles of a Wavefront file; larger faces are cut into fans."""
    points, triangles = [], []
    for line in path.read_text().splitlines():
        kind, *rest = line.split() or [""]
        if kind == "v":
            points.append([float(value) for value in rest[:3]])
        elif kind == "f":
            corners = [int(corner.partition("/")[0]) - 1 for corner in rest]
            triangles.extend((corners[0], *pair) for pair in pairwise(corners[1:]))
    return np.array(points), np.array(triangles)
