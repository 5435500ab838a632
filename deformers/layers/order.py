"""Which meshes of a character lie over which, and their order from the outermost to the innermost."""

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

HEIGHT = 1.8
"""Of the character that lengths are given for, in meters: they scale with the height."""

REACH = 0.06
"""Height above another mesh up to which a surface lies over it, at rest."""

OVER = 0.3
"""Share of its area that lies over another mesh, from which on a mesh is a layer."""

DEEP, MOST_DEEP = 0.01, 0.05
"""Depth below another mesh, and the share of area from which on what is so deep is plugged in and no layer."""

MOST_SAMPLES = 800
"""Triangles of a mesh that are looked at."""

INSIDE = 0.5
"""Winding number from which on a point is inside."""

Mesh = TypeVar("Mesh", bound=Hashable)


@dataclass(frozen=True)
class Shell:
    """The surface of a mesh at rest.

    Attributes
    ----------
    points : float array, shape (V, 3)
        In a space that all meshes of the character share.
    triangles : int array, shape (T, 3)
        Counter-clockwise seen from outside.
    """

    points: np.ndarray
    triangles: np.ndarray

    @classmethod
    def outward(cls, points: np.ndarray, triangles: np.ndarray) -> Shell:
        """Of points, shape (V, 3), and triangles, shape (T, 3), which are turned over where the mesh is inside out."""
        is_inside_out = len(triangles) > 0 and signed_volumes(points, triangles).sum() < 0.0
        return cls(points, triangles[:, ::-1] if is_inside_out else triangles)


@dataclass(frozen=True)
class Heights:
    """Where positions are, seen from a surface.

    Attributes
    ----------
    triangles : int array, shape (N,)
        With the nearest point of the surface.
    shares : float array, shape (N, 3)
        Barycentric coordinates of that.
    distances : float array, shape (N,)
    is_inner : bool array, shape (N,)
        Whether the nearest point is not on a rim of the surface: there, nobody knows which side is out.
    is_behind : bool array, shape (N,)
        Whether they are behind the nearest point.
    """

    triangles: np.ndarray
    shares: np.ndarray
    distances: np.ndarray
    is_inner: np.ndarray
    is_behind: np.ndarray


def measure_heights(
    positions: np.ndarray, points: np.ndarray, triangles: np.ndarray, find_nearest: FindNearest
) -> Heights:
    """See where positions, shape (N, 3), are from a surface of points, shape (V, 3), and triangles, shape (T, 3)."""
    owners, shares, distances = find_nearest(positions, points, triangles)
    corners = triangles[owners]
    offsets = positions - np.einsum("nc,nci->ni", shares, points[corners])
    normals = np.einsum("nc,nci->ni", shares, vertex_normals(points, triangles)[corners])
    is_inner = (shares * ~find_rim(triangles, len(points))[corners]).sum(axis=1) > 1e-3
    return Heights(owners, shares, distances, is_inner, np.einsum("ni,ni->n", offsets, normals) < 0.0)


def find_inside(positions: np.ndarray, seen: Heights, points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Which positions are inside a surface, bool array, shape (N,): behind it, and with a winding number of `INSIDE`.

    The sign alone is wrong beside rims and in folds; the winding number alone does not tell this surface's nearest skin
    from another limb that the position lies in. Parameters as of `measure_heights`, which has given `seen`.
    """
    is_inside = seen.is_behind.copy()
    is_inside[is_inside] = find_winding_numbers(positions[is_inside], points, triangles) >= INSIDE
    return is_inside


def find_layers(shells: Sequence[Shell], height: float, find_nearest: FindNearest) -> tuple[tuple[int, int], ...]:
    """Find which meshes lie over which, without a circle.

    Parameters
    ----------
    shells : sequence of Shell
        All meshes of a character.
    height : float
        Of the character, in the unit of the points.

    Returns
    -------
    tuple of (above, below)
        Indices, the surest first.
    """
    unit, found = height / HEIGHT, []
    bounds = [_find_bounds(shell) for shell in shells]
    for above, shell in enumerate(shells):
        for below, other in enumerate(shells):
            if above == below or not len(shell.triangles) or not len(other.triangles):
                continue
            gaps = np.maximum(bounds[above][0] - bounds[below][1], bounds[below][0] - bounds[above][1])
            if gaps.max() < REACH * unit and (share := measure_layer(shell, other, unit, find_nearest)) >= OVER:
                found.append((share, above, below))
    layers: list[tuple[int, int]] = []
    for _, above, below in sorted(found, reverse=True):
        if not _leads(layers, below, above):
            layers.append((above, below))
    return tuple(layers)


def measure_layer(above: Shell, below: Shell, unit: float, find_nearest: FindNearest) -> float:
    """The share of its area in which a mesh lies over another; 0 where it is plugged into it.

    Parameters
    ----------
    unit : float
        Length that stands for a meter on a character of `HEIGHT`.
    """
    triangles = above.triangles[:: -(-len(above.triangles) // MOST_SAMPLES)]
    middles = above.points[triangles].mean(axis=1)
    areas = np.linalg.norm(area_vectors(above.points, triangles), axis=1)
    seen = measure_heights(middles, below.points, below.triangles, find_nearest)
    total = max(float(areas.sum()), 1e-300)
    is_inside = find_inside(middles, seen, below.points, below.triangles)
    if areas[is_inside & (seen.distances > DEEP * unit)].sum() > MOST_DEEP * total:
        return 0.0
    return float(areas[~seen.is_behind & seen.is_inner & (seen.distances < REACH * unit)].sum() / total)


def sort_layers(layers: Iterable[tuple[Mesh, Mesh]]) -> tuple[Mesh, ...]:
    """All meshes of pairs (above, below), from the outermost to the innermost.

    Raises
    ------
    SkinningError
        Where meshes lie over one another in a circle.
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
    """Whether a mesh lies over another by pairs, directly or by others."""
    return above == below or any(_leads(layers, lower, below) for upper, lower in layers if upper == above)


def _find_bounds(shell: Shell) -> tuple[np.ndarray, np.ndarray]:
    used = shell.points[shell.triangles].reshape(-1, 3)
    return used.min(axis=0, initial=np.inf), used.max(axis=0, initial=-np.inf)
