"""Evaluation by nodes: the node modifier computes the deformation itself, and the mesh holds the influences.

Python only sets it up, and follows changes of weights, bones and settings. A frame needs none of it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge import carriers
from ...bridge.armatures import Skeleton, read_skeleton
from ...bridge.influences import remove_influences, write_influences
from ...bridge.meshes import mesh_of, read_face_corners, read_key_values
from ...bridge.probes import ensure_probe
from ...deformers import METHODS, SkinningError
from ...deformers.rig.influences import Influences, pack_influences, pack_interpolable_influences
from ...nodes.groups import VERSION, VERSION_KEY, ensure_deformation, ensure_probe_deformation, is_deformation
from ...settings.choices import read_params
from ...settings.objects import NODES_PROBLEM, settings_of
from ..character import (
    Character,
    changes_topology,
    check_armature,
    check_bound_groups,
    find_armature_modifier,
    modifiers_above,
    object_to_armature,
    read_character,
    uses_envelopes,
)
from ..stack import find_replaced_modifier, find_supple_modifier

LOSES_ATTRIBUTES = {"MESH_TO_VOLUME", "REMESH", "SKIN", "VOLUME_TO_MESH"}
"""Modifiers above which no weight survives."""

MERGES = {"DECIMATE", "WELD"}
"""Modifiers that average vertices of different faces: their slots may name different joints."""

MOVED = 1e-5
"""Entries by which an object's place in its armature may differ before it has moved."""


@dataclass(frozen=True)
class NodeSetup:
    """What a node modifier is to be given.

    Attributes
    ----------
    character : Character
    influences : Influences
    method : str
    params : Params
        The method's.
    inputs : dict
        Values of the modifier's inputs, by name.
    """

    character: Character
    influences: Influences
    method: str
    params: Any
    inputs: dict[str, Any]


@dataclass
class _Seen:
    """What an object's nodes were last brought up to date with."""

    skeleton: Skeleton
    surroundings: tuple
    space: Matrix
    """From object to armature space."""
    problem: str
    """Why they could not be."""
    key_values: tuple[float, ...] = ()
    """Values of the face keys when last looked at."""
    armature_is_stale: bool = False


_seen: dict[int, _Seen] = {}
"""By `session_uid` of the object."""


def is_evaluated_by_nodes(obj: bpy.types.Object) -> bool:
    """Whether a bound object's modifier computes the deformation itself."""
    modifier = find_supple_modifier(obj)
    return is_deformation(modifier.node_group)


def prepare(obj: bpy.types.Object, modifier: bpy.types.ArmatureModifier, method: str) -> NodeSetup:
    """Find out what nodes take to deform an object; nothing of it is changed.

    Raises
    ------
    SkinningError
        Where nodes can not deform it, or nothing can.
    """
    if NODES_PROBLEM:
        raise SkinningError(NODES_PROBLEM)
    if not METHODS[method].has_nodes:
        others = ", ".join(other.key for other in METHODS.values() if other.has_nodes)
        raise SkinningError(f"{method} cannot be evaluated by nodes: evaluate by Python, or choose {others}")
    armature = check_armature(obj, modifier)
    _check_mesh(obj)
    _check_modifiers_above(obj, modifier)
    character = read_character(obj, modifier)
    skeleton = character.skeleton
    if (skeleton.curved & (skeleton.segment_counts > 1)).any():
        raise SkinningError(
            f"B-Bones of '{armature.name}' divide their vertices along the curve, which nodes cannot: evaluate by "
            "Python, or set their Vertex Mapping to Straight"
        )
    if uses_envelopes(modifier, skeleton):
        raise SkinningError(
            f"'{obj.name}' is deformed by bone envelopes, which follow the object's place in the armature: evaluate by "
            "Python, or switch the envelopes off"
        )
    settings = settings_of(obj)
    vertex_group, invert = _read_vertex_group(obj, modifier)
    return NodeSetup(
        character=character,
        influences=_pack(obj, modifier, character),
        method=method,
        params=read_params(settings, method),
        inputs={
            "Armature": armature,
            "Linear Group": settings.linear_group,
            "Vertex Group": vertex_group,
            "Invert": invert,
        },
    )


def _pack(obj: bpy.types.Object, modifier: bpy.types.ArmatureModifier, character: Character) -> Influences:
    rest = character.rest
    counts = len(rest.points), len(rest.joints.parents)
    if _is_interpolated(obj, modifier):
        return pack_interpolable_influences(rest.weights, *counts, *read_face_corners(mesh_of(obj)))
    return pack_influences(rest.weights, *counts)


def _is_interpolated(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> bool:
    """Whether modifiers above may add vertices, with attributes averaged from those that are there."""
    above = [other for other in modifiers_above(obj, modifier) if not carriers.is_supple_modifier(other)]
    return any(changes_topology(other) or other.type == "NODES" for other in above)


def _check_mesh(obj: bpy.types.Object) -> None:
    """See that influences can be kept on the mesh."""
    mesh = mesh_of(obj)
    if mesh.library is not None:
        raise SkinningError(
            f"The mesh of '{obj.name}' is linked, and nodes need attributes on it: evaluate by Python, or make it local"
        )
    if mesh.is_editmode:
        raise SkinningError(f"The mesh of '{obj.name}' is in Edit Mode with another object: leave it first")
    skeletons = [
        read_skeleton(armature)
        for other in bpy.data.objects
        if other.data == mesh and other.library is None
        for armature in [_find_armature(other)]
        if armature is not None
    ]
    if len({(one.names, one.joints.parents.tobytes()) for one in skeletons}) > 1:
        raise SkinningError(
            f"'{obj.name}' shares its mesh with objects whose armatures have other bones: make the mesh single-user, "
            "or evaluate by Python"
        )


def _find_armature(obj: bpy.types.Object) -> bpy.types.Object | None:
    with suppress(SkinningError):
        modifier = find_replaced_modifier(obj) if settings_of(obj).is_bound else find_armature_modifier(obj)
        return check_armature(obj, modifier)
    return None


def _check_modifiers_above(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> None:
    for above in modifiers_above(obj, modifier):
        if above.type in LOSES_ATTRIBUTES:
            raise SkinningError(
                f"Modifier '{above.name}' of '{obj.name}' stands above '{modifier.name}' and makes a new mesh, without "
                "weights: move it below, or apply it"
            )
        if above.type in MERGES:
            raise SkinningError(
                f"Modifier '{above.name}' of '{obj.name}' stands above '{modifier.name}' and merges vertices, whose "
                "joints nodes cannot average: move it below, or apply it"
            )
        if above.type == "MIRROR" and above.use_mirror_vertex_groups and _has_sides(obj):
            raise SkinningError(
                f"Modifier '{above.name}' of '{obj.name}' stands above '{modifier.name}' and swaps left and right "
                "vertex groups, which nodes cannot follow: apply it, or move it below"
            )


def _has_sides(obj: bpy.types.Object) -> bool:
    """Whether vertex groups are named in pairs of left and right."""
    names = {group.name for group in obj.vertex_groups}
    return any(bpy.utils.flip_name(name) in names - {name} for name in names)


def apply(obj: bpy.types.Object, supple: bpy.types.Modifier, setup: NodeSetup) -> None:
    """Give an object's node modifier `supple` what it takes."""
    skeleton, armature = setup.character.skeleton, setup.inputs["Armature"]
    inputs = setup.inputs | {"Influences": len(setup.influences.joints)}
    if skeleton.bendy:
        group = ensure_probe_deformation(setup.method, setup.params)
        inputs["Probe"] = ensure_probe(armature, skeleton)
    else:
        parents = skeleton.joints.parents
        group = ensure_deformation(armature.name, skeleton.names, parents, setup.method, setup.params)
    if supple.node_group != group:
        supple.node_group = group
    write_influences(mesh_of(obj), setup.influences)
    for name, value in inputs.items():
        if carriers.read_input(supple, name) != value:
            carriers.write_input(supple, name, value)
    surroundings = _read_surroundings(obj, find_replaced_modifier(obj), supple)
    _seen[obj.session_uid] = _Seen(skeleton, surroundings, setup.character.space, "")


def remove(obj: bpy.types.Object) -> None:
    """Take the influences off a mesh that no other object reads them from."""
    mesh = mesh_of(obj)
    shared = mesh.users > 1 and any(
        other != obj
        and other.data == mesh
        and any(is_deformation(getattr(one, "node_group", None)) for one in other.modifiers)
        for other in bpy.data.objects
    )
    if mesh.library is None and not shared:
        remove_influences(mesh)
    forget(obj)


def forget(obj: bpy.types.Object) -> None:
    """Have an object's nodes compared with its weights and bones when it is next shown."""
    _seen.pop(obj.session_uid, None)


def forget_all() -> None:
    """The same for all objects."""
    _seen.clear()


def expect_changes() -> None:
    """Have all armatures compared, as after undo; of a mesh that undo has changed, Blender tells."""
    for seen in _seen.values():
        seen.armature_is_stale = True


def refresh(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, changed: set[bpy.types.ID]) -> None:
    """Follow what nodes can not follow themselves: other bones, other weights, other modifiers.

    Parameters
    ----------
    obj : Object
        Bound, evaluated by nodes.
    depsgraph : Depsgraph
        Of the viewport.
    changed : set of ID
        Meshes and armatures that may have changed.

    Raises
    ------
    SkinningError
        Where the nodes can not be brought up to date; they are left as they are.
    """
    if NODES_PROBLEM:
        raise SkinningError(f"'{obj.name}' is evaluated by nodes. {NODES_PROBLEM}. Here, evaluate by Python")
    modifier, supple = find_replaced_modifier(obj), find_supple_modifier(obj)
    armature = check_armature(obj, modifier)
    if mesh_of(obj).is_editmode or armature.mode == "EDIT" or _is_linked(obj, supple):
        return
    seen, values = _seen.get(obj.session_uid), read_key_values(obj, depsgraph)
    mesh_changed = obj.data in changed and (seen is None or seen.key_values == values)  # else a face key's slider moved
    if seen is None or mesh_changed or _is_out_of_date(obj, modifier, supple, seen, changed):
        try:
            setup = prepare(obj, modifier, settings_of(obj).method)
            check_bound_groups(obj, setup.character.skeleton, armature)
        except SkinningError as error:  # kept, so that it is not found out anew at every frame
            space, surroundings = object_to_armature(obj, armature), _read_surroundings(obj, modifier, supple)
            seen = _seen[obj.session_uid] = _Seen(read_skeleton(armature), surroundings, space, str(error))
        else:
            apply(obj, supple, setup)
            seen = _seen[obj.session_uid]
    seen.key_values = values
    if seen.problem:
        raise SkinningError(seen.problem)
    if seen.skeleton.bendy and _has_moved(seen.space, object_to_armature(obj, armature)):
        raise SkinningError(
            f"'{obj.name}' has moved within '{armature.name}', and B-Bones divide its vertices by where they are: bind "
            "again, or evaluate by Python if it is to go on moving"
        )


def _is_out_of_date(
    obj: bpy.types.Object,
    modifier: bpy.types.ArmatureModifier,
    supple: bpy.types.Modifier,
    seen: _Seen,
    changed: set[bpy.types.ID],
) -> bool:
    armature = check_armature(obj, modifier)
    compare, seen.armature_is_stale = seen.armature_is_stale or armature.data in changed, False
    return _read_surroundings(obj, modifier, supple) != seen.surroundings or (
        compare and read_skeleton(armature, seen.skeleton) is not seen.skeleton
    )


def _read_surroundings(
    obj: bpy.types.Object, modifier: bpy.types.ArmatureModifier, supple: bpy.types.Modifier
) -> tuple:
    """What the nodes depend on besides mesh and bones; a group of an older Supple makes a difference, too."""
    settings = settings_of(obj)
    return (
        settings.method,
        read_params(settings, settings.method),
        settings.linear_group,
        supple.node_group.get(VERSION_KEY) == VERSION,
        tuple((one.type, getattr(one, "use_mirror_vertex_groups", False)) for one in modifiers_above(obj, supple)),
        modifier.object,
        *_read_vertex_group(obj, modifier),
    )


def _read_vertex_group(obj: bpy.types.Object, modifier: bpy.types.ArmatureModifier) -> tuple[str, bool]:
    """The vertex group of an Armature modifier, "" for none, and whether it is inverted."""
    name = modifier.vertex_group
    return name if name in obj.vertex_groups else "", modifier.invert_vertex_group


def _has_moved(old: Matrix, new: Matrix) -> bool:
    return bool(np.abs(np.array(old) - np.array(new)).max() > MOVED)


def _is_linked(obj: bpy.types.Object, supple: bpy.types.Modifier) -> bool:
    """Whether an override stands on a linked mesh and group: they are as they were made in their own file."""
    return mesh_of(obj).library is not None or supple.node_group.library is not None
