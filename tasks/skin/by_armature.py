"""Where Blender's own Armature modifier blends joints as the method does: Supple's node modifier stands before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge.meshes.weights import write_weights
from ...bridge.modifiers import (
    BLEND_NAME,
    LINEAR_GROUP,
    LINEAR_NAME,
    add_modifier,
    is_from_library,
    is_supple_modifier,
    remove_modifier,
)
from ...deformers import SkinningError
from ...deformers.rig.reach import Followed, Reach, do_signs_agree, find_pairs
from ...deformers.rig.rest import Joints, Rest, normalize_weights
from ...deformers.skinning import dlb, dlbnt, ssd
from ...nodes.groups import VERSION, VERSION_KEY, is_deformation, is_native_group
from ...settings.objects import settings_of
from ..subject.character import changes_weights, modifiers_above, uses_envelopes
from ..subject.stack import (
    BoundObject,
    SkinnedObject,
    find_own_armatures,
    list_blending,
    list_copied_armatures,
    list_own_armatures,
    read_toggles,
)
from .model import SkinSource
from .node_checks import list_sharing_nodes

SAME_SCALE = 1e-5
"""Difference of scales along axes, as a share, from which on angles are not kept."""

LARGEST_TWIST = np.radians(168.0)
"""Twist of the keys and channels of a joint, at most, where it is spread: between keys, there may be more, and by half
a turn drivers and blend may not take the same way round."""

PRESERVES_VOLUME = {ssd.INFO.key: False, dlb.INFO.key: True, dlbnt.INFO.key: True}
"""The methods that the Armature modifier has, and its Preserve Volume."""


def find_followed(source: SkinSource, rest: Rest, is_interpolated: bool) -> Followed | None:
    """The joints whose quaternions must agree for Blender's own modifier to blend as the method does.

    None where it does not, however its bones are posed. `is_interpolated`: whether modifiers above interpolate weights.
    """
    choices, joints, replaced = source.choices, source.skeleton.joints, source.skinned.replaced
    if choices.method not in PRESERVES_VOLUME or max(choices.params.bulge_limit, choices.params.contact) > 0.0:
        return None
    if joints.fractions is not None or choices.vertex_group or replaced.use_multi_modifier:
        return None
    if PRESERVES_VOLUME[choices.method] and _has_other_weights(source.skinned):
        return None  # what is found out by weights holds for the mesh's own
    if not source.is_bound_anew and shares_influences(source.skinned.obj):
        return None
    if joints.spread is not None and list_blending(source.skinned.obj, replaced):
        return None  # they would be given turned vertices
    if joints.spread is not None and not (PRESERVES_VOLUME[choices.method] and _keeps_angles(source.space)):
        return None
    if PRESERVES_VOLUME[choices.method] and (source.skeleton.bendy or uses_envelopes(replaced, source.skeleton)):
        return None
    weights = normalize_weights(rest.weights, len(rest.points), len(joints.parents))
    return Followed(find_pairs(weights, joints), None if is_interpolated else weights)


def _has_other_weights(skinned: SkinnedObject) -> bool:
    """Whether modifiers above change weights."""
    return any(changes_weights(skinned, each) for each in modifiers_above(skinned.obj, skinned.deforming))


def shares_influences(obj: bpy.types.Object) -> bool:
    """Whether nodes blend the joints of another object with the same mesh, which then has influences."""
    modifiers = [modifier for other in list_sharing_nodes(obj) for modifier in other.modifiers]
    groups = [modifier.node_group for modifier in modifiers if is_supple_modifier(modifier)]
    own = [group for group in groups if is_deformation(group) and group.get(VERSION_KEY) == VERSION]
    return not all(map(is_native_group, own))


def _keeps_angles(space: Matrix) -> bool:
    """Whether a turn in object space is one in armature space."""
    linear = np.array(space.to_3x3())
    square = linear.T @ linear
    return bool(np.abs(square - np.eye(3) * square[0, 0]).max() < SAME_SCALE * square[0, 0])


def is_native(method: str, joints: Joints, reach: Reach, followed: Followed) -> bool:
    """Whether Blender's own modifier blends joints as a method does, by what they can do; see `find_followed`."""
    if joints.spread is not None:
        chosen = joints.spread.joints
        if reach.is_free[chosen].any() or (reach.twists[chosen] > LARGEST_TWIST).any():
            return False
    return not PRESERVES_VOLUME[method] or (not reach.problem and do_signs_agree(reach, joints, followed))


def install_armatures(bound: BoundObject, method: str, linear_group: str) -> None:
    """Have Armature modifiers right below Supple's node modifier blend the joints.

    Parameters
    ----------
    linear_group : str
        Vertex group of what is blended linearly by a method that is not, "" for nothing.
    """
    obj, toggles = bound.obj, read_toggles(bound.supple)
    wanted = {BLEND_NAME: {"use_deform_preserve_volume": PRESERVES_VOLUME[method]} | _read_multi(bound)}
    if linear_group and PRESERVES_VOLUME[method]:
        wanted[LINEAR_NAME] = {"use_multi_modifier": True, "vertex_group": linear_group}
    present = find_own_armatures(obj)
    for modifier in [modifier for name, modifier in present.items() if name not in wanted]:
        remove_modifier(obj, modifier, None)
    uids = []
    for number, (role, settings) in enumerate(wanted.items()):
        index = obj.modifiers.find(_find_above(bound).name) + 1 + number
        modifier = present.get(role)
        if modifier is None:
            modifier = add_modifier(obj, role, "ARMATURE", index)
        elif (current := obj.modifiers.find(modifier.name)) != index:
            name = modifier.name
            obj.modifiers.move(current, index - (current < index))  # what is taken from above moves the others up
            modifier = cast(bpy.types.ArmatureModifier, obj.modifiers[name])
        values = {name: getattr(bound.replaced, name) for name in ("use_vertex_groups", "use_bone_envelopes")}
        values |= {"show_in_editmode": bound.supple.show_in_editmode, "object": bound.armature}
        values |= {"show_viewport": toggles[0], "show_render": toggles[1], "vertex_group": "", **settings}
        for key, value in values.items():
            if getattr(modifier, key) != value:
                setattr(modifier, key, value)
        uids.append(modifier.persistent_uid)
    bound.settings.own_modifiers = (*uids, 0)[:2]


def _find_above(bound: BoundObject) -> bpy.types.Modifier:
    """The modifier below which these stand: Supple's, or the replaced one, below which others blend with them."""
    return bound.replaced if list_blending(bound.obj, bound.replaced) else bound.supple


def _read_multi(bound: BoundObject) -> dict[str, Any]:
    """Multi Modifier of the first of these: by it, Blender looks for others below while the replaced one deforms."""
    return {"use_multi_modifier": bool(list_blending(bound.obj, bound.replaced))}


def follow_override(bound: BoundObject, vertex_group: str, invert: bool) -> None:
    """Have Armature modifiers of a library follow what an override has chosen in its own."""
    for modifier in list_own_armatures(bound.obj):
        values: dict[str, Any] = {"object": bound.armature}
        if modifier.vertex_group != LINEAR_GROUP and not modifier.use_multi_modifier:
            values |= {"vertex_group": vertex_group, "invert_vertex_group": invert}
        for name, value in values.items():
            if getattr(modifier, name) != value:
                setattr(modifier, name, value)


def remove_armatures(obj: bpy.types.Object) -> None:
    """Remove what `install_armatures` has put into an object's stack, and the group of what is linear."""
    _take_out(obj, list_own_armatures(obj))
    if not any(map(is_from_library, list_own_armatures(obj))):
        settings_of(obj).property_unset("own_modifiers")
    if obj.data.library is None:
        _remove_linear_group(obj)


def remove_copied_armatures(obj: bpy.types.Object, replaced: bpy.types.Modifier | None) -> None:
    """Remove a user's copies of these from a bound object's stack, but for the modifier that Supple stands in for."""
    _take_out(obj, [modifier for modifier in list_copied_armatures(obj) if modifier != replaced])


def _take_out(obj: bpy.types.Object, taken: Sequence[bpy.types.Modifier]) -> None:
    for modifier in taken:
        if is_from_library(modifier):
            modifier.show_viewport = modifier.show_render = False
        else:
            remove_modifier(obj, modifier, None)


def _remove_linear_group(obj: bpy.types.Object) -> None:
    """Remove the group of what is linear, unless another object with the same mesh uses it."""
    group, others = obj.vertex_groups.get(LINEAR_GROUP), list_sharing_nodes(obj)
    used = {modifier.vertex_group for other in others for modifier in list_own_armatures(other)}
    if group is None or LINEAR_GROUP in used:
        return
    active = obj.vertex_groups.active.name if obj.vertex_groups.active else ""
    obj.vertex_groups.remove(group)
    if active in obj.vertex_groups:
        obj.vertex_groups.active_index = obj.vertex_groups.find(active)


def have_armatures(bound: BoundObject, method: str) -> bool:
    """Whether the Armature modifiers of a bound object are as `install_armatures` has put them there, for its armature.

    Raises
    ------
    SkinningError
        Where the user has removed or applied one.
    """
    obj, toggles, found = bound.obj, read_toggles(bound.supple), find_own_armatures(bound.obj)
    if len(found) < sum(uid != 0 for uid in bound.settings.own_modifiers):
        raise SkinningError(f"An Armature modifier that '{obj.name}' needs was removed or applied: bind again")
    index = obj.modifiers.find(_find_above(bound).name) + 1
    if not found or [*obj.modifiers[index : index + len(found)]] != [*found.values()]:
        return False
    volumes = {BLEND_NAME: PRESERVES_VOLUME[method], LINEAR_NAME: False}
    return all(
        each.object == bound.armature
        and read_toggles(each) == toggles
        and each.use_deform_preserve_volume == volumes[name]
        and each.use_multi_modifier == (name == LINEAR_NAME or _read_multi(bound)["use_multi_modifier"])
        for name, each in found.items()
    )


def write_linear_group(obj: bpy.types.Object, linear: np.ndarray | None) -> None:
    """Write how linearly vertices are blended, shape (V,) or None, to a vertex group of Supple's own."""
    if linear is None:
        _remove_linear_group(obj)
        return
    active = obj.vertex_groups.active.name if obj.vertex_groups.active else ""
    write_weights(obj, [LINEAR_GROUP], linear.astype(np.float32)[:, None])
    group = obj.vertex_groups[LINEAR_GROUP]
    if not group.lock_weight:
        group.lock_weight = True  # Blender's tools that normalize weights leave it alone
    if active and obj.vertex_groups.active.name != active:
        obj.vertex_groups.active_index = obj.vertex_groups.find(active)
