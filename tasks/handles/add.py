"""Handles as a feature: bones for points and cages, so that these carry skin as bones do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import bpy

from ...bridge.rigs.handles import list_handle_bones
from ..installed.engine import install
from ..installed.feature import PlannedFeature, Subject
from ..left_out import describe_left_out
from ..steps import take_all
from ..weights.parts import own_meshes
from ..weights.reports import end_sentence
from .plan import plan_handles
from .read import find_armature, read_handles
from .remove import remove_handles
from .write import write_handles

HANDLES = PlannedFeature(
    key="handles",
    read=read_handles,
    plan=plan_handles,
    write=write_handles,
    remove=lambda subject, names: remove_handles(
        subject.armature, [obj for obj in bpy.data.objects if obj.name in names] or None
    ),
    is_in=lambda subject: bool(list_handle_bones(subject.armature)),
)


def add_handles(
    meshes: Iterable[bpy.types.Object],
    objects: Sequence[bpy.types.Object],
    armature: bpy.types.Object | None = None,
    parent: bool = True,
) -> list[str]:
    """Make empties points, and meshes cages: each point, and each vertex of a cage, gets a bone that follows it.

    Raises SkinningError if something does not fit; nothing is changed then.

    Parameters
    ----------
    meshes : Objects
        The skin: all of it is deformed by one armature, or none of it by any.
    objects : sequence of Object
        Empties and meshes, at the skin while the armature is at rest.
    armature : Object, optional
        Armature of meshes that have none. Without it, they get one of their own.
    parent : bool
        Whether objects without a parent are parented to the bone that carries the skin there.
    """
    own, left_out = own_meshes(meshes)
    subject = Subject(find_armature(own, armature), tuple(own))
    lines = take_all(install(HANDLES, subject, objects, parent))
    return [*lines, *map(end_sentence, describe_left_out(left_out))]
