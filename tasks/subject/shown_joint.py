"""The joint whose shapes of skin are shown as pictures, for the panel."""

from __future__ import annotations

from dataclasses import dataclass, replace

import bpy
import numpy as np

from ...bridge.images import thumbnails
from ...bridge.per_object import PerObject
from ...options import SHAPES


@dataclass(frozen=True, eq=False)
class ShownJoint:
    """A joint whose shapes are shown.

    Attributes
    ----------
    pictures : list of float32 array, shape (4, H, W, 4)
        Of each way in which the joint bends, in the order of `SHAPES`.
    chosen : list of int
        The shape in each way.
    """

    bone: str
    quality: str
    pictures: list[np.ndarray]
    chosen: list[int]

    def describe(self) -> list[str]:
        """Sentences for a report."""
        return [f"{self.bone}: {' and '.join(dict.fromkeys(list(SHAPES.values())[shape] for shape in self.chosen))}"]


_shown: PerObject[ShownJoint] = PerObject()  # of one armature alone


def find_shown(armature: bpy.types.Object | None) -> ShownJoint | None:
    """The joint of an armature whose shapes are shown."""
    return None if armature is None else _shown.find(armature)


def close() -> None:
    """Show no shapes any more."""
    _shown.clear()


def show(armature: bpy.types.Object, joint: ShownJoint) -> None:
    """Show the shapes of a joint, in place of those that are shown."""
    close()
    _shown.keep(armature, joint)
    for way, pictures in enumerate(joint.pictures):
        for shape, picture in zip(SHAPES, pictures, strict=True):
            thumbnails.show(f"{way} {shape}", picture)


def choose(armature: bpy.types.Object | None, bone: str, chosen: list[int]) -> None:
    """Show that other shapes are chosen, if those of this bone's joint are shown; the pictures stay."""
    shown = find_shown(armature)
    if armature is not None and shown is not None and shown.bone == bone:
        _shown.keep(armature, replace(shown, chosen=chosen))


def find_icon(way: int, shape: str) -> int:
    """Icon of a shape that is shown."""
    return thumbnails.find_shown(f"{way} {shape}")
