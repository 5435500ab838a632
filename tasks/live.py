"""The live deformation: what is kept of each bound object between frames, and one step of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np

from ..bridge import carriers
from ..bridge.armatures import Skeleton, read_pose, read_skeleton
from ..deformers import DEFORMERS, Pose, SkinningError
from ..properties import settings_of
from .character import check_armature, check_modifiers_above, read_rest, read_weight_groups
from .stack import find_replaced_modifier, find_supple_modifier

SAME_SPACE = 1e-7
"""Largest entry by which the way from object to armature may differ from none at all."""

RESHAPING_MODES = {"EDIT", "SCULPT"}
"""Object modes in which the rest shape changes under the user's hand."""


@dataclass(frozen=True)
class Choices:
    """What a binding depends on besides the mesh and the bones."""

    method: str
    order: str
    linear_group: str
    armature: str


@dataclass
class LiveObject:
    """A bound object between frames."""

    skeleton: Skeleton
    groups: list[str]
    choices: Choices
    deformer: Any
    binding: Any
    armature_is_stale: bool = False
    last_write: tuple = field(default=())
    """Pose, space and kind of what the carrier holds."""


_live: dict[int, LiveObject] = {}
"""By `session_uid` of the object: names and pointers change with undo."""


def keep(obj: bpy.types.Object, live: LiveObject) -> None:
    """Keep what `prepare` has made of an object."""
    _live[obj.session_uid] = live


def forget(obj: bpy.types.Object) -> None:
    """Drop what is kept of an object: it is bound anew when next shown."""
    _live.pop(obj.session_uid, None)


def forget_all() -> None:
    """Drop everything, as when another file is opened."""
    _live.clear()


def expect_changes() -> None:
    """Have every carrier written again, as after undo, which takes carriers back to an earlier pose."""
    for live in _live.values():
        live.last_write = ()
        live.armature_is_stale = True


def note_armature_change(obj: bpy.types.Object) -> None:
    """Have the object's skeleton compared with the armature's."""
    live = _live.get(obj.session_uid)
    if live is not None:
        live.armature_is_stale = True


def refresh(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> bool:
    """Bring a bound object's carrier up to the pose of a depsgraph.

    Parameters
    ----------
    obj : Object
        Original, bound.
    depsgraph : Depsgraph
        Of the viewport or of the render: each has its own pose.

    Returns
    -------
    bool
        Whether anything had to be written.

    Raises
    ------
    SkinningError
        Where the object can not be deformed; its carrier is left as it was.
    """
    modifier = find_supple_modifier(obj)
    if not (modifier.show_render if depsgraph.mode == "RENDER" else modifier.show_viewport):
        return False
    live = _ensure_live(obj)
    armature = find_replaced_modifier(obj).object.evaluated_get(depsgraph)
    evaluated = obj.evaluated_get(depsgraph)
    if not (armature.is_evaluated and evaluated.is_evaluated):
        return False  # not in this scene or view layer

    space = armature.matrix_world.inverted_safe() @ evaluated.matrix_world
    same_space = np.abs(np.array(space) - np.eye(4)).max() <= SAME_SPACE
    pose = read_pose(armature, live.skeleton, None if same_space else space)
    transforms = _needs_transforms(obj, modifier)
    written = (pose.rest_to_pose.tobytes(), None if same_space else tuple(map(tuple, space)), transforms)
    if written == live.last_write:
        return False
    _write(obj, modifier, live, pose, transforms)
    live.last_write = written
    return True


def _write(obj: bpy.types.Object, modifier: bpy.types.Modifier, live: LiveObject, pose: Pose, transforms: bool) -> None:
    mesh = settings_of(obj).carrier.data
    if transforms:
        carriers.write_transforms(mesh, live.deformer.vertex_transforms(live.binding, pose))
    else:
        carriers.write_points(mesh, live.deformer.deform(live.binding, pose))
    if bool(carriers.read_input(modifier, carriers.TRANSFORMS_SOCKET)) != transforms:
        carriers.write_input(modifier, carriers.TRANSFORMS_SOCKET, transforms)


def _needs_transforms(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> bool:
    """Whether vertices may reach the modifier anywhere else than at rest."""
    if obj.data.shape_keys is not None or obj.mode in RESHAPING_MODES:
        return True
    above = obj.modifiers[: obj.modifiers.find(modifier.name)]
    return any(other.show_viewport or other.show_render for other in above)


def _ensure_live(obj: bpy.types.Object) -> LiveObject:
    """What is kept of the object, bound anew where it is out of date."""
    armature_modifier = find_replaced_modifier(obj)
    armature = check_armature(obj, armature_modifier)
    _check_vertex_count(obj)
    choices = _read_choices(obj, armature, settings_of(obj).method)
    live = _live.get(obj.session_uid)
    if live is None or live.choices != choices:
        live = prepare(obj, armature_modifier, choices.method)
        _check_bound_groups(obj, live.skeleton, armature)
        if settings_of(obj).watcher is not None:
            carriers.watch(settings_of(obj).watcher, armature)
        keep(obj, live)
    elif live.armature_is_stale:
        skeleton = read_skeleton(armature, live.skeleton)
        _check_bound_groups(obj, skeleton, armature)
        if skeleton is not live.skeleton:
            live = prepare(obj, armature_modifier, choices.method)
            keep(obj, live)
        live.armature_is_stale = False
    return live


def prepare(obj: bpy.types.Object, modifier: bpy.types.ArmatureModifier, method: str) -> LiveObject:
    """Bind an object to its skeleton; nothing of it is changed.

    Raises
    ------
    SkinningError
        Where its modifiers, weights or bones do not allow it.
    """
    armature = check_armature(obj, modifier)
    check_modifiers_above(obj, modifier)
    skeleton = read_skeleton(armature)
    groups = read_weight_groups(obj, skeleton, modifier)
    choices = _read_choices(obj, armature, method)
    rest = read_rest(obj, modifier, skeleton, choices.linear_group)
    deformer = DEFORMERS[method]
    params = deformer.Params(order=choices.order) if method == "DLBNT" else deformer.Params()
    return LiveObject(skeleton, groups, choices, deformer, deformer.bind(rest, params))


def _read_choices(obj: bpy.types.Object, armature: bpy.types.Object, method: str) -> Choices:
    settings = settings_of(obj)
    return Choices(method, settings.order, settings.linear_group, armature.name_full)


def _check_vertex_count(obj: bpy.types.Object) -> None:
    carrier = settings_of(obj).carrier
    if carrier is None:
        raise SkinningError(f"The carrier of '{obj.name}' was deleted: bind again")
    count, bound = len(obj.data.vertices), len(carrier.data.vertices)
    if count != bound:
        raise SkinningError(f"'{obj.name}' has {count} vertices but was bound with {bound}: bind again")


def _check_bound_groups(obj: bpy.types.Object, skeleton: Skeleton, armature: bpy.types.Object) -> None:
    """Groups that had a bone at Bind and have none now: the bone was renamed or deleted."""
    known = set(skeleton.names)
    lost = [name for name in settings_of(obj).bound_groups.split("\n") if name in obj.vertex_groups and name not in known]
    if lost:
        raise SkinningError(
            f"{len(lost)} of the bones that '{obj.name}' was bound to are gone from '{armature.name}' or no longer deform "
            f"({', '.join(lost[:3])}{', ...' if len(lost) > 3 else ''}): bring them back or bind again"
        )
