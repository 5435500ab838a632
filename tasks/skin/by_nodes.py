"""Evaluation by nodes: the node modifier computes the deformation, and the mesh holds the influences.

Python only sets it up, and follows changes of weights, bones and settings. A frame needs none of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge import modifiers
from ...bridge.files.render_frames import print_line
from ...bridge.meshes.data import mesh_of
from ...bridge.meshes.influences import has_sdef, remove_influences, write_influences, write_turns
from ...bridge.modifiers import LINEAR_GROUP, clear_inputs
from ...bridge.per_object import PerObject
from ...bridge.removal import outside_handlers
from ...bridge.rigs.armatures import Skeleton, read_skeleton
from ...bridge.rigs.fractions import count_hints, round_up
from ...bridge.rigs.joints import (
    add_sets,
    bring_limits,
    ensure_joints_copy,
    ensure_joints_object,
    find_posing,
    has_groups,
    is_joints_copy,
    mix_linearly,
    remove_unused_joints_objects,
    tell_twists,
)
from ...bridge.rigs.spread_twists import find_lines
from ...bridge.rigs.twist_drivers import (
    TwistDriver,
    drive_twists,
    find_hint_drivers,
    find_turn_drivers,
    retarget_twists,
    stop_driving,
)
from ...deformers import SkinningError
from ...deformers.rig.influences import Influences
from ...deformers.rig.reach import Reach
from ...deformers.rig.twist_packing import count_bent
from ...nodes.groups import (
    VERSION,
    VERSION_KEY,
    ensure_deformation,
    ensure_joints,
    ensure_native,
    hide_groups,  # noqa: F401  called when a file is opened
    is_deformation,
    is_deformation_by,
    is_native_group,
    remove_unused_groups,
)
from ...nodes.skin import JOINTS_INPUT, LINEAR_ATTRIBUTE
from ...settings.choices import read_params
from ...settings.objects import needs_supple, settings_of
from ..reports import version_reports
from ..subject.character import (
    changes_weights,
    check_bound_groups,
    modifiers_above,
    object_to_armature,
)
from ..subject.stack import (
    BoundObject,
    check_blends,
    check_deformed_once,
    find_supple_modifier,
    resolve,
)
from ..subject.surfaces import find_bound_space, is_one_changed
from ..subject.twist import find_reach
from .by_armature import (
    PRESERVES_VOLUME,
    follow_override,
    have_armatures,
    install_armatures,
    is_native,
    remove_armatures,
    shares_influences,
    write_linear_group,
)
from .model import Choices, SkinSource
from .node_checks import MOVED, list_sharing_nodes
from .node_setup import NodeSetup, find_source, has_keyed_toggles, is_interpolated, prepare, prepare_source  # noqa: F401  `prepare` as `Evaluator` has it
from .poses import find_skeleton
from .step import Step, is_baking


@dataclass(frozen=True)
class Surroundings:
    """What an object's nodes depend on besides mesh and bones."""

    choices: Choices
    has_own_version: bool
    """Whether the node group is of this version of Supple."""
    modifiers: tuple[tuple[str, bool, bool], ...]
    """Kinds of those above, and whether they mirror vertex groups, and change weights."""
    is_interpolated: bool
    """Whether any that reads the mesh's influences has modifiers above that may add vertices."""
    drivers: tuple[TwistDriver, ...]
    """What tells nodes how far joints twist."""


@dataclass
class _Seen:
    """What an object's nodes were last brought up to date with."""

    skeleton: Skeleton
    surroundings: Surroundings
    space: Matrix
    """From object to armature space, as the object was bound."""
    problem: str
    """Why they could not be."""
    armature_is_stale: bool = False
    joints_are_stale: bool = False
    """Whether the joints object may be gone, or that of another armature."""
    setup: NodeSetup | None = None
    """What they were given; None where that is a library's, or there is a problem."""
    setup_is_stale: bool = False
    """Whether undo, or somebody by hand, may have changed what they were given."""
    weights_are_stale: bool = False
    """Whether weights of Supple's own may be among that, which take long to read."""
    reach: Reach | None = None
    """What its bones can do, as it was last looked at."""
    given: tuple = ()
    """Node group and inputs that the modifier was given: see `_read_given`."""


_seen: PerObject[_Seen] = PerObject()
"""The bound objects that nodes deform."""


def is_installed(obj: bpy.types.Object) -> bool:
    """Whether a bound object's modifier computes the deformation itself."""
    return is_deformation(find_supple_modifier(obj).node_group)


def is_as_chosen(obj: bpy.types.Object) -> bool:
    """Whether a bound object is deformed by nodes or by Python as its settings say, and by nodes with their method."""
    settings, group = settings_of(obj), find_supple_modifier(obj).node_group
    if needs_supple(settings):
        return not is_deformation(group)
    if is_deformation(group) and group.get(VERSION_KEY) != VERSION:
        return True  # what its library's Supple has made
    return is_deformation_by(group, settings.method, read_params(settings, settings.method))


def install(bound: BoundObject, setup: NodeSetup) -> None:
    """Have the node modifier deform a bound object by itself."""
    apply(bound, setup)


def forget(obj: bpy.types.Object) -> None:
    """Have an object's nodes prepared anew when they are next looked at."""
    _seen.forget(obj)


def apply(
    bound: BoundObject, setup: NodeSetup, surroundings: Surroundings | None = None, weights_are_stale: bool = True
) -> None:
    """Give an object's node modifier what it takes.

    Parameters
    ----------
    setup : NodeSetup
        What `prepare` has found.
    surroundings : Surroundings, optional
        The object's, if they were read already.
    weights_are_stale : bool
        Whether the mesh may not have Supple's own vertex group as it is to be.
    """
    former = _read_joints(bound.supple)
    if setup.influences is None:
        _blend_by_armature(bound, setup, weights_are_stale)
    else:
        _blend_by_nodes(bound, setup, setup.influences)
    joints = _read_joints(bound.supple)
    if former not in (None, joints):
        outside_handlers(remove_unused_joints_objects)
    choices, skeleton = setup.choices, setup.character.skeleton
    if surroundings is None:
        source = SkinSource(bound, choices, skeleton, setup.character.space)
        surroundings = _read_surroundings(bound, modifiers_above(bound.obj, bound.supple), source)
    if joints is not None:
        tell_twists(joints, surroundings.drivers)
    elif setup.twists is not None:
        drive_twists(bound.supple, bound.armature, find_turn_drivers(skeleton, setup.twists, setup.bound_space))
    surroundings = replace(surroundings, has_own_version=True)
    space = find_bound_space(bound.obj, bound.armature)
    given = _read_given(bound.supple)
    _seen.keep(bound.obj, _Seen(skeleton, surroundings, space, "", setup=setup, given=given))


def _blend_by_armature(bound: BoundObject, setup: NodeSetup, weights_are_stale: bool) -> None:
    """Have Blender's own Armature modifier blend the joints."""
    choices = setup.choices
    spread, twists, counts, lines = setup.character.skeleton.joints.spread, setup.twists, (0, 0, 0), None
    if twists is not None and spread is not None:
        counts = len(twists), count_bent(twists), round_up(len(spread.joints))
        lines = find_lines(twists, spread, setup.bound_space)
    group = ensure_native(choices.method, choices.params, *counts)
    if bound.supple.node_group != group:
        _leave_inputs(bound.supple)
        bound.supple.node_group = group
    modifiers.name_supple_modifier(bound.supple, follows_weights=True)
    linear_group = choices.linear_group or (LINEAR_GROUP if setup.linear is not None else "")
    if weights_are_stale and not choices.linear_group:
        write_linear_group(bound.obj, setup.linear)
    write_turns(mesh_of(bound.obj), twists, lines, shares_influences(bound.obj))
    install_armatures(bound, choices.method, linear_group)


def _leave_inputs(supple: bpy.types.Modifier) -> None:
    """Have a node modifier use no objects, and no drivers, by what its group has for inputs."""
    clear_inputs(supple)
    stop_driving(supple)


def _blend_by_nodes(bound: BoundObject, setup: NodeSetup, influences: Influences) -> None:
    """Have nodes blend the joints, by what the mesh and the joints object hold."""
    choices, skeleton, supple = setup.choices, setup.character.skeleton, bound.supple
    remove_armatures(bound.obj)
    has_twists = skeleton.joints.fractions is not None, skeleton.joints.spread is not None
    counts = bool(skeleton.bendy), count_hints(skeleton)
    joints_group = ensure_joints(choices.method, choices.params, *counts, *has_twists)
    joints = ensure_joints_object(bound.armature, skeleton, joints_group)
    indices = add_sets(joints, influences)
    linear_group = choices.linear_group or ("" if setup.linear is None else LINEAR_ATTRIBUTE)
    if linear_group:
        mix_linearly(joints)
    if setup.shares is not None:
        bring_limits(joints)
    set_count = 0 if influences.shares is None else len(influences.which)
    passes = 0 if setup.twists is None else len(setup.twists)
    group = ensure_deformation(choices.method, choices.params, set_count, influences.is_interpolable, passes)
    if supple.node_group != group:
        _leave_inputs(supple)
        supple.node_group = group
    modifiers.name_supple_modifier(supple, follows_weights=False)
    shown = setup.centers, setup.shares, setup.at_rest, setup.linear, setup.twists
    write_influences(mesh_of(bound.obj), influences, indices, *shown, shares_influences(bound.obj))
    inputs = {
        JOINTS_INPUT: joints,
        "Linear Group": linear_group,
        "Vertex Group": choices.vertex_group,
        "Invert": choices.invert,
        "Bulge Limit": choices.params.bulge_limit,
        "Contact": choices.params.contact,
        "Shape Changes": setup.shape_changes,
        "SDEF": has_sdef(influences, setup.centers),
    }
    _write_inputs(supple, inputs)


def remove_unused_influences() -> None:
    """Take influences off all meshes of which no object reads them, such as one that an object had before another."""
    used = {obj.data for obj in bpy.data.objects if obj.type == "MESH" and any(map(_reads_influences, obj.modifiers))}
    for mesh in bpy.data.meshes:
        if mesh not in used and mesh.library is None:
            remove_influences(mesh)


def _reads_influences(modifier: bpy.types.Modifier) -> bool:
    if not is_deformation(getattr(modifier, "node_group", None)):
        return False
    return settings_of(modifier.id_data).is_bound or not modifiers.is_from_library(modifier)


def keep_only(_objects: Iterable[bpy.types.Object]) -> None:
    """Have the joints objects of all objects looked at: some may have been deleted or duplicated."""
    for seen in _seen.values():
        seen.joints_are_stale = True


def expect_undo() -> None:
    """Have all armatures compared, as after undo, and nodes given again what they take, but for weights.

    A mesh that undo has changed Blender reports. Where a state was stored before nodes had followed it, undo brings
    back what they had before.
    """
    for seen in _seen.values():
        seen.armature_is_stale = seen.setup_is_stale = True


def expect_other_setup(obj: bpy.types.Object) -> None:
    """Have an object's nodes given again what they take, as where Blender reports a mesh that is the same."""
    if seen := _seen.find(obj):
        seen.setup_is_stale = seen.weights_are_stale = True


def follows_settings(_obj: bpy.types.Object) -> bool:
    """Nodes are given other settings by binding the object anew."""
    return False


def follow(obj: bpy.types.Object, step: Step) -> bool:
    """Bring a bound object's nodes up to a step: whether they were looked at. A pose by itself needs nothing."""
    if step.is_render or (step.is_pose_alone and is_up_to_date(obj)):
        return False
    if is_baking(obj) and not step.changed and not is_rough(obj):
        return False
    refresh(obj, step)
    return True


def bring_to_pose(obj: bpy.types.Object, _step: Step) -> None:
    """A pose by itself needs nothing; raises SkinningError where the modifier was removed."""
    find_supple_modifier(obj)


def is_rough(obj: bpy.types.Object) -> bool:
    """Whether an object's nodes have what was found before a stroke of a brush."""
    seen = _seen.find(obj)
    return seen is not None and seen.setup is not None and seen.setup.is_rough


def is_up_to_date(obj: bpy.types.Object) -> bool:
    """Whether an object's nodes were looked at, and nothing is left to look at but changes that Blender reports."""
    seen = _seen.find(obj)
    if seen is None or seen.problem:
        return False
    if seen.skeleton.bendy and (seen.setup is None or seen.setup.influences is not None):
        return False
    return not (seen.armature_is_stale or seen.joints_are_stale or seen.setup_is_stale or is_rough(obj))


def refresh(obj: bpy.types.Object, step: Step) -> None:
    """Update what nodes cannot track: changed bones, weights or modifiers.

    Parameters
    ----------
    obj : Object
        Bound, evaluated by nodes.

    Raises
    ------
    SkinningError
        Where the nodes can not be brought up to date; they are left as they are.
    """
    bound, changed = resolve(obj), step.changed
    armature = bound.armature
    seen = _seen.find(obj)
    if seen is not None and any(isinstance(data, bpy.types.Armature) for data in changed):
        seen.joints_are_stale = True
        seen.armature_is_stale = seen.armature_is_stale or armature.data in changed
    if mesh_of(obj).is_editmode or armature.mode == "EDIT":
        return
    check_deformed_once(bound)
    above = modifiers_above(obj, bound.supple)
    choices = Choices.read(bound, bound.settings.method)
    source = find_source(bound, choices, _read_changed_skeleton(armature, seen, step.skeletons))
    skeleton, surroundings = source.skeleton, _read_surroundings(bound, above, source)
    if _is_linked(bound):
        _follow_library(bound, surroundings.choices)
        _seen.keep(obj, _Seen(skeleton, surroundings, object_to_armature(obj, armature), ""))
        return
    is_new = seen is None or obj.data in changed or is_one_changed(obj, changed)
    is_new = is_new or (is_rough(obj) and not step.is_dragging)
    is_new = is_new or surroundings != seen.surroundings or skeleton is not seen.skeleton
    if seen is not None and seen.setup is not None and seen.given != _read_given(bound.supple):
        seen.setup_is_stale = True
    if seen is not None and seen.setup_is_stale:
        is_new = is_new or seen.space != find_bound_space(obj, armature)
    if seen is not None and seen.joints_are_stale:
        seen.joints_are_stale = False
        is_new = is_new or not _has_joints(bound, skeleton)
    is_new = is_new or _has_other_blend(bound, skeleton, seen)
    if seen is None or is_new:
        seen = _seen.keep(obj, _bring_up_to_date(bound, source, surroundings, above))
        _bring_along(bound, step)
    elif seen.setup_is_stale and seen.setup is not None:
        apply(bound, seen.setup, surroundings, seen.weights_are_stale)
    if seen.problem:
        raise SkinningError(seen.problem)
    by_nodes = seen.setup is None or seen.setup.influences is not None
    if by_nodes:
        check_blends(bound.obj, bound.replaced)
    if not is_new and by_nodes and seen.skeleton.bendy and _has_moved(seen.space, object_to_armature(obj, armature)):
        raise SkinningError(
            f"'{obj.name}' has moved within '{armature.name}', and B-Bones divide its vertices by position: bind "
            "again, or evaluate by Python if it keeps moving"
        )


def _bring_along(bound: BoundObject, step: Step) -> None:
    """Have nodes blend the joints of all objects with the same mesh, if they do so for one: it has influences."""
    if is_native_group(bound.supple.node_group):
        return
    for other in list_sharing_nodes(bound.obj):
        with suppress(SkinningError):  # which the object itself says when it is followed
            if is_native_group(find_supple_modifier(other).node_group):
                refresh(other, step)


def _has_other_blend(bound: BoundObject, skeleton: Skeleton, seen: _Seen | None) -> bool:
    """Whether what bones can do now lets Blender's own modifier blend the joints, or no longer does, or may do so."""
    if seen is None:
        return False
    if seen.problem:
        return find_reach(skeleton, bound.armature) is not seen.reach
    if seen.setup is None:
        return False
    setup, method = seen.setup, seen.surroundings.choices.method
    if setup.influences is None:
        space = object_to_armature(bound.obj, bound.armature)
        if not have_armatures(bound, method) or shares_influences(bound.obj) or has_keyed_toggles(bound):
            return True
        if setup.twists is not None and _has_moved(setup.bound_space, space):
            return True
    if setup.followed is None or not PRESERVES_VOLUME[method]:
        return False
    reach = find_reach(skeleton, bound.armature)
    if reach is seen.reach:
        return False
    seen.reach = reach
    return is_native(method, skeleton.joints, reach, setup.followed) != (setup.influences is None)


def _read_given(supple: bpy.types.Modifier) -> tuple:
    """Node group and inputs of a modifier, which the user may have copied from another object; without driven ones."""
    group = supple.node_group
    if is_native_group(group):
        return (group.session_uid,)
    return group.session_uid, *(modifiers.read_input(supple, name) for name in modifiers.list_inputs(supple))


def _write_inputs(supple: bpy.types.Modifier, inputs: dict[str, Any]) -> None:
    for name, value in inputs.items():
        if modifiers.read_input(supple, name) != value:
            modifiers.write_input(supple, name, value)


def _follow_library(bound: BoundObject, choices: Choices) -> None:
    """Follow an override's own Armature modifier, and say what was wrong in its library: it is wrong here, too."""
    obj = bound.obj
    original = cast(bpy.types.Object, obj.override_library.reference if obj.override_library is not None else obj)
    if is_native_group(bound.supple.node_group):
        follow_override(bound, choices.vertex_group, choices.invert)
        retarget_twists(bound.supple, bound.armature)
        _check_reach(bound, choices)
        _raise_message(obj, original)
        return
    joints = modifiers.read_input(bound.supple, JOINTS_INPUT)
    linked = modifiers.read_input(find_supple_modifier(original), JOINTS_INPUT)
    if linked is None:
        raise SkinningError(f"A hidden object that '{obj.name}' needs was deleted: bind again")
    if not is_joints_copy(joints, linked, bound.armature):
        modifiers.write_input(bound.supple, JOINTS_INPUT, ensure_joints_copy(linked, bound.armature))
        outside_handlers(remove_unused_joints_objects)
    if obj.override_library is not None:
        _write_inputs(bound.supple, {"Vertex Group": choices.vertex_group, "Invert": choices.invert})
    _raise_message(obj, original)


def _check_reach(bound: BoundObject, choices: Choices) -> None:
    """Raise SkinningError where nodes would have to blend what is linked, and Blender's own modifier does."""
    reach = find_reach(find_skeleton(bound.armature), bound.armature)
    if PRESERVES_VOLUME[choices.method] and reach.problem:
        raise SkinningError(
            f"Blender's own modifier deforms '{bound.obj.name}', but {reach.problem}: make its mesh local and bind "
            "again, or bind it in its library in a pose with scaled bones"
        )


def _raise_message(obj: bpy.types.Object, original: bpy.types.Object) -> None:
    """Raise SkinningError where the object of a library has a message."""
    if message := settings_of(original).message:
        raise SkinningError(f"'{obj.name}' is unchanged from its library. Message there: {message}")


def _has_joints(bound: BoundObject, skeleton: Skeleton) -> bool:
    """Whether an object follows the joints of its armature."""
    if is_native_group(bound.supple.node_group):
        return have_armatures(bound, bound.settings.method)
    joints = _read_joints(bound.supple)
    return joints is not None and find_posing(joints) == bound.armature and has_groups(joints, skeleton)


def _read_changed_skeleton(armature: bpy.types.Object, seen: _Seen | None, skeletons: dict[int, Skeleton]) -> Skeleton:
    """The skeleton of an armature: that of `seen` where it is still the same."""
    if seen is None:
        return read_skeleton(armature)
    if not seen.armature_is_stale and seen.surroundings.choices.armature == armature.session_uid:
        return seen.skeleton
    uid = armature.session_uid
    if uid not in skeletons:
        skeletons[uid] = read_skeleton(armature, seen.skeleton)
    seen.armature_is_stale = False
    return seen.skeleton if skeletons[uid].source == seen.skeleton.source else skeletons[uid]


def _bring_up_to_date(
    bound: BoundObject, source: SkinSource, surroundings: Surroundings, above: list[bpy.types.Modifier]
) -> _Seen:
    """Give the nodes what they take now; where that fails, keep why, so that it is not found out at every frame."""
    obj = bound.obj
    try:
        setup = prepare_source(source, above)
        check_bound_groups(bound, source.skeleton)
    except SkinningError as error:
        reach = find_reach(source.skeleton, bound.armature)
        return _Seen(source.skeleton, surroundings, source.space, str(error), reach=reach)
    former = bound.supple.node_group
    apply(bound, setup, surroundings)
    if bound.supple.node_group != former:
        outside_handlers(remove_unused_groups)
    if not surroundings.has_own_version:
        print_line(
            f"Supple: '{obj.name}' was bound by another version of Supple; its nodes are now of this one", sys.stdout
        )
        name = bound.armature.name
        report = f"'{name}' was bound by another version of Supple and may look slightly different now"
        version_reports.keep(bound.armature, report)
    return _seen[obj.session_uid]


def _read_joints(supple: bpy.types.Modifier) -> bpy.types.Object | None:
    """The joints object that a node modifier reads; None for one of another version, which may have other inputs."""
    group = supple.node_group
    is_own = is_deformation(group) and not is_native_group(group) and group.get(VERSION_KEY) == VERSION
    return modifiers.read_input(supple, JOINTS_INPUT) if is_own else None


def _read_surroundings(bound: BoundObject, above: list[bpy.types.Modifier], source: SkinSource) -> Surroundings:
    return Surroundings(
        choices=source.choices,
        has_own_version=bound.supple.node_group.get(VERSION_KEY) == VERSION,
        modifiers=tuple(
            (other.type, getattr(other, "use_mirror_vertex_groups", False), changes_weights(bound, other))
            for other in above
        ),
        is_interpolated=is_interpolated(bound.obj, above),
        drivers=find_hint_drivers(bound.armature, source.skeleton),
    )


def _has_moved(old: Matrix, new: Matrix) -> bool:
    return bool(np.abs(np.array(old) - np.array(new)).max() > MOVED)


def _is_linked(bound: BoundObject) -> bool:
    """Whether an override has a linked mesh or node group: they are as they were made in their own file."""
    return mesh_of(bound.obj).library is not None or bound.supple.node_group.library is not None
