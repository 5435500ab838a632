"""Objects that cannot be done: each is left out by name, and holds up none of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from typing import TypeVar

import bpy

from ..deformers import SkinningError

T = TypeVar("T")

# Objects that are left out, and why
LeftOut = list[tuple[bpy.types.Object, SkinningError]]


def sort_out(objects: Iterable[bpy.types.Object], check: Callable[[bpy.types.Object], T]) -> tuple[list[T], LeftOut]:
    """The results of a check of each object, and the objects that it refuses.

    Raises SkinningError if it refuses all: the reasons.
    """
    done, left_out = try_each(objects, check)
    check_any(done, left_out)
    return done, left_out


def try_each(objects: Iterable[bpy.types.Object], check: Callable[[bpy.types.Object], T]) -> tuple[list[T], LeftOut]:
    """As `sort_out`, which may refuse all."""
    done: list[T] = []
    left_out: LeftOut = []
    for obj in objects:
        try:
            done.append(check(obj))
        except SkinningError as error:
            left_out.append((obj, error))
    return done, left_out


def choose_usable(
    objects: Iterable[bpy.types.Object], *checks: Callable[[bpy.types.Object], object]
) -> tuple[list[bpy.types.Object], LeftOut]:
    """The objects that no check refuses, and the others; raises as `sort_out`."""

    def check(obj: bpy.types.Object) -> bpy.types.Object:
        for one in checks:
            one(obj)
        return obj

    return sort_out(objects, check)


def check_any(done: Sized, left_out: LeftOut) -> None:
    """Raise SkinningError with the reasons if all objects are left out."""
    if left_out and not done:
        reasons = dict.fromkeys(str(error) for _, error in left_out)
        raise SkinningError(". ".join(reasons), left_out[0][1].remedy)


def describe_left_out(left_out: LeftOut) -> tuple[str, ...]:
    """A sentence on each object."""
    return tuple(f"'{obj.name}' was left out. {error}" for obj, error in left_out)
