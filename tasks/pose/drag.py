"""A point of the skin that is dragged, and the bones that follow it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge.meshes.skin_points import SkinPoint, locate_point
from ...bridge.per_object import PerObject
from ...bridge.rigs.keying import key_bones
from ...bridge.rigs.pose_bones import (
    Channels,
    PosedArmature,
    mirror_rotation,
    place_bone,
    read_channels,
    read_posed_armature,
    rotate_bone,
    write_channels,
)
from ...bridge.rigs.rest_bones import read_rest_bones
from ...deformers import SkinningError
from ...deformers.anatomy.stiffness import find_ends, find_hinges, find_twists
from ...deformers.posing.bones import DragHandle, PosedBones, list_path
from ...deformers.posing.chain import begin_chain
from ...deformers.posing.energy import begin_drag
from ...deformers.posing.hinges import add_hinges
from ...deformers.posing.skin import SkinEnergy, prepare_skin
from ...options import DragOptions
from ..subject.rig_presets import find_rig_of
from ..subject.stack import check_not_linked
from .pins import Pin, locate_known, locate_pins
from .skins import RestSkins, find_skins, read_body, read_weights_at

# Entries of matrices that differ by less are the same: the bone is not touched
SAME = 1e-9

# How far from a point those are that hold its rotation, as a share of the character's size
ARM = 0.03

# A pin that is nearer to the dragged point, as a share of the character's size, is what is dragged
SAME_POINT = 0.02

# A point may be beside where linear blending has it by this share of the character's size, and this share of how far
# it was moved. A skin that is farther does not follow its bones, and to run after it would have no end.
LARGEST_OFFSET, LARGEST_SHARE = 0.05, 0.5

# Of bones that only twist along a limb, about all but their length
TWIST_STIFFNESS = 0.99

# Of the wrist of a hand, or the ankle of a foot, that is dragged: it turns with its forearm, or its shin
END_STIFFNESS = 0.97

MOVING_ROOT = {"AUTO": None, "ON": True, "OFF": False}

# The latest body of each armature, with the bones at rest and what was computed of both
_known: PerObject[tuple[RestSkins, np.ndarray, SkinEnergy]] = PerObject()


class SkinDrag:
    """A drag of a point of the skin, from when this is made until `finish` or `restore`.

    Raises SkinningError if the armature cannot be posed, or nothing moves the point.

    Attributes
    ----------
    start : float64 array, shape (3,)
        The point before the drag, world space.
    """

    def __init__(
        self, armature: bpy.types.Object, layer: bpy.types.ViewLayer, grabbed: SkinPoint, options: DragOptions
    ) -> None:
        check_can_pose(armature)
        depsgraph = _evaluate(layer)
        self.armature, self._layer, self._options = armature, layer, options
        self._posed = read_posed_armature(armature, depsgraph)
        body = read_body(armature, find_skins(armature, layer), self._posed.names)
        self._size = float(np.ptp(body.points, axis=0).max())
        self.start = locate_known(grabbed, depsgraph)
        self._to_armature = np.array(armature.evaluated_get(depsgraph).matrix_world.inverted_safe())
        held = self._list_held(grabbed, locate_pins(armature, layer, depsgraph) if options.solver == "ENERGY" else [])
        self._points = [pin.point for pin, _ in held]
        self._owners, self._handles = self._make_handles(held, body, depsgraph)
        self._wanted = np.array([handle.position for handle in self._handles])
        self._offsets = np.zeros((len(held), 3))
        self._mirrored = self._find_mirrored()
        self._begin(body)
        self._turned = np.zeros(len(self._posed.names), bool)
        self._before: dict[str, Channels] = {bone.name: read_channels(bone) for bone in armature.pose.bones}

    def _list_held(self, grabbed: SkinPoint, pins: list[tuple[Pin, np.ndarray]]) -> list[tuple[Pin, np.ndarray]]:
        """The dragged point and the pins with their positions, world space; a dragged pin is not held."""
        near = [self._is_near(location) for _, location in pins]
        keeps = any(pin.holds_rotation for (pin, _), is_near in zip(pins, near, strict=True) if is_near)
        others = [found for found, is_near in zip(pins, near, strict=True) if not is_near]
        return [(Pin(grabbed, keeps), self.start), *others]

    def _is_near(self, location: np.ndarray) -> bool:
        between = self._carry(np.array([location, self.start]))
        return bool(np.linalg.norm(between[1] - between[0]) < SAME_POINT * self._size)

    def _make_handles(
        self, held: list[tuple[Pin, np.ndarray]], body: RestSkins, depsgraph: bpy.types.Depsgraph
    ) -> tuple[np.ndarray, list[DragHandle]]:
        """The handles of points, and of which point each is: one, or four about it where its rotation is held."""
        owners, handles = [], []
        arms = np.concatenate([np.zeros((1, 3)), ARM * self._size * np.eye(3)])
        for index, (pin, location) in enumerate(held):
            bones, weights = read_weights_at(body, pin.point, self._posed.names, depsgraph)
            for arm in arms if pin.holds_rotation else arms[:1]:
                owners.append(index)
                handles.append(DragHandle(bones, weights, self._carry(location[None])[0] + arm, is_pin=index > 0))
        return np.array(owners), handles

    def _carry(self, points: np.ndarray) -> np.ndarray:
        """From world to armature space, shape (N, 3)."""
        return points @ self._to_armature[:3, :3].T + self._to_armature[:3, 3]

    def _find_mirrored(self) -> dict[int, str]:
        """Bones on the way from the dragged point to the root that take others along: those of the other side."""
        if not self.armature.pose.use_mirror_x:
            return {}
        names, bones = self._posed.names, self._posed.bones
        path = np.flatnonzero(list_path(bones.parents, bones.follows, self._handles[0].bones))
        own = {names[bone] for bone in path}
        flipped = {int(bone): bpy.utils.flip_name(names[bone]) for bone in path}
        twins = {bone: name for bone, name in flipped.items() if name in names and name not in own}
        return {bone: name for bone, name in twins.items() if bones.free[names.index(name)]}

    def _begin(self, body: RestSkins) -> None:
        options = self._options
        bones, is_end = _find_joints(self.armature, self._posed)
        free = bones.free.copy()
        free[[self._posed.names.index(name) for name in self._mirrored.values()]] = False
        bones = replace(bones, free=free)
        turning = is_end & list_path(bones.parents, bones.follows, self._handles[0].bones)
        if options.solver == "CHAIN":
            chain = self._list_chain(bones)
            limb = chain[~turning[chain]]
            stiffness = self._posed.stiffness.max(axis=1)
            self._solver: Any = begin_chain(bones, limb if limb.size else chain, self._handles[0].position, stiffness)
            self._movers = np.empty(0, np.intp)
        else:
            if np.count_nonzero(self._owners == 0) == 1:  # what holds its rotation does not turn with its limb
                bones = bones.stiffened(turning, END_STIFFNESS)
            skin = _prepare(self.armature, body, self._posed.rest)
            self._solver = begin_drag(skin, bones, self._handles, MOVING_ROOT[options.move_root])
            self._movers = self._solver.linkage.joints[self._solver.linkage.movers]

    @property
    def _main_bone(self) -> int:
        handle = self._handles[0]
        return int(handle.bones[np.argmax(handle.weights)])

    def _list_chain(self, bones: Any) -> np.ndarray:
        """The bones of the chain, from the dragged one up, as far as they may rotate."""
        chain, bone = [], self._main_bone
        while bone >= 0 and bones.follows[bone] and (not chain or bones.free[bone]):
            chain.append(bone)
            bone = int(bones.parents[bone])
        length = self._options.chain_length or len(chain)
        return np.array(chain[:length], np.intp)

    def move(self, target: Sequence[float] | np.ndarray) -> None:
        """Drag the point toward a target, shape (3,), world space, and show the pose.

        The solver blends linearly. If the skin is deformed otherwise, its points are slightly off; the next movement
        corrects that.
        """
        start, end = self._carry(np.array([self.start, target], np.float64))
        dragged = np.flatnonzero(self._owners == 0)
        self._wanted[dragged] = [self._handles[index].position + end - start for index in dragged]
        self._follow()

    def _follow(self) -> None:
        targets = self._wanted + self._offsets[self._owners]
        if self._options.solver == "CHAIN":
            posed = self._solver.move(targets[0])
        else:
            posed = self._solver.move(targets, self._options.iterations)
        self._write(posed)
        self._correct(posed, _evaluate(self._layer))

    def _write(self, posed: np.ndarray) -> None:
        bones, names, pose = self._posed.bones, self._posed.names, self.armature.pose
        local = replace(bones, posed=posed).local
        self._turned |= (np.abs(local - bones.local) > SAME).any(axis=(1, 2)) & bones.free
        for bone in np.flatnonzero(self._turned):
            rotation = Matrix(local[bone].tolist())
            rotate_bone(pose.bones[names[bone]], rotation)
            if bone in self._mirrored:
                rotate_bone(pose.bones[self._mirrored[bone]], mirror_rotation(rotation))
        for bone in self._movers:
            parent = bones.parents[bone]
            place_bone(pose.bones[names[bone]], posed[bone], posed[parent] if parent >= 0 else None)

    def _correct(self, posed: np.ndarray, depsgraph: bpy.types.Depsgraph) -> None:
        """Measure how far the real points are from the solver's."""
        change = posed @ np.linalg.pinv(self._posed.bones.posed)  # of bones of zero scale, too
        for index, point in enumerate(self._points):
            handle = self._handles[int(np.argmax(self._owners == index))]
            location = locate_point(point, depsgraph)
            if location is None:
                continue
            solved = np.einsum("n,nij,j->i", handle.shares, change[handle.bones, :3], np.append(handle.position, 1.0))
            offset = solved - self._carry(location[None])[0]
            largest = LARGEST_OFFSET * self._size + LARGEST_SHARE * np.linalg.norm(solved - handle.position)
            self._offsets[index] = offset if np.linalg.norm(offset) <= largest else 0.0

    def finish(self, context: bpy.types.Context) -> list[str]:
        """Key changed bones if auto-keying is on; returns the names of the changed bones."""
        self._follow()  # what the last movement has left beside its target
        changed = [name for name, before in self._before.items() if self._read(name) != before]
        moved = [name for name in changed if self._read(name).location != self._before[name].location]
        turned = [name for name in changed if self._read(name).rotation != self._before[name].rotation]
        key_bones(context, self.armature, turned, moved)
        return changed

    def _read(self, name: str) -> Channels:
        return read_channels(self.armature.pose.bones[name])

    def restore(self) -> None:
        """Restore the pose before the drag."""
        for name, channels in self._before.items():
            write_channels(self.armature.pose.bones[name], channels)
        _evaluate(self._layer)


def check_can_pose(armature: bpy.types.Object) -> None:
    """Raise SkinningError if bones of an armature cannot be moved, or would not show it."""
    check_not_linked(armature)
    if armature.data.pose_position == "REST":
        raise SkinningError(f"'{armature.name}' is in Rest Position: switch to Pose Position in its data properties")
    if armature.mode == "EDIT":
        raise SkinningError(f"'{armature.name}' is in Edit Mode: leave it first")


def _evaluate(layer: bpy.types.ViewLayer) -> bpy.types.Depsgraph:
    layer.update()
    return layer.depsgraph


def _find_joints(armature: bpy.types.Object, posed: PosedArmature) -> tuple[PosedBones, np.ndarray]:
    """The bones with the joints of a body, and which of them begin hands and feet, bool (B,)."""
    bones, is_end = replace(posed.bones, stiffness=posed.stiffness), np.zeros(len(posed.names), bool)
    rig = find_rig_of(armature)
    if rig is None:
        return bones, is_end
    is_end[[posed.names.index(name) for name in find_ends(rig)]] = True
    with suppress(SkinningError):  # of a body that has no size
        found = find_hinges(rig, read_rest_bones(armature))
        bones = add_hinges(bones, {posed.names.index(name): hinge for name, hinge in found.items()})
    twists = [posed.names.index(name) for name in find_twists(rig)]
    bones = bones.stiffened(twists, TWIST_STIFFNESS * np.array([1.0, 0.0, 1.0]))
    return bones, is_end


def _prepare(armature: bpy.types.Object, body: RestSkins, rest: np.ndarray) -> SkinEnergy:
    """The solver's input for a body, computed anew only after changes."""
    known = _known.find(armature)
    if known is not None and known[0].is_same(body) and np.array_equal(known[1], rest):
        return known[2]
    skin = prepare_skin(body.points, body.triangles, body.weights, rest)
    _known.keep(armature, (body, rest, skin))
    return skin
