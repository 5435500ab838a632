"""Characters of earlier versions: they play on as saved, until Update Character binds them anew.

If nodes of an earlier version deform a mesh, Supple leaves it alone. Today's methods deform meshes that Python
deformed. All knowledge of earlier versions is here, except `nodes.groups.is_former_group`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import bpy
import numpy as np

from ...bridge.animation.drivers import remove_drivers
from ...bridge.changes import without_changes
from ...bridge.meshes.data import mesh_of, read_evaluated_points
from ...bridge.modifiers import LINEAR_GROUP, is_from_library, is_supple_modifier, remove_modifier
from ...bridge.rigs import carriers
from ...bridge.rigs.actions import alone, list_players, set_frames
from ...deformers import DEFAULT_METHOD, PUBLISHED_METHOD, SkinningError
from ...deformers.method import BLENDER
from ...deformers.skinning import ssd
from ...nodes.graph import HIDDEN
from ...nodes.groups import OWN
from ...settings.events import muted
from ...settings.objects import PARTICLE_METHODS, SETTINGS_VERSION, settings_of
from ..left_out import LeftOut, choose_usable
from ..reports import version_reports
from ..steps import take_all
from ..subject.corrected import find_deforming_armature
from ..subject.stack import (
    check_armature,
    check_not_baked,
    either,
    find_replaced_modifier,
    is_former,
    list_former,
    pass_animation,
    read_toggles,
    write_toggles,
)
from .bind import bind_prepared, check_skinned, prepare, prepare_each, remove_unused

# How the names of Armature modifiers begin that earlier versions have added
ARMATURES = "Supple Armature", "Supple Linear"

# How the names of attributes begin that their nodes read
ATTRIBUTES = (
    "supple_set_", "supple_weights_", "supple_share_", "supple_center", "supple_lean", "supple_allowance",
    "supple_sdef", "supple_linear", "supple_joint", "supple_limits", "supple_at_rest", "supple_height",
    "supple_twist_", "supple_weight_",
)  # fmt: skip

# Frames of an action, besides that which is shown, in which shapes are compared
FRAMES = 8

# Meters that a shape changes by without a word
SAME = 1e-4


def migrate(obj: bpy.types.Object) -> None:
    """Convert the settings that an earlier version has stored: an object that its nodes deform is not bound."""
    settings = settings_of(obj)
    is_kept = obj.override_library is not None and is_former(obj)  # Blender stores no version that was the default
    if settings.version >= SETTINGS_VERSION and not is_kept:
        return
    with muted():
        if settings.version < 7:  # neither twists nor limbs were known, nor did hidden objects bear a mark
            settings.twist, settings.limb_roots = "OFF", 0.0
            for hidden in (settings.carrier, settings.watcher):
                carriers.mark_former(hidden)
        elif settings.twist not in ("OFF", "AUTO"):
            settings.twist = "AUTO"
        if settings.method == DEFAULT_METHOD:
            settings.limb_roots = 0.0
        same = (ssd.INFO.key, PUBLISHED_METHOD, *PARTICLE_METHODS)
        if settings.method == PUBLISHED_METHOD and settings.limb_roots > 0.0:
            settings.method = DEFAULT_METHOD
        settings.is_bound, settings.version = not is_former(obj), SETTINGS_VERSION
    armature = find_deforming_armature(obj)
    if armature is not None and settings.is_bound and settings.bake == "NONE" and settings.method not in same:
        version_reports.keep(
            armature, f"'{armature.name}' was bound by another version of Supple and may look slightly different now"
        )


@dataclass(frozen=True)
class Change:
    """How far the shape of a mesh has changed: at most, in meters, and where: at a bone.

    Without a distance, other vertices are shown than before.
    """

    name: str
    distance: float | None = None
    bone: str = ""

    def describe(self) -> str:
        """A sentence such as "Body: up to 3 mm at 'forearm.L'"."""
        if self.distance is None:
            return f"{self.name}: not compared"
        if self.distance < SAME:
            return f"{self.name}: the same"
        return f"{self.name}: up to {1000.0 * self.distance:.3g} mm at '{self.bone}'"


@dataclass(frozen=True)
class Updated:
    """What `update_former` has done.

    Attributes
    ----------
    changes : list of Change
        Of each mesh, that of the largest last.
    """

    changes: list[Change] = field(default_factory=list)
    left_out: LeftOut = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def hide_groups() -> None:
    """Hide Supple's groups from Blender's menus, such as Add Modifier, where the first version put them."""
    for group in bpy.data.node_groups:
        if not group.is_editable or not any(key.startswith(OWN) for key in cast(Any, group).keys()):
            continue
        if group.name.startswith("Supple"):
            group.name = HIDDEN + group.name
        if group.bl_idname == "GeometryNodeTree":
            cast(bpy.types.GeometryNodeTree, group).is_modifier = False


def update_former(objects: Sequence[bpy.types.Object]) -> Updated:
    """Remove an earlier version's modifiers from meshes, and bind them anew, with all objects of the same meshes.

    Raises
    ------
    SkinningError
        If none can be updated; nothing is changed then.
    """
    meshes = {obj.data for obj in objects}
    objects = [*objects, *(obj for obj in list_former(bpy.data.objects) if obj.data in meshes and obj not in objects)]
    if not objects:
        raise SkinningError("Nothing to update: no mesh was bound by an earlier version of Supple")
    usable, left_out = choose_usable(objects, _check_own, check_not_baked, _check_bindable)
    with without_changes():
        before = _read_shapes(usable)
        for obj in usable:
            _take_off(obj)
        for mesh in {mesh_of(obj) for obj in usable}:
            _clear_mesh(mesh)
        remove_unused()
        bpy.context.view_layer.update()
        prepared = take_all(prepare_each(usable))
        bound = bind_prepared(prepared)
        after = _read_shapes(bound)
        for obj in bound:
            obj.update_tag()  # by Python, it is still posed as in the last of the frames
    bpy.context.view_layer.update()
    changes = [_compare(obj, before[obj], after[obj]) for obj in bound]
    changes.sort(key=lambda change: change.distance or 0.0)
    return Updated(changes, [*left_out, *prepared.failed], prepared.notes)


def _check_own(obj: bpy.types.Object) -> None:
    """Raise SkinningError if the modifiers of an object are linked from another file."""
    if obj.library is not None or any(is_supple_modifier(each) and is_from_library(each) for each in obj.modifiers):
        raise SkinningError(f"'{obj.name}' was bound in another file by an earlier version: update it there")


def _check_bindable(obj: bpy.types.Object) -> None:
    """Raise SkinningError if an object could not be bound anew."""
    prepare(check_skinned(obj), settings_of(obj).method, None)


# Points of objects in several frames, each of shape (V', 3), object space
Shapes = dict[bpy.types.Object, list[np.ndarray]]


def _read_shapes(objects: Sequence[bpy.types.Object]) -> Shapes:
    """The shapes of objects in the current frame, and in frames of their armatures' actions."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    shapes = {obj: [read_evaluated_points(obj, depsgraph)] for obj in objects}
    by_armature: dict[bpy.types.Object, list[bpy.types.Object]] = {}
    for obj in objects:
        by_armature.setdefault(check_armature(obj, find_replaced_modifier(obj)), []).append(obj)
    for armature, own in by_armature.items():
        if not (times := _choose_times(armature)):
            continue
        with alone(armature, None) as scene:
            for obj in own:
                scene.collection.objects.link(obj)
            for depsgraph in set_frames(scene, times):
                for obj in own:
                    shapes[obj].append(read_evaluated_points(obj, depsgraph))
    return shapes


def _choose_times(armature: bpy.types.Object) -> list[float]:
    """Times, evenly, of the actions that move an armature now; none if no action does."""
    data = [player.animation_data for player in list_players(armature)]
    actions = [each.action for each in data if each is not None and each.action is not None]
    ends = [end for action in actions for end in action.frame_range]
    return np.unique(np.linspace(min(ends), max(ends), FRAMES).round()).tolist() if ends else []


def _compare(obj: bpy.types.Object, before: list[np.ndarray], after: list[np.ndarray]) -> Change:
    """The vertex of a mesh that has moved farthest, and the distance in world space."""
    count = len(mesh_of(obj).vertices)
    if [points.shape for points in before] != [points.shape for points in after] or len(before[0]) < count:
        return Change(obj.name)
    to_world = bpy.context.scene.unit_settings.scale_length * np.array(obj.matrix_world)[:3, :3]
    moved = [(new - old)[:count] @ to_world.T for old, new in zip(before, after, strict=True)]
    distances = np.linalg.norm(moved, axis=2).max(axis=0)
    farthest = int(distances.argmax())
    bones = find_deforming_armature(obj).data.bones
    weights = [(entry.weight, obj.vertex_groups[entry.group].name) for entry in mesh_of(obj).vertices[farthest].groups]
    own = [(weight, name) for weight, name in weights if name in bones and bones[name].use_deform]
    return Change(obj.name, float(distances[farthest]), max(own, default=(0.0, ""))[1])


def _take_off(obj: bpy.types.Object) -> None:
    """Take the modifiers of an earlier version, and their drivers, off an object."""
    settings, replaced = settings_of(obj), find_replaced_modifier(obj)
    nodes = list(filter(is_supple_modifier, obj.modifiers))
    toggles = either(*map(read_toggles, (replaced, *nodes)))
    for modifier in nodes:
        pass_animation(modifier, replaced)
    uids = {uid for uid in settings.own_modifiers if uid}
    armatures = [
        each for each in obj.modifiers
        if each.type == "ARMATURE" and each != replaced
        and (each.persistent_uid in uids or each.name.startswith(ARMATURES))
    ]  # fmt: skip
    for name in [modifier.name for modifier in (*nodes, *armatures)]:
        modifier = obj.modifiers[name]
        remove_drivers(obj, (f"{modifier.path_from_id()}.", f"{modifier.path_from_id()}["))
        remove_modifier(obj, modifier, replaced)
    with muted():
        settings.property_unset("own_modifiers")
        settings.evaluate = BLENDER
    write_toggles(replaced, toggles)


def _clear_mesh(mesh: bpy.types.Mesh) -> None:
    """Remove attributes and groups of a mesh that nodes of an earlier version have read, and no longer do."""
    users = [obj for obj in bpy.data.objects if obj.data == mesh]
    if mesh.library is not None or any(map(is_former, users)):
        return
    for name in [name for name in mesh.attributes.keys() if name.startswith(ATTRIBUTES)]:
        mesh.attributes.remove(mesh.attributes[name])
    if (group := users[0].vertex_groups.get(LINEAR_GROUP)) is not None:
        users[0].vertex_groups.remove(group)
