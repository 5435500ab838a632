"""One step of the live deformation: the changes of a depsgraph update, found once for all objects."""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, field

import bpy

from ...bridge.per_object import PerObject
from .poses import Poses

# `session_uid` of the objects that are being baked
_baked: set[int] = set()

# Objects that are to be shown better once the user has let go: poses in dragging quality, or weights before a stroke
rough: PerObject[bool] = PerObject()


@dataclass(eq=False)
class Step:
    """An update of a depsgraph.

    Attributes
    ----------
    depsgraph : Depsgraph
        Of the viewport or of the render: each has its own pose.
    changed : set of ID
        Meshes and armatures that may have changed.
    is_pose_alone : bool
        Whether only the pose can have changed, as in another frame.
    is_dragging : bool
        Whether a user waits for each step of the mouse.
    poses : Poses
        Poses of armatures, read once.
    """

    depsgraph: bpy.types.Depsgraph
    changed: Set[bpy.types.ID] = frozenset()
    is_pose_alone: bool = False
    is_dragging: bool = False
    poses: Poses = field(init=False)

    def __post_init__(self) -> None:
        self.poses = Poses(self.depsgraph)

    @property
    def is_render(self) -> bool:
        return self.depsgraph.mode == "RENDER"


@contextmanager
def at_bake_quality(obj: bpy.types.Object) -> Iterator[None]:
    """Deform an object meanwhile with the iterations of a bake, and leave it to the bake."""
    uid = obj.session_uid
    _baked.add(uid)
    try:
        yield
    finally:
        _baked.discard(uid)


def is_baking(obj: bpy.types.Object) -> bool:
    """Whether a bake brings an object up to each pose."""
    return obj.session_uid in _baked
