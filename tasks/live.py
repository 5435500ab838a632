"""The live deformation: what is kept of each bound object between frames, and one step of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ..bridge import carriers
from ..bridge.armatures import Skeleton, read_pose, read_pose_names, read_skeleton
from ..bridge.meshes import FaceKeys, mesh_of, read_key_values, read_points
from ..deformers import DEFORMERS, Pose, SkinningError
from ..properties import settings_of
from .character import (
    check_armature,
    check_bound_groups,
    check_modifiers_above,
    modifiers_above,
    object_to_armature,
    read_character,
    uses_envelopes,
)
from .stack import find_replaced_modifier, find_supple_modifier

SAME_SPACE = 1e-7
"""Largest entry by which the way from object to armature may differ from none at all."""

RESHAPING_MODES = {"EDIT", "SCULPT"}
"""Object modes in which the rest shape changes under the user's hand."""


@dataclass(frozen=True)
class Choices:
    """What a binding depends on besides the mesh and the bones. A method's Params take from here what they name."""

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
    space: Matrix | None
    """From object to armature space at Bind, where the weights depend on it."""
    deformer: Any
    binding: Any
    face_keys: FaceKeys | None = None
    seen_values: tuple[float, ...] = ()
    """Values of the face keys when last refreshed."""
    bound_values: tuple[float, ...] = ()
    """Values of the face keys whose shape the binding has."""
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


def forget_others(objects: Iterable[bpy.types.Object]) -> None:
    """Drop what is kept of any but these objects, as of deleted ones."""
    kept = {obj.session_uid for obj in objects}
    for uid in [uid for uid in _live if uid not in kept]:
        del _live[uid]


def note_mesh_change(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> None:
    """Have the object's weights and rest shape read again, unless it was a face key's slider that moved.

    Blender reports both as the same change of the mesh.
    """
    live = _live.get(obj.session_uid)
    if live is not None and live.seen_values == read_key_values(obj, depsgraph):
        forget(obj)


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
    if settings_of(obj).evaluate == "NODES":
        return False  # nodes need nothing written
    if not (modifier.show_render if depsgraph.mode == "RENDER" else modifier.show_viewport):
        return False
    armature = check_armature(obj, find_replaced_modifier(obj))
    if armature.mode == "EDIT":
        return False  # the bones are about to change, and have no pose
    posed, evaluated = armature.evaluated_get(depsgraph), obj.evaluated_get(depsgraph)
    if not (posed.is_evaluated and evaluated.is_evaluated):
        return False  # not in this scene or view layer

    space = object_to_armature(evaluated, posed)
    live = _ensure_live(obj, posed, space)
    same_space = np.abs(np.array(space) - np.eye(4)).max() <= SAME_SPACE
    pose = read_pose(posed, live.skeleton, None if same_space else space)
    transforms = _needs_transforms(obj, modifier)
    values = live.seen_values = read_key_values(obj, depsgraph)
    carrier = settings_of(obj).carrier.session_uid
    written = (carrier, values, pose.rest_to_pose.tobytes(), None if same_space else space.copy().freeze(), transforms)
    if written == live.last_write:
        return False
    if values != live.bound_values and not transforms:
        live.binding = live.deformer.with_points(live.binding, _mix_keys(obj, live, values))
        live.bound_values = values
    _write(obj, modifier, live, pose, transforms)
    live.last_write = written
    return True


def _mix_keys(obj: bpy.types.Object, live: LiveObject, values: tuple[float, ...]) -> np.ndarray:
    """The shape of the mesh at these values of its face keys, shape (V, 3), object space."""
    if not values:
        return read_points(mesh_of(obj))  # the last key was removed
    if live.face_keys is None or live.face_keys.count != len(values):
        live.face_keys = FaceKeys(obj)
    return live.face_keys.mix(values)


def _write(obj: bpy.types.Object, modifier: bpy.types.Modifier, live: LiveObject, pose: Pose, transforms: bool) -> None:
    mesh = settings_of(obj).carrier.data
    if transforms:
        carriers.write_transforms(mesh, live.deformer.vertex_transforms(live.binding, pose))
    else:
        carriers.write_points(mesh, live.deformer.deform(live.binding, pose))
    if bool(carriers.read_input(modifier, carriers.TRANSFORMS_SOCKET)) != transforms:
        carriers.write_input(modifier, carriers.TRANSFORMS_SOCKET, transforms)


def _needs_transforms(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> bool:
    """Whether vertices may reach the modifier elsewhere than where the mesh or its relative shape keys put them."""
    keys = obj.data.shape_keys
    if obj.mode in RESHAPING_MODES or (keys is not None and (obj.show_only_shape_key or not keys.use_relative)):
        return True
    return bool(modifiers_above(obj, modifier))


def _ensure_live(obj: bpy.types.Object, posed: bpy.types.Object, space: Matrix) -> LiveObject:
    """What is kept of the object, bound anew where it is out of date with the evaluated armature `posed`."""
    _check_hidden(obj)
    modifier = find_replaced_modifier(obj)
    armature = check_armature(obj, modifier)
    choices = _read_choices(obj, armature, settings_of(obj).method)
    live = _live.get(obj.session_uid)
    skeleton = None
    if live is not None and live.choices == choices and (live.space is None or live.space == space):
        if not live.armature_is_stale and live.skeleton.pose_names == read_pose_names(posed):
            return live
        skeleton = read_skeleton(posed, live.skeleton)
    if live is None or skeleton is not live.skeleton:
        live = prepare(obj, modifier, choices.method, posed, space)
    check_bound_groups(obj, live.skeleton, armature)
    carriers.watch(settings_of(obj).watcher, armature)
    keep(obj, live)
    live.armature_is_stale = False
    return live


def prepare(
    obj: bpy.types.Object,
    modifier: bpy.types.ArmatureModifier,
    method: str,
    posed: bpy.types.Object | None = None,
    space: Matrix | None = None,
) -> LiveObject:
    """Bind an object to its skeleton; nothing of it is changed.

    Parameters
    ----------
    obj : Object
    modifier : ArmatureModifier
        The one whose armature and settings count.
    method : str
        Key of `DEFORMERS`.
    posed : Object, optional
        The armature as evaluated; as it is in the file if not given.
    space : Matrix, optional
        From object to armature space; as the objects stand in the file if not given.

    Raises
    ------
    SkinningError
        Where its modifiers, weights or bones do not allow it.
    """
    check_modifiers_above(obj, modifier)
    character = read_character(obj, modifier, posed, space)
    choices = _read_choices(obj, check_armature(obj, modifier), method)
    varies = bool(character.skeleton.bendy) or uses_envelopes(modifier, character.skeleton)
    deformer = DEFORMERS[method]
    params = deformer.Params(**{field.name: getattr(choices, field.name) for field in fields(deformer.Params)})
    return LiveObject(
        skeleton=character.skeleton,
        groups=character.groups,
        choices=choices,
        space=character.space if varies else None,
        deformer=deformer,
        binding=deformer.bind(character.rest, params),
    )


def _read_choices(obj: bpy.types.Object, armature: bpy.types.Object, method: str) -> Choices:
    settings = settings_of(obj)
    return Choices(method, settings.order, settings.linear_group, armature.name_full)


def _check_hidden(obj: bpy.types.Object) -> None:
    """See that the carrier and the watcher are there and fit the mesh."""
    settings = settings_of(obj)
    if settings.carrier is None or settings.watcher is None:
        raise SkinningError(f"A hidden object that '{obj.name}' needs was deleted: bind again")
    count, bound = len(obj.data.vertices), len(settings.carrier.data.vertices)
    if count != bound:
        raise SkinningError(f"'{obj.name}' has {count} vertices but was bound with {bound}: bind again")
