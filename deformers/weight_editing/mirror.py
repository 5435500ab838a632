"""Skin weights copied from one side of a character to the other, for any topology."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from ..geometry.neighbors import FindNearest, read_nearest
from ..geometry.solid import weld
from .checks import check_finite

# In diagonals of the mesh: a mirrored vertex within this distance matches another, or is on the plane.
MAX_MATCH_DISTANCE = 1e-4

# In diagonals of the mesh: a mirrored vertex farther from the surface is reported.
MAX_SURFACE_DISTANCE = 0.02

# The side to copy weights from, as a sign; "BOTH" gives each vertex and its mirror image the mean of both.
SIDES = {"POSITIVE": 1.0, "NEGATIVE": -1.0, "BOTH": 0.0}


@dataclass(frozen=True)
class Mirror:
    """Mirrored weights.

    Attributes
    ----------
    weights : float32 array, shape (V, B)
    changed : bool array, shape (V,)
        Vertices that were given weights.
    far : bool array, shape (V,)
        Those whose mirror image is not on the surface: they have the weights of the nearest surface.
    """

    weights: np.ndarray
    changed: np.ndarray
    far: np.ndarray


def pair_names(names: Sequence[str], flip: Callable[[str], str]) -> np.ndarray:
    """Pair the bones of both sides by name.

    Parameters
    ----------
    names : sequence of str, length B
    flip : callable
        From a name to that of the other side, such as Blender's `bpy.utils.flip_name`.

    Returns
    -------
    int array, shape (B,)
        For each bone the bone of the other side, or itself.
    """
    index_of = {name: index for index, name in enumerate(names)}
    return np.array([index_of.get(flip(name), index) for index, name in enumerate(names)], np.intp)


def mirror_weights(
    weights: np.ndarray,
    points: np.ndarray,
    triangles: np.ndarray,
    pairs: np.ndarray,
    find_nearest: FindNearest,
    source: str = "POSITIVE",
    axis: int = 0,
    center: float = 0.0,
    chosen: np.ndarray | None = None,
    locked: np.ndarray | None = None,
) -> Mirror:
    """Mirror weights across a plane by position.

    Raises SkinningError if the source's side has no faces, or coordinates are not finite.

    Parameters
    ----------
    weights : float array, shape (V, B)
    points : float array, shape (V, 3)
        At rest, armature space.
    triangles : int array, shape (T, 3)
    pairs : int array, shape (B,)
        From `pair_names`.
    source : "POSITIVE", "NEGATIVE" or "BOTH"
        The side to copy from.
    axis : int
        Axis orthogonal to the plane.
    center : float
        Position of the plane on the axis: 0 is the armature's origin.
    chosen : bool array, shape (V,), optional
        Vertices that may change, with all vertices at their positions; all by default.
    locked : bool array, shape (B,), optional
        Bones whose weights stay: the others share the rest. None by default.

    Notes
    -----
    A vertex takes its weights, with left and right bones swapped, from the surface point nearest to its mirror image:
    of a vertex at that point, otherwise interpolated in a triangle. With a side to copy from, triangles with a corner
    on the other side do not count, so that no weight that changes is read. A vertex on the plane gets the mean of its
    weights and its mirrored weights.
    """
    check_finite(points)
    points, weights = np.asarray(points, np.float64), np.asarray(weights, np.float32)
    size = float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0
    offsets = points[:, axis] - center
    side = np.where(np.abs(offsets) <= MAX_MATCH_DISTANCE * size, 0.0, np.sign(offsets))
    kept = SIDES[source]
    welded = weld(points)
    targets = (side == 0) | (side != kept)
    if chosen is not None:
        targets &= np.bincount(welded[chosen], minlength=len(points))[welded] > 0
    surface = triangles[(side[triangles] * kept >= 0).all(axis=1)]
    if not len(surface):
        raise SkinningError(f"The {source.lower()} side has no faces: mirror from the other side, or move the mesh")
    changed = np.flatnonzero(targets & (welded == np.arange(len(points))))
    images = points[changed].copy()
    images[:, axis] = 2.0 * center - images[:, axis]
    mirrored, distances = read_nearest(images, weights, points, surface, find_nearest, MAX_MATCH_DISTANCE * size)
    mirrored = mirrored[:, pairs]
    central = side[changed] == 0 if kept else np.ones(len(changed), bool)
    own = weights[changed]
    mirrored[central] = 0.5 * (mirrored[central] + own[central])
    if locked is not None and locked.any():
        mirrored = _keep_locked(own, mirrored, locked)
    result = weights.copy()
    result[changed] = mirrored
    away = np.zeros(len(points), bool)
    away[changed] = distances > MAX_SURFACE_DISTANCE * size
    result = np.where(targets[:, None], result[welded], result)
    return Mirror(result, targets, targets & away[welded])


def _keep_locked(own: np.ndarray, mirrored: np.ndarray, locked: np.ndarray) -> np.ndarray:
    """Mirrored weights, shape (N, B), with unchanged columns of locked bones, and each row's sum as mirrored.

    If the mirror image has no weight for an unlocked bone, the unlocked bones keep their own weights.
    """
    totals = mirrored.sum(axis=1, keepdims=True)
    room = np.maximum(totals - own[:, locked].sum(axis=1, keepdims=True), 0.0)
    free = np.where(locked, 0.0, mirrored)
    sums = free.sum(axis=1, keepdims=True)
    free = np.where(sums > 0, free * (room / np.maximum(sums, 1e-30)), np.where(locked, 0.0, own))
    return np.where(locked, own, free).astype(np.float32)
