"""Measures of posed skin. Pure functions, NumPy only.

Points are (V, 3) in any one unit, triangles (T, 3) vertex indices, edges (E, 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deformers.measures.stretch import edge_stretches, mesh_edges


@dataclass(frozen=True)
class Ring:
    """Which vertices are joined to which by an edge: two entries for each edge, ordered by `rows`."""

    rows: np.ndarray
    columns: np.ndarray
    counts: np.ndarray

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Mean of `values` (V, N) over each vertex's neighbors, 0 for a vertex that has none."""
        gathered = values[self.columns]
        sums = [np.bincount(self.rows, column, len(self.counts)) for column in gathered.T]
        return np.stack(sums, axis=1) / np.maximum(self.counts, 1)[:, None]

    def smooth(self, values: np.ndarray, steps: int) -> np.ndarray:
        """`values` (V, N) after each has moved half the way to its neighbors' mean, `steps` times."""
        for _ in range(steps):
            values = 0.5 * (values + self.mean(values))
        return values

    def within(self, seeds: np.ndarray, steps: int) -> np.ndarray:
        """Which vertices (V,) are at most `steps` edges away from one of `seeds` (V,), both bool."""
        reached = seeds.copy()
        for _ in range(steps):
            reached[self.rows[reached[self.columns]]] = True
        return reached


def find_ring(edges: np.ndarray, vertex_count: int) -> Ring:
    """The neighbors of each vertex."""
    both = np.concatenate([edges, edges[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    return Ring(both[:, 0], both[:, 1], np.bincount(both[:, 0], minlength=vertex_count))


def find_normals(points: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit normals of the triangles (T, 3), and of the vertices (V, 3), the triangles' means weighted by area."""
    corners = points[triangles]
    areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    shared = np.repeat(areas, 3, axis=0)
    sums = np.stack([np.bincount(triangles.ravel(), column, len(points)) for column in shared.T], axis=1)
    return _unit(areas), _unit(sums)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)


def find_creases(points: np.ndarray, triangles: np.ndarray, degrees: float = 30.0) -> np.ndarray:
    """Which vertices (V,), bool, are on a border or on an edge between normals that differ by more than `degrees`."""
    normals, _ = find_normals(points, triangles)
    sides = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    owners = np.tile(np.arange(len(triangles)), 3)
    order = np.lexsort((sides[:, 1], sides[:, 0]))
    sides, owners = sides[order], owners[order]
    twin = (sides[1:] == sides[:-1]).all(axis=1)
    cosines = np.einsum("ti,ti->t", normals[owners[1:]], normals[owners[:-1]])
    sharp = np.zeros(len(points), bool)
    sharp[sides[:-1][twin & (cosines < np.cos(np.radians(degrees)))]] = True
    paired = np.append(twin, False) | np.append(False, twin)
    sharp[sides[~paired]] = True
    return sharp


def measure_bumps(rest: np.ndarray, posed: np.ndarray, triangles: np.ndarray, steps: int = 8) -> float:
    """How bumpy a pose has made the skin: rms angle, in degrees, between its normal and that of its surroundings.

    The surroundings' normal is the vertex normals smoothed by `steps` steps over the mesh, a window of some
    sqrt(steps / 2) edges to each side. On a plane and on an evenly bent sheet the two agree;
    on a bump or in a crease narrower than the window they do not. Vertices whose window reaches a crease that the rest
    shape has, such as the edges of a box, are left out. What the rest shape itself shows is taken off the square.
    """
    ring = find_ring(mesh_edges(triangles), len(rest))
    counted = ~ring.within(find_creases(rest, triangles), steps + 1)

    def mean_square(points: np.ndarray) -> float:
        _, normals = find_normals(points, triangles)
        apart = np.linalg.norm(normals - _unit(ring.smooth(normals, steps)), axis=1)[counted]
        return float(np.mean(np.degrees(2.0 * np.arcsin(np.minimum(apart / 2.0, 1.0))) ** 2))

    return float(np.sqrt(max(0.0, mean_square(posed) - mean_square(rest))))


def find_detail(points: np.ndarray, triangles: np.ndarray, ring: Ring, steps: int) -> np.ndarray:
    """How each vertex stands off the smoothed skin, in that skin's own tangent frame: shape (V, 3).

    The frame's last axis is the normal of the smoothed skin, its first looks to the first neighbor: the result does not
    change if a part of the skin is turned or moved as a whole.
    """
    base = ring.smooth(points, steps)
    _, normals = find_normals(base, triangles)
    first = ring.columns[np.searchsorted(ring.rows, np.arange(len(points)))]
    along = base[first] - base
    along = _unit(along - np.einsum("vi,vi->v", along, normals)[:, None] * normals)
    frame = np.stack([along, np.cross(normals, along), normals], axis=1)
    return np.einsum("vij,vj->vi", frame, points - base)


def measure_detail_change(
    rest: np.ndarray, posed: np.ndarray, triangles: np.ndarray, chosen: np.ndarray, steps: int = 2
) -> tuple[float, float]:
    """By how much the fine shape of the skin changes, relative to its own size: rms over the `chosen` (V,) vertices.

    The fine shape is `find_detail`; its change between rest and pose is divided by its rms at rest. A pose that bends
    or shears the skin at large changes it too, a little: compare with another method in the same pose.

    Returns
    -------
    heights : float
        Along the normal alone: how high or deep wrinkles and pores are.
    vectors : float
        All three components: also how they are drawn out along the skin.
    """
    ring = find_ring(mesh_edges(triangles), len(rest))
    before, after = (find_detail(points, triangles, ring, steps)[chosen] for points in (rest, posed))
    change, size = np.sum((after - before) ** 2, axis=0), np.sum(before**2, axis=0)
    return float(np.sqrt(change[2] / size[2])), float(np.sqrt(change.sum() / size.sum()))


def measure_distortion(rest: np.ndarray, posed: np.ndarray, edges: np.ndarray) -> float:
    """Rms of the natural logarithm of the stretch of edges (E, 2): 0 if all keep their length, 0.1 at about 10 %."""
    stretches = edge_stretches(rest, posed, edges)
    return float(np.sqrt(np.mean(np.log(np.maximum(stretches, 1e-6)) ** 2))) if len(edges) else 0.0


def second_differences(before: np.ndarray, now: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Length of `before - 2 now + after` for each vertex (V,): 0 in even motion, large if the skin jumps."""
    return np.linalg.norm(before - 2.0 * now + after, axis=1)


def count_inverted(rest: np.ndarray, posed: np.ndarray, nearest: np.ndarray) -> int:
    """How many particles have been turned inside out against their neighbors.

    For each, the linear map that takes the vectors to its neighbors at rest nearest to those posed, by least squares,
    is inverted if its determinant is below 0. Particles whose neighbors lie in a plane, or nearly so, have none.

    Parameters
    ----------
    rest, posed : float arrays, shape (P, 3)
    nearest : int array, shape (P, K)
        Neighbors of each at rest.
    """
    before, after = (points[nearest] - points[:, None] for points in (rest, posed))
    moments = np.einsum("pki,pkj->pij", before, before)
    solid = np.linalg.eigvalsh(moments)
    solid = solid[:, 0] > 0.05 * solid[:, 2]
    maps = np.einsum("pki,pkj->pij", after[solid], before[solid]) @ np.linalg.inv(moments[solid])
    return int((np.linalg.det(maps) < 0.0).sum())
