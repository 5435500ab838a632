"""Ghosts: a character's meshes as other methods deform them in the current pose. Nothing of the file is changed.

A ghost is bound when it is first asked for, and again when its mesh, its bones or its settings have changed. A pose is
then computed as the live preview computes it, once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge.armatures import Skeleton
from ...bridge.changes import find_changes
from ...bridge.meshes import is_smooth, mesh_of, read_key_values, read_points, read_triangles
from ...deformers import METHODS, Pose, SkinningError
from ...deformers.algebra.polar import find_rigid
from ...deformers.geometry.ring_normals import Rings, find_rings
from ...settings.choices import read_pose_choices
from ...settings.objects import settings_of
from ...settings.side_by_side import GHOST_LABELS, LINEAR, PRESERVE_VOLUME
from ..character import (
    check_evaluated,
    check_modifiers_above,
    list_deformed,
    modifiers_above,
    object_to_armature,
)
from ..skin.by_python import Choices, LiveObject, prepare_known, read_blenders_choices, read_choices
from ..skin.live import RESHAPING_MODES, find_space, mix_keys
from ..skin.poses import Poses
from ..stack import SkinnedObject, find_deforming_modifier, is_flipped, resolve_skinned
from ..surfaces import find_bound_space
from ..twist import with_fractions

BLENDERS = {LINEAR: "SSD", PRESERVE_VOLUME: "DLB"}
"""Methods that give the points of Blender's own."""

NOT_RIGID = "Bones are scaled: as Dual Quaternion, which differs"
"""Note on a ghost of Preserve Volume: see docs/dlb.md."""


@dataclass(frozen=True)
class GhostShape:
    """A mesh at rest, as far as it is drawn.

    Attributes
    ----------
    triangles : int32 array, shape (T, 3)
    rings : Rings
        What normals are estimated from.
    is_smooth : bool
        Whether its faces are shaded smooth.
    """

    triangles: np.ndarray
    rings: Rings
    is_smooth: bool


@dataclass
class Ghost:
    """A mesh as a method deforms it.

    Attributes
    ----------
    key : str
        Of `GHOST_LABELS`.
    message : str
        Why there is none; empty where there is one.
    note : str
        In what it differs from its label.
    shape : GhostShape or None
    points : float32 array, shape (V, 3), or None
        Object space. The same array while nothing has moved.
    live : LiveObject or None
        What is bound.
    bound_by : tuple
        What Bind was tried with: choices and bones.
    refusal : str
        Why it could not be bound.
    written : tuple
        What the points follow from: settings, values of the face keys, pose, space.
    mesh_is_stale, armature_is_stale : bool
        Whether these may have changed since Bind.
    """

    key: str
    message: str = ""
    note: str = ""
    shape: GhostShape | None = None
    points: np.ndarray | None = None
    live: LiveObject | None = None
    bound_by: tuple = ()
    refusal: str = ""
    written: tuple = ()
    mesh_is_stale: bool = False
    armature_is_stale: bool = True


_ghosts: dict[tuple[int, str], Ghost] = {}
"""By `session_uid` of the mesh object, and key."""


_held: set[str] = set()
"""Keys of ghosts that are kept though they are not shown beside the character: heat measures from them."""


def hold_ghosts(keys: Set[str]) -> None:
    """Keep ghosts of these methods, and no longer those that were held before."""
    _held.clear()
    _held.update(keys)


def forget_ghosts() -> None:
    """Drop all ghosts that are not held, as when they are no longer shown."""
    for pair in [pair for pair in _ghosts if pair[1] not in _held]:
        del _ghosts[pair]


def expect_changes() -> None:
    """Have bones compared, as after undo."""
    for ghost in _ghosts.values():
        ghost.armature_is_stale = True
        ghost.written = ()


def find_ghosted(armature: bpy.types.Object, layer: bpy.types.ViewLayer) -> list[bpy.types.Object]:
    """Meshes of a view layer that an armature deforms."""
    return list_deformed(layer, armature)


def choose_ghosts(manager: bpy.types.WindowManager, shown: str) -> list[str]:
    """Keys of the ghosts that are ticked, in the order of the menu; without what deforms the character itself."""
    return [key for key, label in GHOST_LABELS.items() if key in manager.supple_ghosts and label != shown]


def prepare_ghosts(
    armature: bpy.types.Object,
    context: bpy.types.Context,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Bind all ghosts of an armature's meshes that are chosen, which may take seconds.

    Parameters
    ----------
    armature : Object
    context : Context
    progress : callable, optional
        Called with the share that is done, 0 to 1.
    """
    meshes = find_ghosted(armature, context.view_layer)
    keys = choose_ghosts(context.window_manager, describe_shown(meshes))
    depsgraph = context.evaluated_depsgraph_get()
    poses = Poses(depsgraph)
    for number, obj in enumerate(meshes):
        for key in keys:
            pose_ghost(obj, key, depsgraph, poses)
        if progress is not None:
            progress((number + 1) / len(meshes))


def note_changes(depsgraph: bpy.types.Depsgraph) -> None:
    """Have ghosts bound again, when next asked for, whose meshes or bones have changed."""
    if not _ghosts or depsgraph.mode == "RENDER":
        return
    changed = find_changes(depsgraph)
    meshes = {data.session_uid for data in changed if isinstance(data, bpy.types.Mesh)}
    bones_may_differ = len(meshes) < len(changed)
    for ghost in _ghosts.values():
        ghost.armature_is_stale |= bones_may_differ
    if not meshes:
        return
    objects = {obj.session_uid: obj for obj in bpy.data.objects if obj.type == "MESH"}
    for (uid, key), ghost in _ghosts.items():
        obj = objects.get(uid)
        if obj is not None and (obj.data.session_uid in meshes or _sees_all(key)):
            is_slider = len(ghost.written) > 1 and read_key_values(mesh_of(obj), depsgraph) != ghost.written[1]
            ghost.mesh_is_stale |= not is_slider


def _sees_all(key: str) -> bool:
    return key in METHODS and METHODS[key].sees_all_meshes


def keep_only(keys: Sequence[str]) -> set[tuple[int, str]]:
    """Drop ghosts of deleted objects and of other methods; return those that are left, by `session_uid` and key."""
    uids = {obj.session_uid for obj in bpy.data.objects}
    for uid, key in [pair for pair in _ghosts if pair[0] not in uids or pair[1] not in {*keys, *_held}]:
        del _ghosts[uid, key]
    return set(_ghosts)


def pose_ghost(obj: bpy.types.Object, key: str, depsgraph: bpy.types.Depsgraph, poses: Poses) -> Ghost:
    """A mesh in the current pose as a method deforms it, with its shape keys; without other modifiers.

    Parameters
    ----------
    obj : Object
        Mesh, with an Armature modifier; bound or not.
    key : str
        Of `GHOST_LABELS`.
    depsgraph : Depsgraph
        Of the viewport.
    poses : Poses
        What was read of the armatures in this step.

    Returns
    -------
    Ghost
        The same one each time. Where it can not be made, its message says why.
    """
    ghost = _ghosts.setdefault((obj.session_uid, key), Ghost(key))
    try:
        _follow(ghost, obj, depsgraph, poses)
        ghost.message = ghost.refusal
    except SkinningError as error:
        ghost.message = str(error)
    except Exception as error:  # noqa: BLE001  one method's fault must not stop the others, nor the drawing
        ghost.message = f"Supple failed on '{obj.name}' ({type(error).__name__}: {error})"
    if ghost.message:
        ghost.points, ghost.written = None, ()
    return ghost


def _follow(ghost: Ghost, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, poses: Poses) -> None:
    """Bring a ghost up to the pose; while its mesh or its bones are being edited, it stays as it is."""
    skinned = _resolve(obj)
    if skinned.armature.mode == "EDIT" or obj.mode in RESHAPING_MODES:
        if ghost.points is None:
            raise SkinningError(f"'{obj.name}' is being edited: leave Edit Mode or Sculpt Mode first")
        return
    posed, evaluated = poses.of(skinned.armature), obj.evaluated_get(depsgraph)
    check_evaluated(obj.name, evaluated)
    check_evaluated(skinned.armature.name, posed.obj)
    check_modifiers_above(skinned, modifiers_above(obj, skinned.deforming))
    space = object_to_armature(evaluated, posed.obj)
    plain = posed.find_skeleton(ghost.live.skeleton if ghost.live else None, ghost.armature_is_stale)
    choices = _read_choices(skinned, ghost.key)
    skeleton = with_fractions(plain, skinned.armature, choices.twist)
    bound_by = (choices, skeleton.source, skeleton.joints.fractions)
    has_moved = ghost.live is not None and ghost.live.space not in (None, space)  # envelopes and B-Bones see it
    if ghost.bound_by != bound_by or has_moved or ghost.mesh_is_stale:
        ghost.bound_by = bound_by
        _bind(ghost, skinned, skeleton, space)
    ghost.armature_is_stale = False
    if ghost.live is not None:
        values = read_key_values(mesh_of(obj), depsgraph) if _has_mixed_keys(obj) else ()
        _pose(ghost, ghost.live, skinned, posed.read_pose(skeleton), space, values)


def _resolve(obj: bpy.types.Object) -> SkinnedObject:
    return resolve_skinned(obj, find_deforming_modifier(obj))


def _read_choices(skinned: SkinnedObject, key: str) -> Choices:
    """What a ghost is bound with: the settings of its mesh, but for Blender's own methods, which have none."""
    if key not in BLENDERS:
        return read_choices(skinned, key)
    return read_blenders_choices(skinned, BLENDERS[key])


def _bind(ghost: Ghost, skinned: SkinnedObject, skeleton: Skeleton, space: Matrix) -> None:
    """Bind a ghost anew; where that fails, it is not tried again before something has changed."""
    ghost.mesh_is_stale, ghost.refusal, ghost.written = False, "", ()
    known, ghost.live = ghost.live, None
    choices = ghost.bound_by[0]
    try:
        bound_space = find_bound_space(skinned.obj, skinned.armature)
        ghost.live = prepare_known(skinned, choices, skeleton, space, bound_space, known)
        ghost.shape = _read_shape(mesh_of(skinned.obj))
    except SkinningError as error:
        ghost.refusal = str(error)


def _read_shape(mesh: bpy.types.Mesh) -> GhostShape:
    triangles = read_triangles(mesh)
    return GhostShape(triangles, find_rings(read_points(mesh), triangles), is_smooth(mesh))


def _has_mixed_keys(obj: bpy.types.Object) -> bool:
    """Whether a mesh has shape keys that are mixed by their values."""
    keys = mesh_of(obj).shape_keys
    return keys is not None and keys.use_relative and not obj.show_only_shape_key


def _pose(
    ghost: Ghost, live: LiveObject, skinned: SkinnedObject, pose: Pose, space: Matrix, values: tuple[float, ...]
) -> None:
    """Compute a ghost's points, unless it has those of this pose."""
    params = live.choices.params
    if ghost.key not in BLENDERS:
        params = replace(params, **read_pose_choices(skinned.settings, ghost.key))
    written = (params, values, pose, space)
    if written == ghost.written:
        return
    if params != live.binding.params:
        live.binding = replace(live.binding, params=params)
    if values != live.bound_values:
        live.binding = live.deformer.with_points(live.binding, mix_keys(skinned.obj, live, values))
        live.bound_values = values
    ghost.points = live.deformer.deform(live.binding, pose.seen_from(find_space(space)))
    is_rigid = ghost.key != PRESERVE_VOLUME or bool(find_rigid(pose.rest_to_pose[:, :3, :3]).all())
    ghost.note = "" if is_rigid else NOT_RIGID
    ghost.written = written


def describe_shown(objects: Sequence[bpy.types.Object]) -> str:
    """What deforms these meshes as they are shown: the labels of the methods."""
    return ", ".join(dict.fromkeys(_describe_one(obj) for obj in objects))


def _describe_one(obj: bpy.types.Object) -> str:
    settings = settings_of(obj)
    if settings.is_bound and settings.bake != "NONE":
        return "Bake"
    if settings.is_bound and not is_flipped(obj):
        return METHODS[settings.method].label if settings.method in METHODS else settings.method
    try:
        modifier = _resolve(obj).replaced
    except SkinningError:
        return "Armature modifier"
    return GHOST_LABELS[PRESERVE_VOLUME if modifier.use_deform_preserve_volume else LINEAR]
