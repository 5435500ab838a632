"""Names of the bones of points and cages: free, and with sides where a cage has the same on both."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ..names import free_name, name_within

SAME = 1e-3
"""How far a vertex may be from the mirror image of another, in sizes of the cage."""


def name_point(name: str, taken: Collection[str]) -> str:
    """A name for the bone of a point: that of its object, if it is free."""
    return free_name(name, taken)


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
    tolerance = SAME * float(np.ptp(points, axis=0).max(initial=0.0))
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
