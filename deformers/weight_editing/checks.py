"""What is wrong with skin weights: found, counted and told in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from ..geometry.mesh_laplacian import drop_degenerate, find_edges
from ..geometry.solid import find_islands, weld

ODD = 1e-3
"""How far a vertex's sum of weights may be from 1, and copies of a vertex from each other."""

SEEN = 0.05
"""Weight from which a vertex belongs to a bone's region: less hardly moves what is seen."""

STRAY = 0.1
"""Share of a bone's weight on a part below which a region of its own is a stray patch."""

CONSIDERABLE = 0.2
"""Weight that may be too far from its bone."""

TIMES_FARTHER = 4.0
"""How many times as far as the nearest bone a bone has to be, ..."""

FARTHER = 0.1
"""... and by how much farther, as a share of the mesh's diagonal, for its weight to be a mistake."""

BLOCK = 8192
"""Vertices whose distances from all bones are in memory at a time."""


@dataclass(frozen=True)
class Findings:
    """What was found, as vertices of V and bones of B.

    Attributes
    ----------
    influences : int array, shape (V,)
        Bones with weight.
    sums : float64 array, shape (V,)
    unweighted : bool array, shape (V,)
    crowded : bool array, shape (V,)
        More influences than the limit.
    unnormalized : bool array, shape (V,)
        Weighted, but the sum is not 1.
    torn : bool array, shape (V,)
        Another vertex at the same place has other weights: a pose opens the seam.
    stray, far : int arrays, shape (N, 2)
        (vertex, bone), ascending: weights in small patches apart from the bone's region on the same part of the mesh,
        and weights of bones that are much farther away than others.
    limit : int
        The one of influences; 0 for none.
    """

    influences: np.ndarray
    sums: np.ndarray
    unweighted: np.ndarray
    crowded: np.ndarray
    unnormalized: np.ndarray
    torn: np.ndarray
    stray: np.ndarray
    far: np.ndarray
    limit: int

    @property
    def wrong(self) -> np.ndarray:
        """Vertices with anything that was found: bool array, shape (V,)."""
        result = self.unweighted | self.crowded | self.unnormalized | self.torn
        result[self.stray[:, 0]] = True
        result[self.far[:, 0]] = True
        return result


def check_weights(
    points: np.ndarray,
    triangles: np.ndarray,
    weights: np.ndarray,
    heads: np.ndarray,
    tails: np.ndarray,
    limit: int = 4,
) -> Findings:
    """Look for what a rigger would call a mistake.

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest, armature space.
    triangles : int array, shape (T, 3)
    weights : float array, shape (V, B)
        As they are: not normalized.
    heads, tails : float arrays, shape (B, 3)
        Armature space.
    limit : int
        Influences that a vertex may have; 0 for any number.

    Raises
    ------
    SkinningError
        Where coordinates are not finite.
    """
    if wrong := int((~np.isfinite(points)).any(axis=1).sum()):
        raise SkinningError(f"{wrong} vertices have no finite place: repair or delete them")
    points = np.asarray(points, np.float64)
    place = weld(points) if len(points) else np.empty(0, np.intp)
    vertices, bones = np.nonzero(weights > 0)
    values = weights[vertices, bones]
    influences = np.bincount(vertices, minlength=len(points))
    sums = np.bincount(vertices, values, minlength=len(points))
    unweighted = influences == 0
    torn = _find_torn(weights, place)
    seen = values >= SEEN
    strays = _find_strays(vertices[seen], bones[seen], values[seen], place, triangles)
    far = values >= CONSIDERABLE
    far[far] = _are_far(vertices[far], bones[far], points, heads, tails, np.unique(bones))
    return Findings(
        influences=influences,
        sums=sums,
        unweighted=unweighted,
        crowded=influences > limit if limit else np.zeros(len(points), bool),
        unnormalized=~unweighted & (np.abs(sums - 1.0) > ODD),
        torn=torn,
        stray=np.stack([vertices[seen][strays], bones[seen][strays]], axis=1),
        far=np.stack([vertices[far], bones[far]], axis=1),
        limit=limit,
    )


def _find_torn(weights: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Vertices at whose place another has other weights, shape (V,)."""
    copies = np.flatnonzero(place != np.arange(len(place)))
    differ = copies[(np.abs(weights[copies] - weights[place[copies]]) > ODD).any(axis=1)]
    torn = np.zeros(len(place), bool)
    torn[place[differ]] = True
    return torn[place]


def _find_strays(
    vertices: np.ndarray, bones: np.ndarray, values: np.ndarray, place: np.ndarray, triangles: np.ndarray
) -> np.ndarray:
    """Which weights, shape (N,), are in small patches: bool array, shape (N,).

    Regions are those of (vertex, bone) that edges connect; on each part of the mesh a bone has a main one.
    """
    if not len(vertices):
        return np.zeros(0, bool)
    count, bone_count = len(place), int(bones.max()) + 1
    edges = find_edges(drop_degenerate(place[triangles]))[0]
    keys, entry = np.unique(place[vertices] * bone_count + bones, return_inverse=True)
    entry = entry.ravel()
    regions = find_islands(_pair_entries(keys, edges, bone_count, count), len(keys))
    parts = find_islands(edges, count)[keys // bone_count]
    owners = np.unique(parts * bone_count + keys % bone_count, return_inverse=True)[1].ravel()
    sizes = np.bincount(regions[entry], values)
    largest = np.zeros(owners.max() + 1)
    np.maximum.at(largest, owners, sizes[regions])
    return (sizes[regions] < STRAY * largest[owners])[entry]


def _pair_entries(keys: np.ndarray, edges: np.ndarray, bone_count: int, count: int) -> np.ndarray:
    """Entries (place, bone) of one bone that an edge connects, as indices into ascending keys: shape (E, 2)."""
    starts = np.searchsorted(keys // bone_count, np.arange(count + 1))
    own = np.diff(starts)[edges[:, 0]]
    rank = np.arange(int(own.sum())) - np.repeat(np.cumsum(own) - own, own)
    first = np.repeat(starts[edges[:, 0]], own) + rank
    wanted = np.repeat(edges[:, 1], own) * bone_count + keys[first] % bone_count
    second = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.stack([first, second], axis=1)[keys[second] == wanted]


def _are_far(
    vertices: np.ndarray, bones: np.ndarray, points: np.ndarray, heads: np.ndarray, tails: np.ndarray, used: np.ndarray
) -> np.ndarray:
    """Which vertices, ascending, are much farther from bones, shape (N,) each, than from their nearest used one."""
    result = np.zeros(len(vertices), bool)
    size = float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0
    column = np.zeros(len(heads), np.intp)
    column[used] = np.arange(len(used))
    for start in range(0, len(points), BLOCK):
        rows = slice(*np.searchsorted(vertices, [start, start + BLOCK]))
        distances = _measure(points[start : start + BLOCK], heads[used], tails[used])
        nearest = distances.min(axis=1, initial=np.inf)[vertices[rows] - start]
        own = distances[vertices[rows] - start, column[bones[rows]]]
        result[rows] = (own > TIMES_FARTHER * nearest) & (own > nearest + FARTHER * size)
    return result


def _measure(points: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Distances from points, shape (V, 3), to bones, shape (B, 3) each: shape (V, B)."""
    axes = tails - heads
    squares = np.maximum(np.einsum("bi,bi->b", axes, axes), 1e-300)
    along = np.clip((points @ axes.T - np.einsum("bi,bi->b", heads, axes)) / squares, 0.0, 1.0)
    total = np.zeros_like(along)
    for axis in range(3):
        gap = points[:, axis, None] - heads[:, axis] - along * axes[:, axis]
        total += gap * gap
    return np.sqrt(total)


def describe(findings: Findings, names: Sequence[str]) -> list[str]:
    """Say in sentences what was found, the general first; "No mistakes found" where there is nothing."""
    whole = (
        (findings.unweighted, "no weight: no bone moves them"),
        (findings.crowded, f"more than {findings.limit} influences"),
        (findings.unnormalized, "weights that do not sum to 1"),
        (findings.torn, "other weights than their copies at the same place: the seam opens in a pose"),
    )
    lines = [f"{_count(int(found.sum()))} {what}" for found, what in whole if found.any()]
    for pairs, what in (
        (findings.stray, "in a patch apart from the rest of the bone's region"),
        (findings.far, "far from the bone"),
    ):
        counts = np.bincount(pairs[:, 1], minlength=len(names))
        lines += [
            f"{names[bone]}: {counts[bone]} {'vertex' if counts[bone] == 1 else 'vertices'} {what}"
            for bone in np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        ]
    return lines or ["No mistakes found"]


def _count(number: int) -> str:
    return "1 vertex has" if number == 1 else f"{number} vertices have"
