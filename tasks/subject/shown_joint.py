"""The joint whose shapes of skin are shown as pictures, for the panel."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ...bridge.images import thumbnails
from ...options import SHAPES


@dataclass(frozen=True, eq=False)
class ShownJoint:
    """A joint whose shapes are shown.

    Attributes
    ----------
    pictures : list of float32 array, shape (3, H, W, 4)
        Of each way in which the joint bends, in the order of `SHAPES`.
    chosen : list of int
        The shape in each way.
    """

    armature: str
    bone: str
    quality: str
    pictures: list[np.ndarray]
    chosen: list[int]

    def describe(self) -> list[str]:
        """Sentences for a report."""
        return [f"{self.bone}: {' and '.join(dict.fromkeys(list(SHAPES.values())[shape] for shape in self.chosen))}"]


_shown: ShownJoint | None = None


def find_shown(armature: bpy.types.Object | None) -> ShownJoint | None:
    """The joint of an armature whose shapes are shown."""
    return _shown if _shown is not None and armature is not None and _shown.armature == armature.name else None


def show(joint: ShownJoint | None) -> None:
    """Show the shapes of a joint, in place of those that are shown."""
    global _shown
    _shown = joint
    for way, pictures in enumerate(() if joint is None else joint.pictures):
        for shape, picture in zip(SHAPES, pictures, strict=True):
            thumbnails.show(f"{way} {shape}", picture)


def find_icon(way: int, shape: str) -> int:
    """Icon of a shape that is shown."""
    return thumbnails.find_shown(f"{way} {shape}")
