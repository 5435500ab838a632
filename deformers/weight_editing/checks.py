"""Mistakes in skin weights: found, counted and described."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from ..geometry.mesh_laplacian import drop_degenerate, find_edges
from ..geometry.solid import find_islands, weld
from ..geometry.vectors import list_ranges

# Of a vertex's sum of weights from 1, and of weights of vertices at one position from each other
MAX_WEIGHT_ERROR = 1e-3

# Vertices whose distances from all bones are in memory at a time
BLOCK = 8192


@dataclass(frozen=True)
class Findings:
    """The mistakes in the weights of V vertices for B bones.

    Attributes
    ----------
    influences : int array, shape (V,)
        Number of bones with weight.
    sums : float64 array, shape (V,)
    unweighted : bool array, shape (V,)
    crowded : bool array, shape (V,)
        More influences than the limit.
    unnormalized : bool array, shape (V,)
        Weighted, but the sum is not 1.
    torn : bool array, shape (V,)
        Another vertex at the position has different weights: a pose opens the seam.
    stray, far : int arrays, shape (N, 2)
        (vertex, bone), ascending: weights in small patches separate from the bone's main region on that part of the
        mesh, and weights of bones that are much farther away than others.
    limit : int
        Of influences; 0 for none.
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
        """Vertices with any mistake: bool array, shape (V,)."""
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
    """Find mistakes in weights.

    Raises SkinningError if coordinates are not finite.

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest, armature space.
    triangles : int array, shape (T, 3)
    weights : float array, shape (V, B)
        Not normalized.
    heads, tails : float arrays, shape (B, 3)
        Armature space.
    limit : int
        Maximum number of influences of a vertex; 0 for any number.
    """
    check_finite(points)
    points = np.asarray(points, np.float64)
    welded = weld(points) if len(points) else np.empty(0, np.intp)
    vertices, bones = np.nonzero(weights > 0)
    values = weights[vertices, bones]
    influences = np.bincount(vertices, minlength=len(points))
    sums = np.bincount(vertices, values, minlength=len(points))
    unweighted = influences == 0
    torn = _find_torn(weights, welded)
    min_region_weight = 0.05  # A vertex with this weight belongs to a bone's region: less hardly moves it.
    counts = values >= min_region_weight
    strays = _find_strays(vertices[counts], bones[counts], values[counts], welded, triangles)
    min_far_weight = 0.2  # A vertex with this weight may be too far from the bone.
    far = values >= min_far_weight
    far[far] = _are_far(vertices[far], bones[far], points, heads, tails, np.unique(bones))
    return Findings(
        influences=influences,
        sums=sums,
        unweighted=unweighted,
        crowded=influences > limit if limit else np.zeros(len(points), bool),
        unnormalized=~unweighted & (np.abs(sums - 1.0) > MAX_WEIGHT_ERROR),
        torn=torn,
        stray=np.stack([vertices[counts][strays], bones[counts][strays]], axis=1),
        far=np.stack([vertices[far], bones[far]], axis=1),
        limit=limit,
    )


def check_finite(points: np.ndarray, mesh: str = "") -> None:
    """Raise an error if points are not finite.

    Parameters
    ----------
    points : float array, shape (V, 3)
    mesh : str
        Which mesh it is, for the message.

    Raises
    ------
    SkinningError
        With the number of vertices.
    """
    if wrong := int((~np.isfinite(points)).any(axis=1).sum()):
        of_mesh = f" of the {mesh}" if mesh else ""
        raise SkinningError(
            f"{wrong} vertices{of_mesh} have NaN or infinite coordinates: delete them or fix the source mesh"
        )


def _find_torn(weights: np.ndarray, welded: np.ndarray) -> np.ndarray:
    """Whether another vertex at the position of each has different weights: bool array, shape (V,)."""
    copies = np.flatnonzero(welded != np.arange(len(welded)))
    differ = copies[(np.abs(weights[copies] - weights[welded[copies]]) > MAX_WEIGHT_ERROR).any(axis=1)]
    torn = np.zeros(len(welded), bool)
    torn[welded[differ]] = True
    return torn[welded]


def _find_strays(
    vertices: np.ndarray, bones: np.ndarray, values: np.ndarray, welded: np.ndarray, triangles: np.ndarray
) -> np.ndarray:
    """Whether weights, shape (N,), are in small patches: bool array, shape (N,).

    A region is the entries (vertex, bone) of one bone that edges connect; the largest on each part is the main region.
    """
    if not len(vertices):
        return np.zeros(0, bool)
    count, bone_count = len(welded), int(bones.max()) + 1
    edges = find_edges(drop_degenerate(welded[triangles]))[0]
    keys, entry = np.unique(welded[vertices] * bone_count + bones, return_inverse=True)
    entry = entry.ravel()
    regions = find_islands(_pair_entries(keys, edges, bone_count, count), len(keys))
    parts = find_islands(edges, count)[keys // bone_count]
    owners = np.unique(parts * bone_count + keys % bone_count, return_inverse=True)[1].ravel()
    sizes = np.bincount(regions[entry], values)
    largest = np.zeros(owners.max() + 1)
    np.maximum.at(largest, owners, sizes[regions])
    min_region_share = 0.1  # A separate smaller region, relative to the bone's largest on the part, is a stray patch.
    return (sizes[regions] < min_region_share * largest[owners])[entry]


def _pair_entries(keys: np.ndarray, edges: np.ndarray, bone_count: int, count: int) -> np.ndarray:
    """Entries (vertex, bone) of one bone that an edge connects, as indices into ascending keys: shape (E, 2)."""
    starts = np.searchsorted(keys // bone_count, np.arange(count + 1))
    own = np.diff(starts)[edges[:, 0]]
    rows, first = list_ranges(starts[edges[:, 0]], own)
    wanted = edges[rows, 1] * bone_count + keys[first] % bone_count
    second = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.stack([first, second], axis=1)[keys[second] == wanted]


def _are_far(
    vertices: np.ndarray, bones: np.ndarray, points: np.ndarray, heads: np.ndarray, tails: np.ndarray, used: np.ndarray
) -> np.ndarray:
    """Whether vertices, ascending, are much farther from bones, shape (N,) each, than from the nearest used bone."""
    result = np.zeros(len(vertices), bool)
    size = float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0
    column = np.zeros(len(heads), np.intp)
    column[used] = np.arange(len(used))
    # A bone is too far if it is this many times as far as the nearest bone, and farther by this share of the
    # diagonal.
    min_far_ratio = 4.0
    min_far_gap = 0.1
    for start in range(0, len(points), BLOCK):
        rows = slice(*np.searchsorted(vertices, [start, start + BLOCK]))
        distances = _measure(points[start : start + BLOCK], heads[used], tails[used])
        nearest = distances.min(axis=1, initial=np.inf)[vertices[rows] - start]
        own = distances[vertices[rows] - start, column[bones[rows]]]
        result[rows] = (own > min_far_ratio * nearest) & (own > nearest + min_far_gap * size)
    return result


def _measure(points: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Distances from points, shape (V, 3), to bones, heads and tails of shape (B, 3): shape (V, B)."""
    axes = tails - heads
    squares = np.maximum(np.einsum("bi,bi->b", axes, axes), 1e-300)
    along = np.clip((points @ axes.T - np.einsum("bi,bi->b", heads, axes)) / squares, 0.0, 1.0)
    total = np.zeros_like(along)
    for axis in range(3):
        gap = points[:, axis, None] - heads[:, axis] - along * axes[:, axis]
        total += gap * gap
    return np.sqrt(total)


def describe(findings: Findings, names: Sequence[str]) -> list[str]:
    """Describe mistakes in sentences, those of all bones first; "No mistakes found" if there are none.

    `names`: of the bones.
    """
    whole = (
        (findings.unweighted, "{} no weights: no bone moves them"),
        (findings.crowded, f"{{}} more than {findings.limit} influences"),
        (findings.unnormalized, "{} weights that do not sum to 1"),
        (findings.torn, "{} different weights from others at the same location: the seam opens in a pose"),
    )
    lines = [what.format(_count(int(found.sum()))) for found, what in whole if found.any()]
    for pairs, what in (
        (findings.stray, "{} in a patch separate from the bone's other weights"),
        (findings.far, "{} far from the bone"),
    ):
        counts = np.bincount(pairs[:, 1], minlength=len(names))
        lines += [
            f"{names[bone]}: " + what.format("1 vertex" if counts[bone] == 1 else f"{counts[bone]} vertices")
            for bone in np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        ]
    return lines or ["No mistakes found"]


def _count(number: int) -> str:
    return "1 vertex has" if number == 1 else f"{number} vertices have"
