"""Ghosts: a character's meshes as other methods deform them in the current pose. Nothing of the file is changed.

A ghost is bound when it is first asked for, and again when its mesh, its bones or its settings have changed. A pose is
then computed as the live preview computes it, once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge.changes import find_changes, list_updates
from ...bridge.meshes.data import is_smooth, mesh_of, read_key_values, read_points, read_triangles
from ...bridge.per_object import PerObject
from ...deformers import METHODS, Pose, SkinningError
from ...deformers.geometry.ring_normals import Rings, find_rings
from ...settings.objects import settings_of
from ...settings.side_by_side import GHOST_LABELS, LINEAR, PRESERVE_VOLUME
from ..reports import describe_failure
from ..skin.by_python import RESHAPING_MODES
from ..skin.model import VALUES, Choices, FollowingSkin, PosableSkin, SkinSource, find_space
from ..skin.poses import Poses
from ..steps import Steps
from ..subject.character import (
    check_evaluated,
    check_modifiers_above,
    list_deformed,
    modifiers_above,
    object_to_armature,
)
from ..subject.stack import SkinnedObject, check_deformed_alone, find_deforming_modifier, resolve_skinned

# Methods that give the points of Blender's own
BLENDERS = {LINEAR: "SSD", PRESERVE_VOLUME: "DLB"}


@dataclass(frozen=True)
class GhostShape:
    """The drawn part of a mesh at rest.

    Attributes
    ----------
    triangles : int32 array, shape (T, 3)
    rings : Rings
        Neighbors from which normals are estimated.
    is_smooth : bool
        Whether its faces are shaded smooth.
    """

    triangles: np.ndarray
    rings: Rings
    is_smooth: bool


@dataclass(eq=False)
class Ghost:
    """A mesh deformed by a method.

    Attributes
    ----------
    key : str
        Of `GHOST_LABELS`.
    message : str
        Why there is none; empty if there is one.
    points : float32 array, shape (V, 3), or None
        Object space. The same array while nothing has moved.
    following : FollowingSkin or None
        The bound skin.
    tried : SkinSource or None
        The source of the last attempt to bind.
    refusal : str
        Why binding failed.
    mesh_is_stale, armature_is_stale : bool
        Whether these may have changed since.
    """

    key: str
    message: str = ""
    shape: GhostShape | None = None
    points: np.ndarray | None = None
    following: FollowingSkin | None = None
    tried: SkinSource | None = None
    refusal: str = ""
    mesh_is_stale: bool = False
    armature_is_stale: bool = True


# Of each mesh object, by key
_ghosts: PerObject[dict[str, Ghost]] = PerObject()


# Keys of ghosts that are kept though they are not shown beside the character: heat measures from them
_held: set[str] = set()


def hold_ghosts(keys: Set[str]) -> None:
    """Keep ghosts of these methods, and no longer those that were held before."""
    _held.clear()
    _held.update(keys)


def expect_changes() -> None:
    """Have bones compared, as after undo."""
    for ghost in _list_ghosts():
        ghost.armature_is_stale = True
        if ghost.following is not None:
            ghost.following.written = ()


def find_ghosted(armature: bpy.types.Object, layer: bpy.types.ViewLayer) -> list[bpy.types.Object]:
    """Meshes of a view layer that an armature deforms."""
    return list_deformed(layer, armature)


def choose_ghosts(manager: bpy.types.WindowManager, shown: str) -> list[str]:
    """Keys of the ticked ghosts, in the order of the menu, without the method that deforms the character itself."""
    return [key for key, label in GHOST_LABELS.items() if key in manager.supple_ghosts and label != shown]


def prepare_ghosts(armature: bpy.types.Object, context: bpy.types.Context) -> Steps[None]:
    """Bind all ghosts of an armature's meshes that are chosen, which may take seconds."""
    meshes = find_ghosted(armature, context.view_layer)
    keys = choose_ghosts(context.window_manager, describe_shown(meshes))
    depsgraph = context.evaluated_depsgraph_get()
    poses, pairs = Poses(depsgraph), [(obj, key) for obj in meshes for key in keys]
    for number, (obj, key) in enumerate(pairs):
        pose_ghost(obj, key, depsgraph, poses)
        yield (number + 1) / len(pairs)


def note_changes(depsgraph: bpy.types.Depsgraph) -> None:
    """Have ghosts bound again, when next asked for, whose meshes or bones have changed."""
    if not _ghosts or depsgraph.mode == "RENDER":
        return
    changed = find_changes(list_updates(depsgraph))
    meshes = {data.session_uid for data in changed if isinstance(data, bpy.types.Mesh)}
    bones_may_differ = len(meshes) < len(changed)
    for ghost in _list_ghosts():
        ghost.armature_is_stale |= bones_may_differ
    if not meshes:
        return
    for obj in bpy.data.objects:
        for key, ghost in (_ghosts.find(obj) or {}).items() if obj.type == "MESH" else ():
            if obj.data.session_uid not in meshes and not _sees_all(key):
                continue
            written = ghost.following.written if ghost.following is not None else ()
            ghost.mesh_is_stale |= not written or read_key_values(mesh_of(obj), depsgraph) == written[VALUES]


def _sees_all(key: str) -> bool:
    return key in METHODS and METHODS[key].sees_all_meshes


def keep_only(keys: Sequence[str]) -> None:
    """Drop ghosts of other methods that are not held, and of deleted objects."""
    _ghosts.keep_only(bpy.data.objects)
    for uid, ghosts in list(_ghosts.items()):
        _ghosts[uid] = {key: ghost for key, ghost in ghosts.items() if key in keys or key in _held}
        if not _ghosts[uid]:
            del _ghosts[uid]


def _list_ghosts() -> Iterator[Ghost]:
    for ghosts in _ghosts.values():
        yield from ghosts.values()


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
        Poses of the armatures in this step.

    Returns
    -------
    Ghost
        The same object each time. If it cannot be made, its message says why.
    """
    ghost = _ghosts.setdefault(obj.session_uid, {}).setdefault(key, Ghost(key))
    try:
        _follow(ghost, obj, depsgraph, poses)
        ghost.message = ghost.refusal
    except SkinningError as error:
        ghost.message = str(error)
    except Exception as error:  # noqa: BLE001  one method's fault must not stop the others, nor the drawing
        ghost.message = f"Supple failed on '{obj.name}' ({describe_failure(error)})"
    if ghost.message:
        ghost.points = None
        if ghost.following is not None:
            ghost.following.written = ()
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
    choices = Choices.read(skinned, BLENDERS.get(ghost.key, ghost.key), ghost.key in BLENDERS)
    known = ghost.tried.skeleton if ghost.tried is not None else None
    plain = posed.find_skeleton(known, ghost.armature_is_stale)
    source = SkinSource.of(skinned, choices, plain, space)
    is_known = ghost.tried is not None and source.is_bound_as(ghost.tried) and not ghost.mesh_is_stale
    if not is_known or (ghost.following is not None and not ghost.following.is_current(source)):
        _bind(ghost, source)
    ghost.armature_is_stale = False
    if ghost.following is not None:
        values = read_key_values(mesh_of(obj), depsgraph) if _has_mixed_keys(obj) else ()
        _pose(ghost, ghost.following, skinned, posed.read_pose(source.skeleton), space, values)


def _resolve(obj: bpy.types.Object) -> SkinnedObject:
    skinned = resolve_skinned(obj, find_deforming_modifier(obj))
    check_deformed_alone(skinned)
    return skinned


def _bind(ghost: Ghost, source: SkinSource) -> None:
    """Bind a ghost anew; after a failure, only once something has changed."""
    known, ghost.following = ghost.following, None
    ghost.mesh_is_stale, ghost.refusal, ghost.tried = False, "", source
    try:
        ghost.following = FollowingSkin(PosableSkin.of(source, known.bound if known is not None else None))
        ghost.shape = _read_shape(mesh_of(source.skinned.obj))
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
    ghost: Ghost,
    following: FollowingSkin,
    skinned: SkinnedObject,
    pose: Pose,
    space: Matrix,
    values: tuple[float, ...],
) -> None:
    """Compute a ghost's points, unless it has those of this pose."""
    params = following.bound.choices.read_quality(skinned.settings)
    written = (params, values, pose, space)
    if written == following.written:
        return
    ghost.points = following.bring_to(skinned.obj, params, values).pose(pose.seen_from(find_space(space)))
    following.written = written


def describe_shown(objects: Sequence[bpy.types.Object]) -> str:
    """Labels of the methods that deform the meshes as shown."""
    return ", ".join(dict.fromkeys(_describe_one(obj) for obj in objects))


def _describe_one(obj: bpy.types.Object) -> str:
    settings = settings_of(obj)
    if settings.is_bound and settings.bake != "NONE":
        return "Bake"
    if settings.is_bound and not settings.is_muted:
        return METHODS[settings.method].label if settings.method in METHODS else settings.method
    try:
        modifier = _resolve(obj).replaced
    except SkinningError:
        return "Armature modifier"
    return GHOST_LABELS[PRESERVE_VOLUME if modifier.use_deform_preserve_volume else LINEAR]
