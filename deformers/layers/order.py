"""Find which meshes of a character lie over which, and their order from the outermost to the innermost."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

import numpy as np

from ..errors import SkinningError
from ..geometry.neighbors import FindNearest
from ..geometry.solid import area_vectors, find_rim, signed_volumes, vertex_normals
from ..geometry.winding_numbers import find_winding_numbers

# Height of the character, in meters, that lengths are given for. They scale with the height.
REFERENCE_HEIGHT = 1.8

# A surface lies over another up to this height at rest, in meters.
MAX_HEIGHT = 0.06

# A point is inside a surface with at least this winding number.
MIN_WINDING = 0.5

Mesh = TypeVar("Mesh", bound=Hashable)


@dataclass(frozen=True)
class Shell:
    """The surface of a mesh at rest.

    Attributes
    ----------
    points : float array, shape (V, 3)
        In a space common to all meshes of the character.
    triangles : int array, shape (T, 3)
        Counter-clockwise seen from outside.
    """

    points: np.ndarray
    triangles: np.ndarray

    @classmethod
    def outward(cls, points: np.ndarray, triangles: np.ndarray) -> Shell:
        """Make a shell of points (V, 3) and triangles (T, 3), which are flipped if the mesh is inside out."""
        is_inside_out = len(triangles) > 0 and signed_volumes(points, triangles).sum() < 0.0
        return cls(points, triangles[:, ::-1] if is_inside_out else triangles)


@dataclass(frozen=True)
class Heights:
    """Positions relative to a surface.

    Attributes
    ----------
    triangles, shares : int and float arrays, shapes (N,) and (N, 3)
        Triangle and barycentric coordinates of the nearest point.
    distances : float array, shape (N,)
    is_inner : bool array, shape (N,)
        Whether the nearest point is not on a rim of the surface. At a rim, neither side is outside.
    is_behind : bool array, shape (N,)
        Whether positions are behind the nearest point.
    """

    triangles: np.ndarray
    shares: np.ndarray
    distances: np.ndarray
    is_inner: np.ndarray
    is_behind: np.ndarray


def measure_heights(
    positions: np.ndarray, points: np.ndarray, triangles: np.ndarray, find_nearest: FindNearest
) -> Heights:
    """Measure positions, (N, 3), relative to a surface of points, (V, 3), and triangles, (T, 3)."""
    owners, shares, distances = find_nearest(positions, points, triangles)
    corners = triangles[owners]
    offsets = positions - np.einsum("nc,nci->ni", shares, points[corners])
    normals = np.einsum("nc,nci->ni", shares, vertex_normals(points, triangles)[corners])
    is_inner = (shares * ~find_rim(triangles, len(points))[corners]).sum(axis=1) > 1e-3
    return Heights(owners, shares, distances, is_inner, np.einsum("ni,ni->n", offsets, normals) < 0.0)


def find_inside(positions: np.ndarray, seen: Heights, points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Find which positions are inside a surface, bool, shape (N,): behind it, and with a large winding number.

    The side alone is wrong near rims and in folds. The winding number alone does not tell this surface's nearest skin
    from another limb that contains the position. `seen` is the result of `measure_heights`.
    """
    is_inside = seen.is_behind.copy()
    is_inside[is_inside] = find_winding_numbers(positions[is_inside], points, triangles) >= MIN_WINDING
    return is_inside


def find_layers(shells: Sequence[Shell], height: float, find_nearest: FindNearest) -> tuple[tuple[int, int], ...]:
    """Find which meshes lie over which, without cycles: pairs of indices (above, below), the surest first.

    `height` is that of the character, in the unit of the points.
    """
    min_share = 0.3  # of the area of a layer that lies over the other mesh
    unit, found = height / REFERENCE_HEIGHT, []
    bounds = [_find_bounds(shell) for shell in shells]
    for above, shell in enumerate(shells):
        for below, other in enumerate(shells):
            if above == below or not len(shell.triangles) or not len(other.triangles):
                continue
            gaps = np.maximum(bounds[above][0] - bounds[below][1], bounds[below][0] - bounds[above][1])
            if (
                gaps.max() < MAX_HEIGHT * unit
                and (share := measure_layer(shell, other, unit, find_nearest)) >= min_share
            ):
                found.append((share, above, below))
    layers: list[tuple[int, int]] = []
    for _, above, below in sorted(found, reverse=True):
        if not _leads(layers, below, above):
            layers.append((above, below))
    return tuple(layers)


def measure_layer(above: Shell, below: Shell, unit: float, find_nearest: FindNearest) -> float:
    """Share of its area in which a mesh lies over another, or 0 if it is plugged into it.

    `unit` is the length of a meter on a character of `REFERENCE_HEIGHT`.
    """
    min_depth, max_plugged, samples = 0.01 * unit, 0.05, 800
    triangles = above.triangles[:: -(-len(above.triangles) // samples)]
    middles = above.points[triangles].mean(axis=1)
    areas = np.linalg.norm(area_vectors(above.points, triangles), axis=1)
    seen = measure_heights(middles, below.points, below.triangles, find_nearest)
    total = max(float(areas.sum()), 1e-300)
    is_inside = find_inside(middles, seen, below.points, below.triangles)
    if areas[is_inside & (seen.distances > min_depth)].sum() > max_plugged * total:
        return 0.0
    return float(areas[~seen.is_behind & seen.is_inner & (seen.distances < MAX_HEIGHT * unit)].sum() / total)


def sort_layers(layers: Iterable[tuple[Mesh, Mesh]]) -> tuple[Mesh, ...]:
    """Sort all meshes of pairs (above, below) from the outermost to the innermost.

    Raises SkinningError if meshes lie over one another in a circle.
    """
    sorter: TopologicalSorter[Mesh] = TopologicalSorter()
    for above, below in layers:
        sorter.add(below, above)
    try:
        return tuple(sorter.static_order())
    except CycleError as error:
        names = ", ".join(f"'{name}'" for name in dict.fromkeys(error.args[1]))
        raise SkinningError(f"These layers lie over each other in a circle: {names}. Remove one of them") from error


def _leads(layers: Iterable[tuple[int, int]], above: int, below: int) -> bool:
    """Whether pairs lead from a mesh to another below it."""
    return above == below or any(_leads(layers, lower, below) for upper, lower in layers if upper == above)


def _find_bounds(shell: Shell) -> tuple[np.ndarray, np.ndarray]:
    used = shell.points[shell.triangles].reshape(-1, 3)
    return used.min(axis=0, initial=np.inf), used.max(axis=0, initial=-np.inf)
