"""Flesh: a skin that looks as Particles make it, at the speed of shape keys.

The joints that gain most by it are found by what the particles change where each is bent alone. Their corrections are
fitted to these bends, to poses in which all joints are bent, and to frames of the actions. Clothes of their own mesh
ride on the body.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of
from ...bridge.rigs.armatures import Skeleton
from ...bridge.rigs.rest_bones import read_rest_bones
from ...deformers import SkinningError
from ...deformers.anatomy.presets import CENTRAL, Rig
from ...deformers.corrections.offset_fit import OffsetFit, find_mask
from ...deformers.corrections.rotation_choice import (
    MOVED,
    ChosenRotations,
    find_axis,
    measure_angles,
    pose_joint,
    turn_about,
)
from ...deformers.geometry.vectors import normalize
from ...deformers.particles.continuity import find_continuous
from ...deformers.rig.fraction_plan import MIRRORED, find_heirs, find_long_bones, find_paired, measure_size
from ...deformers.rig.rest import Joints
from ...deformers.skinning.limb_roots import find_limb_hinges, find_limb_roots, find_limbs
from ..skin.poses import find_skeleton
from ..steps import Progress, Steps
from ..subject.corrected import FLESH, find_deforming_armature, list_flesh
from ..subject.rig_presets import find_rig_of
from ..subject.stack import SkinnedObject
from .fleshy_character import FleshyCharacter, read_skin
from .from_joints import BentJoint, find_axes, find_body, find_joint, read_frames
from .from_method import (
    MOST_OFFSETS,
    NEAR,
    ComparedMesh,
    CorrectedFrom,
    Fitted,
    JointKeys,
    bind_both,
    plan_keys,
    store_fitted,
)
from .keys import remove
from .posed_copy import check_correctable

MOST_KEYS = 32
"""Corrections of a character, at most."""

FIRM = 2.3
"""How much stiffer flesh is than Particles: pictures are liked better, as elbows and shoulders swell less."""

LEAST_FLESH = 3e-3
"""Share of the flesh that follows both sides of a joint, for it to be looked at: fingers, toes and faces have less."""

LEAST_CHANGE = 1e-3
"""Share of the character's size that a joint must change the skin by, somewhere, to be corrected."""

HINGE, BALL, COLLAR, TRUNK = (45.0, 90.0, 135.0), 90.0, 25.0, 45.0
"""Degrees by which joints are bent: where limbs bend, where they begin, between these and the trunk, and of spine, neck
and tail. What Particles change there grows with the angle, but for hinges, where it sets in late."""

STEP = 30.0
"""Degrees from one pose of a joint to the next, at most, that its keys are fitted to: they grow as its angle."""

ENDS, MOST_END = ("hand", "foot", "toes"), 45.0
"""Parts at the end of a limb, and the degrees that these are bent by at most, where a preset tells them."""

LEAST_TRUNK = 15.0
"""The same of a joint of the trunk that is one of many, at least."""

MIXED = 16
"""Poses in which all joints are bent."""

OF_SEVERAL = 0.1
"""What a pose of several joints counts in the fit, where a joint bent alone counts 1: keys add up, flesh does not, and
what they miss by in such poses must not show where one joint is bent."""

LEAST_BEND = 0.4
"""Share of a bend, in such poses, that a joint is bent by at least."""

TUCKED = 30.0
"""What skin that gives way to clothes counts beside what else changes: it would be seen through them."""

MOST_FRAMES = 24
"""Of all actions, that corrections are fitted to."""


@dataclass(eq=False)
class Bends:
    """A joint and the rotations that it is tried at.

    Attributes
    ----------
    rotations : float array, shape (R, 4)
    offsets : list of lists of float32 arrays
        Of each rotation and mesh.
    gains : float array, shape (R,)
        What Particles change there; 0 where it is too little.
    """

    joint: BentJoint
    rotations: np.ndarray
    is_hinge: bool
    offsets: list[list[np.ndarray]]
    gains: np.ndarray


def add_flesh(objects: Sequence[bpy.types.Object]) -> Steps[CorrectedFrom]:
    """Correct a character after Particles, at the joints that gain most by it.

    Yields and raises as `correct_from`.
    """
    skinned = [check_correctable(obj) for obj in objects]
    armature = skinned[0].armature
    if any(one.armature != armature for one in skinned):
        raise SkinningError("The meshes belong to several armatures: correct one character at a time")
    vertices = sum(len(mesh_of(one.obj).vertices) for one in skinned)
    if MOST_KEYS * vertices > MOST_OFFSETS:
        raise SkinningError(f"{vertices:,} vertices are too many for flesh: correct single joints with From Particles")
    skeleton = find_skeleton(armature)
    character, bends, _, notes = yield from find_bends(skinned, skeleton)
    meshes = character.meshes
    tried = yield partial(_try_all, character, bends, skeleton.joints)
    for bend, (offsets, gains) in zip(bends, tried, strict=True):
        bend.offsets, bend.gains = offsets, gains
    chosen = choose_bends(bends, skeleton.joints)
    if not chosen:
        raise SkinningError("Particles do not change the skin at any joint: nothing was corrected")
    planned = [
        [plan_keys(mesh, bend.joint, FLESH, "ANGLE" if bend.is_hinge else "DIRECTIONS") for bend in chosen]
        for mesh in meshes
    ]
    fitted = yield partial(_fit, character, chosen, planned, skeleton.joints)
    report = store_fitted(fitted, FLESH, [*notes, *_describe(fitted, chosen)])
    for obj, name in list_flesh(objects):
        if (obj.name, name) not in report.keys:  # of joints that gain no longer
            remove(obj, armature, name)
    return report


def find_bends(
    skinned: Sequence[SkinnedObject], skeleton: Skeleton
) -> Steps[tuple[FleshyCharacter, list[Bends], np.ndarray, list[str]]]:
    """The character, the joints that may gain and their bends, the frames of the actions, (F, B, 4, 4), and notes."""
    armature = skinned[0].armature
    meshes, notes = yield from bind_both(skinned, skeleton, FLESH, 0.1, must_be_filled=False, firmness=FIRM)
    if not any(mesh.source.binding.count for mesh in meshes):
        said = dict.fromkeys(message for mesh in meshes for message in mesh.source.binding.messages)
        raise SkinningError(". ".join([*notes, *said]))
    character = yield partial(_dress, meshes)
    joints = _find_fleshy_joints(armature, skeleton, character)
    poses = yield from read_frames(armature, skeleton, joints, 0.25)
    is_moved = any(measure_angles(one.rotations).max(initial=0.0) > np.radians(TRUNK) for one in joints)
    bends = [Bends(one, *_list_bends(armature, skeleton, one, is_moved), [], np.zeros(0)) for one in joints]
    return character, bends, poses, notes


def remove_flesh(objects: Sequence[bpy.types.Object]) -> int:
    """Remove the corrections of meshes that were made after Particles; how many there were."""
    found = list_flesh(objects)
    for obj, name in found:
        remove(obj, find_deforming_armature(obj), name)
    return len(found)


def _find_fleshy_joints(armature: bpy.types.Object, skeleton: Skeleton, character: FleshyCharacter) -> list[BentJoint]:
    """Joints of the body that have flesh on both sides, and skin that goes across, the fleshiest first."""
    joints, below = skeleton.joints, skeleton.joints.chains.below
    shares, is_continuous = np.zeros(len(joints.parents)), np.zeros(len(joints.parents), bool)
    for mesh in character.meshes:
        rest, flesh = mesh.source.rest, mesh.source.binding.flesh
        if flesh is not None:
            sides = flesh.solid.cloud.weights[:, : len(shares)] @ below
            shares += flesh.solid.fill.volumes @ (4.0 * sides * (1.0 - sides)) / flesh.solid.fill.volumes.sum()
            of_skin = read_skin(mesh)[1][:, : len(shares)] @ below
            is_continuous |= find_continuous(rest.points, np.asarray(rest.triangles), of_skin, flesh.solid.radii)
    shares[~is_continuous] = 0.0
    bones, found = read_rest_bones(armature), {}
    of_body = _list_body(find_rig_of(armature, bones), skeleton)
    for joint in np.argsort(-shares, kind="stable").tolist():
        if shares[joint] >= LEAST_FLESH and joint in of_body:
            one = find_joint(armature, skeleton, bones, skeleton.name_joint(joint))
            found.setdefault(one.reading, one)
    return list(found.values())


def _list_body(rig: Rig | None, skeleton: Skeleton) -> set[int]:
    """Joints of trunk and limbs: not those inside of a limb, where it only twists, nor of ears, jaws and the like."""
    joints, parents = skeleton.joints, skeleton.joints.parents
    firsts = {joint for joint in map(int, skeleton.first_joints) if parents[joint] >= 0}
    if rig is not None:
        names = {skeleton.name_joint(joint): joint for joint in firsts}
        chains = [
            [names[bone] for bone in chain if bone in names][: None if part in CENTRAL else 1]
            for (part, _), chain in rig.bones.items()
        ]
        return {joint for chain in chains for joint in chain}
    inner, lines = set(), find_long_bones(joints).counts
    for joint in np.flatnonzero(lines > 1).tolist():
        above = joint
        for _ in range(int(lines[joint]) - 1):
            above = int(parents[above])
            inner.add(above)
    heirs, is_leaf = find_heirs(parents), ~np.isin(np.arange(len(parents)), parents)
    return {joint for joint in firsts - inner if not is_leaf[joint] or heirs[parents[joint]] == joint}


def _list_bends(
    armature: bpy.types.Object, skeleton: Skeleton, one: BentJoint, is_moved: bool
) -> tuple[np.ndarray, bool]:
    """Rotations that a joint is tried at, shape (R, 4), and whether all are about one axis.

    `is_moved`: whether actions tell how far joints are bent.
    """
    joints, joint = skeleton.joints, one.joint
    bones = read_rest_bones(armature)
    rig = find_rig_of(armature, bones)
    is_limb = bool(find_limbs(joints)[joint])
    if is_limb and find_limb_hinges(joints)[joint]:
        if len(one.rotations) and measure_angles(one.rotations).max() > MOVED:
            axis, along = find_axis(one.rotations)[0], one.axes.T @ joints.axes[joint]
            axis = normalize(axis - (axis @ along) * along)  # hands that turn are no part of it
        else:
            axes, _ = find_axes(one, skeleton, rig, find_body(rig, bones))
            axis = one.axes.T @ axes[0]
        is_end = rig is not None and _find_part(rig, one.bone) in ENDS
        return turn_about(axis, np.radians([angle for angle in HINGE if not is_end or angle <= MOST_END])), True
    axes, limits = find_axes(one, skeleton, rig, find_body(rig, bones)) if is_limb else (np.empty((0, 3)), ())
    if len(axes) < 2:
        axes = np.array(list(_list_directions(joints, joint)))
        limits = np.full(len(axes), np.pi)
    largest = np.radians(find_largest_bend(rig, skeleton, one, is_moved) if is_limb else _share_bend(rig, one.bone))
    found = [turn_about(one.axes.T @ axis, [min(largest, limit)]) for axis, limit in zip(axes, limits, strict=True)]
    return np.concatenate(found), False


def find_largest_bend(rig: Rig | None, skeleton: Skeleton, one: BentJoint, is_moved: bool) -> float:
    """Degrees that a joint of a limb is bent by which is no hinge.

    Without a preset, actions tell collars from other joints: they bend an animal's shoulder blades little. `is_moved`:
    whether there are any that bend joints much.
    """
    if rig is not None:
        part = _find_part(rig, one.bone)
        if part in ENDS:
            return MOST_END
        is_collar = part == "collar_bone"
    else:
        joints, roots = skeleton.joints, find_limb_roots(skeleton.joints)
        is_collar = bool(roots[one.joint] and (roots & (joints.parents == one.joint)).any())
        seen = float(np.degrees(measure_angles(one.rotations).max(initial=0.0)))
        is_collar |= is_moved and seen < COLLAR
    return COLLAR if is_collar else BALL


def _find_part(rig: Rig, bone: str) -> str:
    """Which part of the body a bone is of; "" for none."""
    return next((part for (part, _), chain in rig.bones.items() if bone in chain), "")


def _share_bend(rig: Rig | None, bone: str) -> float:
    """What a bone of the trunk is bent by, degrees: of several in a row each its share."""
    counts = [] if rig is None else [len(chain) for chain in rig.bones.values() if bone in chain]
    return max(TRUNK / max(counts, default=1), LEAST_TRUNK)


def _list_directions(joints: Joints, joint: int) -> Iterator[np.ndarray]:
    """Axes, armature space, about which a bone goes along two axes of the skeleton, and back; mirrored on its sides."""
    _, lateral, middle = find_paired(joints)
    along = joints.axes[joint]
    for axis in np.argsort(np.abs(along), kind="stable")[:2]:
        side = -1.0 if axis == lateral and joints.centers[joint][axis] < middle else 1.0
        for sign in (side, -side):
            yield normalize(np.cross(along, sign * np.eye(3)[axis]))


def _dress(meshes: list[ComparedMesh], _progress: Progress) -> FleshyCharacter:
    return FleshyCharacter.of(meshes)


def _try_all(
    character: FleshyCharacter, bends: list[Bends], joints: Joints, progress: Progress
) -> list[tuple[list[list[np.ndarray]], np.ndarray]]:
    """What Particles change where each joint is bent alone: `offsets` and `gains` of each of `bends`."""
    done, total, tried = 0, sum(len(bend.rotations) for bend in bends), []
    for bend in bends:
        gains, found = [], []
        for rotation in bend.rotations:
            offsets, tucked = character.find_changes(pose_joint(joints, bend.joint.joint, rotation, bend.joint.axes))
            gain, largest = character.measure(offsets)
            gains.append(gain + TUCKED * tucked if largest > LEAST_CHANGE else 0.0)
            found.append(offsets)
            done += 1
            progress(0.25 + 0.35 * done / total)
        tried.append((found, np.array(gains)))
    return tried


def choose_bends(bends: Sequence[Bends], joints: Joints) -> list[Bends]:
    """The joints that are corrected: those that gain most by each key, on both sides alike, as long as there is room.

    Their `chosen` rotations are set: all directions, so that what is right in one does not show in another.
    """
    room, chosen = MOST_KEYS, []
    groups = [(group, np.max([bend.gains for bend in group], axis=0)) for group in _pair(bends, joints)]
    for group, gains in sorted(groups, key=lambda each: -each[1].max() / len(each[1])):
        cost = len(group) * len(gains)
        if gains.any() and cost <= room:
            room -= cost
            for bend in group:
                bend.joint.chosen = ChosenRotations(bend.rotations, bend.is_hinge)
                chosen.append(bend)
    return chosen


def _pair(bends: Sequence[Bends], joints: Joints) -> Iterator[list[Bends]]:
    """Each joint with its mirror image, where there is one."""
    _, axis, middle = find_paired(joints)
    centers = np.array([joints.centers[bend.joint.joint] for bend in bends], float)
    mirrored, left = centers.copy(), list(range(len(bends)))
    mirrored[:, axis] = 2.0 * middle - mirrored[:, axis]
    while left:
        first = left.pop(0)
        away = [float(np.linalg.norm(centers[other] - mirrored[first])) for other in left]
        best = int(np.argmin(away)) if away else -1
        is_alike = best >= 0 and away[best] < MIRRORED * measure_size(joints)
        if is_alike and len(bends[left[best]].rotations) == len(bends[first].rotations):
            yield [bends[first], bends[left.pop(best)]]
        else:
            yield [bends[first]]


def bend_between(bends: Sequence[Bends], joints: Joints) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Poses in which one joint is bent by less than at its keys: the rotation of each, (N, 4), and (B, 4, 4)."""
    for number, bend in enumerate(bends):
        angle = 0.0
        for rotation in bend.rotations:
            whole = float(measure_angles(rotation))
            before, angle = angle if bend.is_hinge else 0.0, whole
            for between in np.linspace(before, whole, math.ceil((whole - before) / np.radians(STEP) - 1e-6) + 1)[1:-1]:
                rotations = np.tile([1.0, 0.0, 0.0, 0.0], (len(bends), 1))
                rotations[number] = turn_about(normalize(rotation[1:]), [float(between)])[0]
                yield rotations, pose_joint(joints, bend.joint.joint, rotations[number], bend.joint.axes)


def mix_bends(bends: Sequence[Bends], joints: Joints, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Poses in which all joints are bent: the rotation of each, (N, 4), and the matrices (B, 4, 4)."""
    chance = np.random.default_rng(seed)
    for _ in range(MIXED):
        rotations = []
        for bend in bends:
            whole = bend.rotations[chance.integers(len(bend.rotations))]
            angle = chance.uniform(LEAST_BEND, 1.0) * measure_angles(whole)
            rotations.append(turn_about(normalize(whole[1:]), [float(angle)])[0])
        yield np.array(rotations), _bend_all(bends, joints, rotations)


def _bend_all(bends: Sequence[Bends], joints: Joints, rotations: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """The pose, (B, 4, 4), in which each joint has its rotation, (4,), and no other has one."""
    levels = joints.chains.sum(np.ones(len(joints.parents), np.intp))
    matrices = np.tile(np.eye(4), (len(joints.parents), 1, 1))
    for number in np.argsort([levels[bend.joint.joint] for bend in bends], kind="stable"):
        joint = bends[number].joint
        matrices = matrices @ pose_joint(joints, joint.joint, rotations[number], joint.axes)
    return matrices


def _fit(
    character: FleshyCharacter,
    bends: Sequence[Bends],
    planned: Sequence[Sequence[JointKeys]],
    joints: Joints,
    progress: Progress,
) -> list[Fitted]:
    """Find the offsets that miss least: in bends of one joint, in mixed poses and in frames of the actions.

    Of frames, only these joints are bent: what others change in them is not for these to make up for.
    """
    fits = [_MeshFit(character, number, bends, keys) for number, keys in enumerate(planned)]
    poses = [(*pose, False) for pose in bend_between(bends, joints)]
    poses += [(*pose, True) for pose in mix_bends(bends, joints)]
    count = min(len(bend.joint.rotations) for bend in bends)
    for frame in np.unique(np.linspace(0, count - 1, min(count, MOST_FRAMES)).round().astype(int)) if count else ():
        rotations = np.array([bend.joint.rotations[frame] for bend in bends])
        poses.append((rotations, _bend_all(bends, joints, rotations), True))
    for number, (rotations, matrices, is_of_several) in enumerate(poses):
        offsets = character.find_offsets(matrices)
        for fit in fits:
            fit.add(rotations, offsets, is_of_several)
        progress(0.6 + 0.4 * (number + 1) / len(poses))
    return [fit.solve() for fit in fits]


class _MeshFit:
    """The corrections of one mesh, as they are fitted."""

    def __init__(
        self, character: FleshyCharacter, number: int, bends: Sequence[Bends], planned: Sequence[JointKeys]
    ) -> None:
        self.mesh, self._number = character.meshes[number], number
        least = (LEAST_CHANGE * character.size) ** 2
        scale = np.square(np.linalg.svd(self.mesh.space[:3, :3], compute_uv=False).max())
        self._kept = []
        for index, bend in enumerate(bends):
            offsets = self._own(bend)
            if scale * np.square(offsets).sum(axis=2).max(initial=0.0) > least:
                self._kept.append((index, planned[index], bend))
        masks = [np.tile(find_mask(self._own(bend)), (len(keys.corrections), 1)) for _, keys, bend in self._kept]
        self._fit = OffsetFit(np.concatenate(masks)) if masks else None
        self._starts = np.cumsum([0, *(len(keys.corrections) for _, keys, _ in self._kept)])
        self._examples: list[tuple[np.ndarray, np.ndarray]] = []
        for place, (_, keys, bend) in enumerate(self._kept):
            for rotation, offsets in zip(bend.rotations, bend.offsets, strict=True):
                values = np.zeros(self._starts[-1])
                values[self._starts[place] : self._starts[place + 1]] = keys.read(rotation[None])[0]
                self._take(values, offsets[number], 1.0)

    def _own(self, bend: Bends) -> np.ndarray:
        return np.array([offsets[self._number] for offsets in bend.offsets])

    def _take(self, values: np.ndarray, offsets: np.ndarray, weight: float) -> None:
        assert self._fit is not None
        self._fit.add(values, offsets[self._fit.rows], weight)

    def add(self, rotations: np.ndarray, offsets: Sequence[np.ndarray], is_of_several: bool) -> None:
        """Add a pose of one joint, or of several: the rotation of each, (N, 4), what each mesh would have to gain."""
        if self._fit is not None:
            values = np.concatenate([keys.read(rotations[index][None])[0] for index, keys, _ in self._kept])
            self._take(values, offsets[self._number], OF_SEVERAL if is_of_several else 1.0)
            if is_of_several:
                self._examples.append((values, offsets[self._number][self._fit.rows]))

    def solve(self) -> Fitted:
        """The corrections, and how near they come in poses of several joints."""
        if self._fit is None:
            return Fitted(self.mesh, [], [], np.zeros(3))
        found = self._fit.solve()
        near = self._fit.masks[:, self._fit.rows].max(axis=0) > NEAR
        own, squares = found[:, self._fit.rows[near]], np.zeros(3)
        for values, wanted in self._examples:
            left = wanted[near] - np.tensordot(values.astype(np.float32), own, axes=1)
            squares += near.sum(), np.square(wanted[near]).sum(), np.square(left).sum()
        squares[1:] *= self.mesh.millimeters**2
        return Fitted(self.mesh, [keys for _, keys, _ in self._kept], np.split(found, self._starts[1:-1]), squares)


def _describe(fitted: Sequence[Fitted], chosen: Sequence[Bends]) -> Iterator[str]:
    """What was corrected, by joint: how far Particles move the skin where it is bent, millimeters."""
    for bend in chosen:
        largest = 0.0
        for number, one in enumerate(fitted):
            sizes = [np.linalg.norm(offsets[number], axis=1).max(initial=0.0) for offsets in bend.offsets]
            largest = max(largest, one.mesh.millimeters * max(sizes))
        yield f"{bend.joint.reading}: up to {largest:.0f} mm, {len(bend.joint.chosen.rotations)} keys"
