"""Two hidden armatures by which Blender's own modifiers give DLBNT as published: one stretches skin, one rotates it.

The order "GH" has the stretch first: Stretch (linear) has the H of eq 13 to 16, Rigid (Preserve Volume) the G. By "HG",
Rigid comes first. Constraints alone move both; they are children of the rig, in no collection.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ..owned import Tag, is_marked, mark, read_mark, unmark
from .armatures import Skeleton

STRETCH, RIGID = "STRETCH", "RIGID"

# By role: custom property of a mesh object that keeps the armature in the file. Modifiers count as no users.
HOLD_TAGS = {STRETCH: Tag.STRETCH_ARMATURE, RIGID: Tag.RIGID_ARMATURE}

LABELS = {STRETCH: "Supple Stretch", RIGID: "Supple Rigid"}
STILL = "still"


@dataclass(frozen=True)
class StretchPlan:
    """The deforming bones of a rig, at rest, as both hidden armatures have them.

    Attributes
    ----------
    names : tuple of str
        Of the D bones, in the order of `Skeleton.names`.
    parents : tuple of int
        The joint that each bone is joined to, -1 for a root.
    rests : tuple of Matrix
        Of each bone, armature space.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    rests: tuple[Matrix, ...] = field(repr=False)

    @property
    def digest(self) -> str:
        """Short text that differs for other bones, joined or placed in another way."""
        rests = np.array(self.rests, np.float32).tobytes()
        return hashlib.sha256(repr((self.names, self.parents)).encode() + rests).hexdigest()[:16]


@dataclass(frozen=True)
class StretchPair:
    """Both hidden armatures of a rig, for one order."""

    stretch: bpy.types.Object
    rigid: bpy.types.Object

    def __iter__(self) -> Iterator[bpy.types.Object]:
        return iter((self.stretch, self.rigid))

    def in_order(self) -> tuple[bpy.types.Object, bpy.types.Object]:
        """As they deform."""
        return (
            (self.stretch, self.rigid)
            if read_mark(self.stretch, Tag.STRETCH_ORDER) == "GH"
            else (self.rigid, self.stretch)
        )


@dataclass(frozen=True)
class _Row:
    """A bone to be made. `parent`: its row, -1 for none."""

    name: str
    rest: Matrix
    parent: int = -1
    is_deforming: bool = True


def plan_stretch(armature: bpy.types.Object, skeleton: Skeleton) -> StretchPlan:
    """Plan the hidden armatures of a rig.

    `skeleton`: of the rig, without B-Bones: `scaled_bones.find_problem` names them.
    """
    bones: Any = armature.data.bones
    parents = tuple(map(int, skeleton.joints.parents))
    return StretchPlan(skeleton.names, parents, tuple(bones[name].matrix_local.copy() for name in skeleton.names))


def make_armatures(armature: bpy.types.Object, plan: StretchPlan, order: str) -> StretchPair:
    """Make the hidden armatures of a rig.

    Goes into Edit Mode and back: not for handlers.

    Parameters
    ----------
    order : str
        "GH" or "HG", as in `dlbnt.Params`.
    """
    pair = _make_gh(armature, plan) if order == "GH" else _make_hg(armature, plan)
    for role, hidden in zip((STRETCH, RIGID), pair, strict=True):
        mark(hidden, Tag.STRETCH, role)
        mark(hidden, Tag.STRETCH_ORDER, order)
        mark(hidden, Tag.STRETCH_MADE, plan.digest)
    return pair


def _make_gh(armature: bpy.types.Object, plan: StretchPlan) -> StretchPair:
    """H: scaled at rest, its head carried by the parent's H. G: by a bone that has the posed bone's location and
    rotation, a child at the origin is moved back by where H has put the head."""
    count = len(plan.names)
    stretch_rows = [_Row(*row) for row in zip(plan.names, plan.rests, plan.parents, strict=True)]
    rigid_rows = [_Row(name, Matrix(), count + bone) for bone, name in enumerate(plan.names)]
    rigid_rows += [_Row("posed", rest.to_3x3().to_4x4(), is_deforming=False) for rest in plan.rests]
    stretch, _ = _new_armature(armature, STRETCH, stretch_rows)
    rigid, names = _new_armature(armature, RIGID, rigid_rows)
    back = {"owner_space": "LOCAL", "invert_x": True, "invert_y": True, "invert_z": True}
    for bone, (name, posed) in enumerate(zip(plan.names, names[count:], strict=True)):
        _constrain(stretch, name, "COPY_SCALE", armature, name)
        _constrain(rigid, posed, "COPY_LOCATION", armature, name)
        _constrain(rigid, posed, "COPY_ROTATION", armature, name)
        _constrain(rigid, names[bone], "COPY_LOCATION", stretch, name, **back)
    return StretchPair(stretch, rigid)


def _make_hg(armature: bpy.types.Object, plan: StretchPlan) -> StretchPair:
    """G: rotated as the posed bone; its head is the point that the parent's M takes to the posed head, moved by the
    parent's G. H = M inverse(G)."""
    count = len(plan.names)
    carried = [(bone, parent) for bone, parent in enumerate(plan.parents) if parent >= 0]
    rigid_rows = [_Row(name, rest) for name, rest in zip(plan.names, plan.rests, strict=True)]
    rigid_rows += [_Row("head", plan.rests[parent], parent, is_deforming=False) for _, parent in carried]
    stretch_rows = [_Row(name, Matrix()) for name in plan.names] + [_Row(STILL, Matrix(), is_deforming=False)]
    rigid, names = _new_armature(armature, RIGID, rigid_rows)
    stretch, (*_, still) = _new_armature(armature, STRETCH, stretch_rows)
    heads = {bone: name for (bone, _), name in zip(carried, names[count:], strict=True)}
    for bone, name in enumerate(plan.names):
        if bone in heads:
            above = {"space_object": armature, "space_subtarget": plan.names[plan.parents[bone]]}
            options = {"target_space": "CUSTOM", "owner_space": "LOCAL"}
            _constrain(rigid, heads[bone], "COPY_LOCATION", armature, name, **above, **options)
        _constrain(rigid, name, "COPY_LOCATION", *((rigid, heads[bone]) if bone in heads else (armature, name)))
        _constrain(rigid, name, "COPY_ROTATION", armature, name)
        of_rigid = {"target_space": "CUSTOM", "space_object": rigid, "space_subtarget": name}
        _constrain(stretch, name, "COPY_TRANSFORMS", stretch, still, **of_rigid)
        _constrain(stretch, name, "COPY_TRANSFORMS", armature, name, mix_mode="BEFORE_FULL")
    return StretchPair(stretch, rigid)


def _new_armature(
    armature: bpy.types.Object, role: str, rows: Sequence[_Row]
) -> tuple[bpy.types.Object, tuple[str, ...]]:
    """A hidden child of a rig with these bones, and their names as Blender has made them.

    Bones take neither rotation nor scale from their parents, but for those that do not deform.
    """
    hidden = bpy.data.objects.new(f"{LABELS[role]} {armature.name}", bpy.data.armatures.new(LABELS[role]))
    hidden.parent = armature
    length = max(1.0, *(abs(number) for row in rows for number in row.rest.translation))  # short bones are imprecise
    with _edited(hidden):
        edited: Any = hidden.data.edit_bones
        made = [edited.new(row.name) for row in rows]
        for bone, row in zip(made, rows, strict=True):
            bone.tail = 0.0, length, 0.0
            bone.matrix, bone.use_deform, bone.inherit_scale = row.rest, row.is_deforming, "NONE"
            bone.parent = made[row.parent] if row.parent >= 0 else None
            bone.use_inherit_rotation = not (row.is_deforming and row.parent >= 0 and rows[row.parent].is_deforming)
        names = tuple(bone.name for bone in made)
    return hidden, names


@contextmanager
def _edited(hidden: bpy.types.Object) -> Iterator[None]:
    """A hidden armature in Edit Mode: alone, as all that is selected is edited together."""
    scene, layer = bpy.context.scene, bpy.context.view_layer
    active, selected = layer.objects.active, [obj for obj in layer.objects if obj.select_get()]
    scene.collection.objects.link(hidden)
    for obj in selected:
        obj.select_set(False)
    layer.objects.active = hidden
    try:
        bpy.ops.object.mode_set(mode="EDIT")
        yield
    finally:
        if hidden.mode == "EDIT":
            bpy.ops.object.mode_set(mode="OBJECT")
        scene.collection.objects.unlink(hidden)
        for obj in selected:
            obj.select_set(True)
        layer.objects.active = active


def _constrain(
    hidden: bpy.types.Object, bone: str, kind: str, target: bpy.types.Object, subtarget: str, **options: Any
) -> None:
    bones: Any = hidden.pose.bones
    constraint = bones[bone].constraints.new(kind)
    settings = {"target": target, "subtarget": subtarget, "target_space": "POSE", "owner_space": "POSE"} | options
    for name, value in settings.items():
        setattr(constraint, name, value)


def is_stretch_armature(obj: bpy.types.Object) -> bool:
    """Whether an object is one of the hidden armatures, of whichever rig."""
    return obj.type == "ARMATURE" and is_marked(obj, Tag.STRETCH)


def is_stretch_modifier(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier deforms by a hidden armature, whatever it is called, or did until that was removed."""
    if modifier.type != "ARMATURE":
        return False
    if modifier.object is None:
        return modifier.name.startswith(tuple(LABELS.values()))
    return is_stretch_armature(modifier.object)


def is_of(hidden: bpy.types.Object | None, armature: bpy.types.Object) -> bool:
    """Whether an object is a hidden armature of this rig."""
    return hidden is not None and is_stretch_armature(hidden) and hidden.parent == armature


def find_armatures(armature: bpy.types.Object, order: str) -> StretchPair | None:
    """The hidden armatures that a rig has for an order; None if one or both are missing."""
    children = [obj for obj in bpy.data.objects if is_of(obj, armature) and read_mark(obj, Tag.STRETCH_ORDER) == order]
    found = {read_mark(obj, Tag.STRETCH): obj for obj in children if _is_moved_by(obj, armature)}
    return StretchPair(found[STRETCH], found[RIGID]) if {STRETCH, RIGID} <= found.keys() else None


def _is_moved_by(hidden: bpy.types.Object, armature: bpy.types.Object) -> bool:
    """Whether its constraints follow the rig, or a hidden armature of that rig."""
    bones: Any = hidden.pose.bones
    targets = {constraint.target for bone in bones for constraint in bone.constraints}
    return all(target == armature or is_of(target, armature) for target in targets)


def needs_new(pair: StretchPair, plan: StretchPlan) -> bool:
    """Whether the rig's bones are not those that the hidden armatures were made for: renamed, moved, joined anew."""
    return any(read_mark(hidden, Tag.STRETCH_MADE) != plan.digest for hidden in pair)


def hold(obj: bpy.types.Object, pair: StretchPair) -> None:
    """Have a mesh object keep both in the file, and bring them along wherever it goes."""
    for role, hidden in zip((STRETCH, RIGID), pair, strict=True):
        if read_mark(obj, HOLD_TAGS[role]) != hidden:
            mark(obj, HOLD_TAGS[role], hidden)
            obj.property_overridable_library_set(f'["{HOLD_TAGS[role]}"]', True)  # an override holds its own


def find_held(obj: bpy.types.Object) -> StretchPair | None:
    """The hidden armatures that a mesh object holds; None if one or both are missing."""
    held = [read_mark(obj, HOLD_TAGS[role]) for role in (STRETCH, RIGID)]
    if any(hidden is None or not is_stretch_armature(hidden) for hidden in held):
        return None
    return StretchPair(*held)


def let_go(obj: bpy.types.Object) -> None:
    """Undo `hold`."""
    for key in HOLD_TAGS.values():
        unmark(obj, key)


def remove_unused() -> None:
    """Remove the hidden armatures of this file that no mesh object holds."""
    held = {read_mark(obj, key) for obj in bpy.data.objects for key in HOLD_TAGS.values()}
    _remove(obj for obj in bpy.data.objects if is_stretch_armature(obj) and obj.library is None and obj not in held)


def _remove(hidden: Iterable[bpy.types.Object]) -> None:
    for obj in list(hidden):
        data: Any = obj.data
        bpy.data.objects.remove(obj)
        if data.library is None and not data.users:
            bpy.data.armatures.remove(data)


def copy_armatures(pair: StretchPair, armature: bpy.types.Object) -> StretchPair:
    """Copy the hidden armatures for a copy of their rig, because duplicating leaves hidden objects alone. Also in
    handlers."""
    copies: dict[bpy.types.Object | None, bpy.types.Object] = {hidden: hidden.copy() for hidden in pair}
    copies[pair.stretch.parent] = armature
    for hidden in pair:
        copy: Any = copies[hidden]
        copy.parent = armature
        for constraint in (each for bone in copy.pose.bones for each in bone.constraints):
            constraint.target = copies.get(constraint.target, constraint.target)
            if hasattr(constraint, "space_object") and constraint.space_object in copies:
                constraint.space_object = copies[constraint.space_object]
    return StretchPair(copies[pair.stretch], copies[pair.rigid])
