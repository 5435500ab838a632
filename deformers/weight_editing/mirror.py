"""Skin weights from one side of a character to the other, whatever its topology."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from ..geometry.solid import weld
from .transfer import FindNearest

SAME = 1e-4
"""Share of the mesh's diagonal within which a mirrored vertex is another vertex, and one at the plane is on it."""

FAR = 0.02
"""Share of the mesh's diagonal from which on a mirrored vertex has no surface near it."""

SIDES = {"POSITIVE": 1.0, "NEGATIVE": -1.0, "BOTH": 0.0}
"""What is mirrored: the weights of one side go to the other; or each vertex and its mirror image get their mean."""


@dataclass(frozen=True)
class Mirror:
    """Mirrored weights.

    Attributes
    ----------
    weights : float32 array, shape (V, B)
    changed : bool array, shape (V,)
        Vertices that were given weights.
    far : bool array, shape (V,)
        Of those, the ones whose mirror image is on no surface: they have the weights of what is nearest to it.
    """

    weights: np.ndarray
    changed: np.ndarray
    far: np.ndarray


def pair_names(names: Sequence[str], flip: Callable[[str], str]) -> np.ndarray:
    """For each bone the one of the other side, itself where there is none: int array, shape (B,).

    Parameters
    ----------
    names : sequence of str
    flip : callable
        A name to that of the other side, as Blender's `bpy.utils.flip_name`.
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

    Parameters
    ----------
    weights : float array, shape (V, B)
    points : float array, shape (V, 3)
        At rest, armature space.
    triangles : int array, shape (T, 3)
    pairs : int array, shape (B,)
        The bone of the other side, of `pair_names`.
    find_nearest : FindNearest
    source : "POSITIVE", "NEGATIVE" or "BOTH"
        The side whose weights are kept, or neither.
    axis : int
        Across which it is mirrored.
    center : float
        Where on the axis the plane is: 0 is the armature's origin.
    chosen : bool array, shape (V,), optional
        Vertices that may change, and with each those at its place; all by default.
    locked : bool array, shape (B,), optional
        Bones whose weights stay: what they leave is shared by the others. None by default.

    Raises
    ------
    SkinningError
        Where the source's side has no faces, or coordinates are not finite.

    Notes
    -----
    A vertex takes its weights, with left and right bones exchanged, from where its mirror image is nearest to the
    surface: of one vertex where there is one, else between the corners of a triangle. With a source's side, only
    triangles that have no corner on the other are looked at, so nothing that changes is read. A vertex on the plane
    gets the mean of its weights and its mirrored weights.
    """
    if wrong := int((~np.isfinite(points)).any(axis=1).sum()):
        raise SkinningError(f"{wrong} vertices have no finite place: repair or delete them")
    points, weights = np.asarray(points, np.float64), np.asarray(weights, np.float32)
    size = float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0
    offsets = points[:, axis] - center
    side = np.where(np.abs(offsets) <= SAME * size, 0.0, np.sign(offsets))
    kept = SIDES[source]
    place = weld(points)
    targets = (side == 0) | (side != kept)
    if chosen is not None:
        targets &= np.bincount(place[chosen], minlength=len(points))[place] > 0
    surface = triangles[(side[triangles] * kept >= 0).all(axis=1)]
    if not len(surface):
        raise SkinningError(f"The {source.lower()} side has no faces: mirror from the other side, or move the mesh")
    changed = np.flatnonzero(targets & (place == np.arange(len(points))))
    images = points[changed].copy()
    images[:, axis] = 2.0 * center - images[:, axis]
    mirrored, distances = _read_at(images, weights, points, surface, find_nearest, SAME * size)
    mirrored = mirrored[:, pairs]
    central = side[changed] == 0 if kept else np.ones(len(changed), bool)
    own = weights[changed]
    mirrored[central] = 0.5 * (mirrored[central] + own[central])
    if locked is not None and locked.any():
        mirrored = _keep_locked(own, mirrored, locked)
    result = weights.copy()
    result[changed] = mirrored
    away = np.zeros(len(points), bool)
    away[changed] = distances > FAR * size
    result = np.where(targets[:, None], result[place], result)
    return Mirror(result, targets, targets & away[place])


def _read_at(
    spots: np.ndarray,
    weights: np.ndarray,
    points: np.ndarray,
    triangles: np.ndarray,
    find_nearest: FindNearest,
    same: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Weights, shape (N, B), where a surface is nearest to spots, shape (N, 3), and how far that is, shape (N,)."""
    if not len(spots):
        return np.zeros((0, weights.shape[1]), np.float32), np.zeros(0)
    owner, shares, distances = find_nearest(spots, points, triangles)
    corners = triangles[owner]
    gaps = np.linalg.norm(points[corners] - spots[:, None], axis=2)
    on = gaps.min(axis=1) <= same
    shares = np.where(on[:, None], np.eye(3)[gaps.argmin(axis=1)], shares).astype(np.float32)
    result = np.zeros((len(spots), weights.shape[1]), np.float32)
    for corner in range(3):
        result += shares[:, corner, None] * weights[corners[:, corner]]
    return result, distances


def _keep_locked(own: np.ndarray, mirrored: np.ndarray, locked: np.ndarray) -> np.ndarray:
    """Mirrored weights, shape (N, B), with the columns of locked bones as they were, each row's sum as mirrored.

    Where the mirror image has no weight for an unlocked bone, the unlocked ones keep their own.
    """
    totals = mirrored.sum(axis=1, keepdims=True)
    room = np.maximum(totals - own[:, locked].sum(axis=1, keepdims=True), 0.0)
    free = np.where(locked, 0.0, mirrored)
    sums = free.sum(axis=1, keepdims=True)
    free = np.where(sums > 0, free * (room / np.maximum(sums, 1e-30)), np.where(locked, 0.0, own))
    return np.where(locked, own, free).astype(np.float32)
