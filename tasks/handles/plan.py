"""Bones of points and cages: names that are free, with sides if a cage is symmetric, and the bones that carry them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from ...bridge.names import free_name, name_within
from ...deformers import SkinningError
from ...deformers.automatic_weights.cages import measure_cage_gap, measure_gaps
from ...deformers.automatic_weights.handles import Cage
from ...deformers.geometry.neighbors import find_nearest
from ...deformers.rig.skeleton import distances_to_bones

# In sizes of the skin: a handle that is farther away is in the air
MAX_GAP = 0.1

# In sizes of the skin
BONE_LENGTH = 0.03

# Vertices near a handle whose weights say which bone carries it, if none is in its box
NEAREST_COUNT = 8

# In sizes of a cage: two vertices this near to mirror images of each other have the same number
MAX_SAME = 1e-3


@dataclass(frozen=True, eq=False)
class Handle:
    """A point or a cage, at rest.

    Attributes
    ----------
    obj : str
        Name of the object.
    cage : Cage or None
        None for a point.
    positions : float64 array, shape (C, 3)
        Of the point, or of the vertices of the cage, armature space.
    is_loose : bool
        Whether it has no parent, and gets one.
    names : tuple of str, length C
        Of the bones; planned.
    carrier : str
        The bone that carries the skin there, "" for none; planned.
    """

    obj: str
    cage: Cage | None
    positions: np.ndarray
    is_loose: bool
    names: tuple[str, ...] = ()
    carrier: str = ""


@dataclass(frozen=True, eq=False)
class HandlesSource:
    """The skin at rest in armature space, and the handles.

    Attributes
    ----------
    skin : str
        Name of the first mesh.
    points : float64 array, shape (V, 3)
    triangles : int array, shape (T, 3)
    bones : tuple of str, length B
        Deforming bones, without those of handles.
    heads, tails : float64 arrays, shape (B, 3)
    weights : float32 array, shape (V, B)
    taken : frozenset of str
        Names of bones and vertex groups.
    """

    skin: str
    points: np.ndarray
    triangles: np.ndarray
    bones: tuple[str, ...]
    heads: np.ndarray
    tails: np.ndarray
    weights: np.ndarray
    taken: frozenset[str]
    handles: tuple[Handle, ...]

    @property
    def size(self) -> float:
        """Diagonal of the bounding box of the skin."""
        return float(np.linalg.norm(np.ptp(self.points, axis=0)))


@dataclass(frozen=True, eq=False)
class HandlesPlan:
    """Handles with names and carriers, and the length of their bones, armature space."""

    handles: tuple[Handle, ...]
    length: float


def plan_handles(source: HandlesSource) -> HandlesPlan:
    """Name the bones of handles, and find their carriers. Raises SkinningError if a handle is not at the skin."""
    planned, taken = [], set(source.taken)
    for handle in source.handles:
        _check_gap(source, handle)
        if handle.cage is None:
            names = (free_name(handle.obj, taken),)
        else:
            names = name_cage(handle.obj, handle.positions, taken)
        taken.update(names)
        planned.append(replace(handle, names=names, carrier=_find_carrier(source, handle.positions)))
    return HandlesPlan(tuple(planned), BONE_LENGTH * source.size)


def _check_gap(source: HandlesSource, handle: Handle) -> None:
    skin = source.points, source.triangles
    if handle.cage is None:
        gap = float(measure_gaps(*skin, handle.positions)[0])
        if not gap <= MAX_GAP * source.size:  # nor if it is not a number
            raise SkinningError(
                f"'{handle.obj}' is in the air, {gap:.3g} from '{source.skin}' (in armature space): move it to the "
                "skin, or into it"
            )
        return
    gap = measure_cage_gap(*skin, handle.cage)
    if not gap <= MAX_GAP * source.size:
        raise SkinningError(
            f"No vertex of '{source.skin}' is in or near cage '{handle.obj}', the nearest is {gap:.3g} away (in "
            "armature space): move the cage to the skin"
        )


def _find_carrier(source: HandlesSource, positions: np.ndarray) -> str:
    """The bone with most weight in the box of positions, or around it; else the nearest bone; "" without bones."""
    if not source.bones:
        return ""
    low, high = positions.min(axis=0), positions.max(axis=0)
    near = np.flatnonzero(((source.points >= low) & (source.points <= high)).all(axis=1))
    if not near.size:
        near = find_nearest(positions, source.points, min(NEAREST_COUNT, len(source.points)))[0].ravel()
    sums = source.weights[near].sum(axis=0)
    if sums.any():
        return source.bones[int(sums.argmax())]
    return source.bones[int(distances_to_bones(positions.mean(axis=0), source.heads, source.tails).argmin())]


def name_cage(name: str, points: np.ndarray, taken: Collection[str]) -> tuple[str, ...]:
    """Names for the bones of a cage's vertices, "Hat 01", those on both sides of X with the same number.

    Parameters
    ----------
    name : str
        Of the cage.
    points : float64 array, shape (C, 3)
        Armature space.
    taken : collection of str
    """
    numbers, sides = _number(points)
    digits = len(str(len(points)))
    ends = [f"{number:0{digits}d}{side}" for number, side in zip(numbers, sides, strict=True)]
    bases = {one.removesuffix(f" {end}") for one in taken for end in ends if one.endswith(f" {end}")}
    room = f".000 {max(ends, key=len)}"
    base = free_name(name_within(name, room).removesuffix(room), bases)
    return tuple(f"{base} {end}" for end in ends)


def _number(points: np.ndarray) -> tuple[list[int], list[str]]:
    """A number and a side, ".L", ".R" or "", for each point, shape (C, 3)."""
    tolerance = MAX_SAME * float(np.ptp(points, axis=0).max(initial=0.0))
    numbers, sides, mirrored = [0] * len(points), [""] * len(points), points * [-1.0, 1.0, 1.0]
    last = 0
    for index, point in enumerate(points):
        if numbers[index]:
            continue
        last += 1
        numbers[index] = last
        gaps = np.linalg.norm(mirrored - point, axis=1)
        other = int(gaps.argmin())
        if abs(point[0]) > tolerance >= gaps[other] and not numbers[other]:
            numbers[other] = last
            sides[index], sides[other] = (".L", ".R") if point[0] > 0.0 else (".R", ".L")
    return numbers, sides
