"""The live deformation: what is kept of each bound object between frames, and one step of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge import carriers
from ...bridge.armatures import Skeleton, read_pose, read_pose_names, read_skeleton
from ...bridge.meshes import FaceKeys, mesh_of, read_key_values, read_points
from ...deformers import DEFORMERS, Pose, Rest, SkinningError
from ...settings.choices import BAKING, DRAGGING, read_params, read_pose_choices
from ...settings.objects import PARTICLE_METHODS, settings_of
from ...settings.reports import ParticleReport, particle_reports
from ..character import (
    check_armature,
    check_bound_groups,
    check_modifiers_above,
    modifiers_above,
    object_to_armature,
    read_character,
    uses_envelopes,
)
from ..stack import find_replaced_modifier, find_supple_modifier

SAME_SPACE = 1e-7
"""Largest entry by which the way from object to armature may differ from none at all."""

RESHAPING_MODES = {"EDIT", "SCULPT"}
"""Object modes in which the rest shape changes under the user's hand."""


@dataclass(frozen=True)
class Choices:
    """What a binding depends on besides the mesh and the bones."""

    method: str
    params: Any
    """The method's Params, without what holds for each pose by itself."""
    linear_group: str
    solid_group: str
    armature: str


@dataclass
class LiveObject:
    """A bound object between frames."""

    skeleton: Skeleton
    groups: list[str]
    choices: Choices
    space: Matrix | None
    """From object to armature space, where the weights depend on it."""
    bound_space: Matrix
    """From object to armature space at Bind."""
    deformer: Any
    binding: Any
    rest: Rest | None = None
    """What was bound, where binding is slow enough to look first whether it is still the same."""
    face_keys: FaceKeys | None = None
    seen_values: tuple[float, ...] = ()
    """Values of the face keys when last refreshed."""
    bound_values: tuple[float, ...] = ()
    """Values of the face keys whose shape the binding has."""
    armature_is_stale: bool = False
    mesh_is_stale: bool = False
    last_write: tuple = field(default=())
    """Pose, space, kind and quality of what the carrier holds."""
    is_rough: bool = False
    """Whether that is of the quality for dragging."""


_live: dict[int, LiveObject] = {}
"""By `session_uid` of the object: names and pointers change with undo."""

_baked: set[int] = set()
"""`session_uid` of the objects that are being baked."""


def keep(obj: bpy.types.Object, live: LiveObject) -> None:
    """Keep what `prepare` has made of an object, and what it tells of particles."""
    known, binding = _live.get(obj.session_uid), live.binding
    _live[obj.session_uid] = live
    if live.choices.method not in PARTICLE_METHODS:
        particle_reports.pop(obj.session_uid, None)
        _store_count(obj, 0)
    elif known is None or known.binding is not binding:
        report = ParticleReport(binding.count, getattr(binding, "solid_share", None), binding.messages)
        particle_reports[obj.session_uid] = report
        _store_count(obj, report.count)


def _store_count(obj: bpy.types.Object, count: int) -> None:
    particles = settings_of(obj).particles
    if particles.bound_count != count:
        particles.bound_count = count


def find(obj: bpy.types.Object) -> LiveObject | None:
    """What is kept of an object, None before it was first shown."""
    return _live.get(obj.session_uid)


def forget(obj: bpy.types.Object) -> None:
    """Drop what is kept of an object: it is bound anew when next shown."""
    _live.pop(obj.session_uid, None)
    particle_reports.pop(obj.session_uid, None)


def forget_all() -> None:
    """Drop everything, as when another file is opened."""
    _live.clear()
    particle_reports.clear()


@contextmanager
def at_bake_quality(obj: bpy.types.Object) -> Iterator[None]:
    """Deform an object, for a while, with the iterations of a bake."""
    _baked.add(obj.session_uid)
    try:
        yield
    finally:
        _baked.discard(obj.session_uid)


def is_rough(obj: bpy.types.Object) -> bool:
    """Whether an object shows a pose of the quality for dragging."""
    live = _live.get(obj.session_uid)
    return live is not None and live.is_rough


def expect_changes() -> None:
    """Have every carrier written again, as after undo, which takes carriers back to an earlier pose."""
    for live in _live.values():
        live.last_write = ()
        live.armature_is_stale = True


def forget_others(objects: Iterable[bpy.types.Object]) -> None:
    """Drop what is kept of any but these objects, as of deleted ones."""
    kept = {obj.session_uid for obj in objects}
    for known in (_live, particle_reports):
        for uid in [uid for uid in known if uid not in kept]:
            del known[uid]


def note_mesh_change(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> None:
    """Have the object's weights and rest shape read again, unless it was a face key's slider that moved.

    Blender reports both as the same change of the mesh.
    """
    live = _live.get(obj.session_uid)
    if live is not None and live.seen_values == read_key_values(obj, depsgraph):
        live.mesh_is_stale = True


def note_armature_change(obj: bpy.types.Object) -> None:
    """Have the object's skeleton compared with the armature's."""
    live = _live.get(obj.session_uid)
    if live is not None:
        live.armature_is_stale = True


def refresh(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, is_dragging: bool = False) -> bool:
    """Bring a bound object's carrier up to the pose of a depsgraph.

    Parameters
    ----------
    obj : Object
        Original, bound.
    depsgraph : Depsgraph
        Of the viewport or of the render: each has its own pose.
    is_dragging : bool
        Whether a user waits for each step of the mouse.

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
    params = _choose_quality(obj, live, is_dragging)
    held = settings_of(obj).carrier.session_uid, transforms, params
    written = (held, values, pose.rest_to_pose.tobytes(), None if same_space else space.copy().freeze())
    if written == live.last_write:
        return False
    if params != live.binding.params:
        live.binding = replace(live.binding, params=params)
    if values != live.bound_values and not transforms:
        live.binding = live.deformer.with_points(live.binding, _mix_keys(obj, live, values))
        live.bound_values = values
    _write(obj, modifier, live, pose, transforms)
    live.last_write = written
    live.is_rough = params != _choose_quality(obj, live, False)
    return True


def _choose_quality(obj: bpy.types.Object, live: LiveObject, is_dragging: bool) -> Any:
    """The Params that an object is deformed with at this moment."""
    moment = BAKING if obj.session_uid in _baked else DRAGGING if is_dragging else ""
    chosen = read_pose_choices(settings_of(obj), live.choices.method, moment)
    return replace(live.choices.params, **chosen)


def _mix_keys(obj: bpy.types.Object, live: LiveObject, values: tuple[float, ...]) -> np.ndarray:
    """The shape of the mesh at these values of its face keys, shape (V, 3), object space."""
    if not values:
        return read_points(mesh_of(obj))  # the last key was removed
    if live.face_keys is None or live.face_keys.count != len(values):
        live.face_keys = FaceKeys(obj)
    return live.face_keys.mix(values)


def _write(obj: bpy.types.Object, modifier: bpy.types.Modifier, live: LiveObject, pose: Pose, transforms: bool) -> None:
    mesh = settings_of(obj).carrier.data
    start = time.perf_counter()
    deform = live.deformer.vertex_transforms if transforms else live.deformer.deform
    result = deform(live.binding, pose)
    _tell_pose(obj, live, 1e3 * (time.perf_counter() - start), None if transforms else result)
    if transforms:
        carriers.write_transforms(mesh, result)
    else:
        carriers.write_points(mesh, result)
    if bool(carriers.read_input(modifier, carriers.TRANSFORMS_SOCKET)) != transforms:
        carriers.write_input(modifier, carriers.TRANSFORMS_SOCKET, transforms)


def _tell_pose(obj: bpy.types.Object, live: LiveObject, milliseconds: float, points: np.ndarray | None) -> None:
    """Keep, for the panel, what a pose of particles took and what came of the volume."""
    report = particle_reports.get(obj.session_uid)
    if report is None:
        return
    _store_count(obj, report.count)  # undo may have taken it back
    report.milliseconds = milliseconds
    measure = getattr(live.deformer, "measure_volume", None)
    report.volume = None if measure is None or points is None else measure(live.binding, points)


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
    if live is not None and not live.mesh_is_stale and live.choices == choices and live.space in (None, space):
        if not live.armature_is_stale and live.skeleton.pose_names == read_pose_names(posed):
            return live
        skeleton = read_skeleton(posed, live.skeleton)
    if live is None or skeleton is not live.skeleton:
        live = prepare(obj, modifier, choices.method, posed, space, _read_bound_space(obj), live)
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
    bound_space: Matrix | None = None,
    known: LiveObject | None = None,
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
    bound_space : Matrix, optional
        The same when the object was bound, on which what fills the mesh is measured: so that it is filled alike in
        every frame; `space` if not given.
    known : LiveObject, optional
        What an earlier call has made of the object: its binding is taken where nothing has changed since.

    Raises
    ------
    SkinningError
        Where its modifiers, weights or bones do not allow it.
    """
    check_modifiers_above(obj, modifier)
    choices = _read_choices(obj, check_armature(obj, modifier), method)
    character = read_character(obj, modifier, posed, space, choices.solid_group)
    varies = bool(character.skeleton.bendy) or uses_envelopes(modifier, character.skeleton)
    deformer = DEFORMERS[method]
    bound_space = bound_space or character.space
    rest = replace(character.rest, object_to_armature=np.array(bound_space, np.float64))
    varying_space = character.space if varies else None
    if known is not None and known.rest is not None and known.choices == choices and _is_same(known.rest, rest):
        return _renew(known, skeleton=character.skeleton, groups=character.groups, space=varying_space)
    return LiveObject(
        skeleton=character.skeleton,
        groups=character.groups,
        choices=choices,
        space=varying_space,
        bound_space=bound_space,
        deformer=deformer,
        binding=deformer.bind(rest, choices.params),
        rest=rest if method in PARTICLE_METHODS else None,
    )


def _renew(known: LiveObject, **changes: Any) -> LiveObject:
    """The same with its binding, of which face keys may have changed their shapes."""
    changes["mesh_is_stale"] = changes["armature_is_stale"] = False
    if known.bound_values:
        changes |= {"binding": known.deformer.with_points(known.binding, known.rest.points), "bound_values": ()}
    if known.seen_values:
        changes |= {"last_write": (), "face_keys": None}
    return replace(known, **changes)


def _is_same(first: Any, second: Any) -> bool:
    """Whether two of Rest, or of its parts, hold the same numbers."""
    if first is None or second is None:
        return first is second
    if is_dataclass(first):
        return all(_is_same(getattr(first, one.name), getattr(second, one.name)) for one in fields(first))
    return np.array_equal(first, second)


def _read_bound_space(obj: bpy.types.Object) -> Matrix | None:
    settings = settings_of(obj)
    return settings.bound_space.copy() if settings.is_property_set("bound_space") else None  # not of older files


def _read_choices(obj: bpy.types.Object, armature: bpy.types.Object, method: str) -> Choices:
    settings = settings_of(obj)
    params = read_params(settings, method)
    solid_group = settings.particles.group if method in PARTICLE_METHODS else ""
    return Choices(method, params, settings.linear_group, solid_group, armature.name_full)


def _check_hidden(obj: bpy.types.Object) -> None:
    """See that the carrier and the watcher are there and fit the mesh."""
    settings = settings_of(obj)
    if settings.carrier is None or settings.watcher is None:
        raise SkinningError(f"A hidden object that '{obj.name}' needs was deleted: bind again")
    count, bound = len(obj.data.vertices), len(settings.carrier.data.vertices)
    if count != bound:
        raise SkinningError(f"'{obj.name}' has {count} vertices but was bound with {bound}: bind again")
