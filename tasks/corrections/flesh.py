"""Flesh: the skin of Particles, at the speed of shape keys.

Each joint is bent alone, to find those where particles change most. Their corrections are fitted to these bends, to
poses of all joints, and to frames of the actions. Clothes of their own mesh ride on the body.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of
from ...bridge.rigs.armatures import Skeleton
from ...bridge.rigs.rest_bones import read_rest_bones
from ...deformers import METHODS, SkinningError
from ...deformers.anatomy.presets import CENTRAL, Rig
from ...deformers.corrections.rotation_choice import (
    MIN_BEND,
    ChosenRotations,
    choose_angles,
    find_axis,
    measure_angles,
    pose_joint,
    turn_about,
)
from ...deformers.geometry.vectors import normalize
from ...deformers.particles.continuity import find_continuous
from ...deformers.rig.limbs import MAX_MIRROR_GAP, count_in_line, find_heirs, find_paired, measure_size
from ...deformers.rig.rest import Joints
from ...deformers.skinning.limb_roots import find_limb_hinges, find_limb_roots, find_limbs
from ..installed.feature import Feature, Subject
from ..left_out import LeftOut, choose_usable, describe_left_out
from ..skin.poses import find_skeleton
from ..steps import Progress, Steps
from ..subject.corrected import FLESH, find_deforming_armature, list_flesh
from ..subject.rig_presets import find_rig_of
from ..subject.stack import SkinnedObject, check_not_linked
from .flesh_fit import LEAST_CHANGE, Bends, fit_bends
from .fleshy_character import FleshyCharacter, read_skin
from .from_joints import BentJoint, find_axes, find_body, find_joint, read_frames
from .from_method import (
    MOST_OFFSETS,
    ComparedMesh,
    CorrectedFrom,
    Fitted,
    bind_both,
    find_correctable,
    plan_all,
    store_fitted,
)
from .keys import remove
from .names import follow
from .posed_copy import check_own_mesh

# Corrections of a character, at most
MOST_KEYS = 32

# How much stiffer flesh is than Particles: pictures are liked better, as elbows and shoulders swell less
FIRM = 2.3

# Share of the flesh that follows both sides of a joint, for it to be looked at: fingers, toes and faces have less
LEAST_FLESH = 3e-3

# Degrees by which joints are bent: where limbs bend, where they begin, between these and the trunk, and of spine,
# neck and tail. What Particles change there grows with the angle, but for hinges, where it sets in late.
HINGE, BALL, COLLAR, TRUNK = tuple(22.5 * step for step in range(1, 7)), 90.0, 25.0, 45.0

# Bends of a hinge for each of its keys, which are where the others are interpolated best
FOR_EACH = 2

# Parts at the end of a limb, and the degrees that these are bent by at most, where a preset tells them
ENDS, MOST_END = ("hand", "foot", "toes"), 45.0

# The same of a joint of the trunk that is one of many, at least
LEAST_TRUNK = 15.0

# What skin that gives way to clothes counts beside what else changes: it would be seen through them
TUCKED = 30.0


def add_flesh(objects: Sequence[bpy.types.Object]) -> Steps[CorrectedFrom]:
    """Correct a character after Particles, at the joints that gain most by it; no keys if none does.

    Yields and raises as `correct_from`.
    """
    return store_flesh(*(yield from find_flesh(objects)))


# The meshes, their corrections, sentences on these, and which meshes are left out
FoundFlesh = tuple[list[bpy.types.Object], list[Fitted], list[str], tuple[str, ...]]


def find_flesh(objects: Sequence[bpy.types.Object]) -> Steps[FoundFlesh]:
    """Find what `add_flesh` stores; nothing is changed."""
    skinned, left_out = find_correctable(objects)
    armature = skinned[0].armature
    vertices = sum(len(mesh_of(one.obj).vertices) for one in skinned)
    if MOST_KEYS * vertices > MOST_OFFSETS:
        raise SkinningError(f"{vertices:,} vertices are too many for flesh: correct single joints with From Particles")
    skeleton = find_skeleton(armature)
    character, bends, _, unbound = yield from find_bends(skinned, skeleton)
    left_out = (*left_out, *unbound)
    meshes = character.meshes
    bends = yield partial(_try_all, character, bends, skeleton.joints)
    chosen = choose_bends(bends, skeleton.joints)
    fitted, notes = list[Fitted](), list[str]()
    if chosen:
        chosen.sort(key=lambda bend: bend.joint.joint)  # gains alike but for rounding are in any order
        planned, unplanned = plan_all(meshes, [bend.joint for bend in chosen], FLESH, "DIRECTIONS")
        keys = dict(planned)
        fitted = yield partial(fit_bends, character, chosen, [keys.get(mesh, ()) for mesh in meshes], skeleton.joints)
        meshes = [mesh for mesh in meshes if mesh in keys]
        notes, left_out = list(_describe(fitted, chosen)), (*left_out, *unplanned)
    return [mesh.skinned.obj for mesh in meshes], fitted, notes, left_out


def store_flesh(
    objects: Sequence[bpy.types.Object], fitted: Sequence[Fitted], notes: Sequence[str], left_out: tuple[str, ...]
) -> CorrectedFrom:
    """Store what `find_flesh` has found, in place of the meshes' flesh."""
    report = CorrectedFrom(METHODS[FLESH].label, (), (), left_out=left_out)
    if fitted:
        report = store_fitted(fitted, FLESH, notes, left_out)
    for obj, name in list_flesh(objects):
        if (obj.name, name) not in report.keys:  # of joints that gain no longer
            remove(obj, find_deforming_armature(obj), name)
    return report


def find_bends(
    skinned: Sequence[SkinnedObject], skeleton: Skeleton
) -> Steps[tuple[FleshyCharacter, list[Bends], np.ndarray, tuple[str, ...]]]:
    """The character, the joints that may gain and their bends, the frames of the actions, (F, B, 4, 4); and which
    meshes are left out."""
    armature = skinned[0].armature
    meshes, left_out = yield from bind_both(
        skinned, skeleton, FLESH, 0.1, must_be_filled=False, firmness=FIRM, frame=skeleton.frame
    )
    if not any(mesh.source.binding.count for mesh in meshes):
        said = dict.fromkeys(message for mesh in meshes for message in mesh.source.binding.messages)
        raise SkinningError(". ".join([*left_out, *said]))
    character = yield partial(_dress, meshes)
    joints = _find_fleshy_joints(armature, skeleton, character)
    poses = yield from read_frames(armature, skeleton, joints, 0.25)
    is_moved = any(measure_angles(one.rotations).max(initial=0.0) > np.radians(TRUNK) for one in joints)
    bends = [Bends(one, *_list_bends(armature, skeleton, one, is_moved)) for one in joints]
    return character, bends, poses, left_out


def remove_flesh(objects: Sequence[bpy.types.Object]) -> tuple[int, LeftOut]:
    """Remove the corrections of meshes made after Particles: their number, and the linked meshes that keep theirs."""
    fleshy = [obj for obj in objects if list_flesh([obj])]
    free, left_out = choose_usable(fleshy, check_not_linked, check_own_mesh)
    found = list_flesh(free)
    for obj, name in found:
        remove(obj, find_deforming_armature(obj), name)
    return len(found), left_out


def _take_off(subject: Subject, names: Sequence[str]) -> list[str]:
    count, left_out = remove_flesh(subject.choose(names))
    return [f"{count} corrections from Particles were removed", *describe_left_out(left_out)]


CORRECTIONS = Feature(
    key="flesh",
    remove=_take_off,
    is_in=lambda subject: bool(list_flesh(subject.meshes)),
    follow=follow,
    stands_on=("skin",),
)


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
    """Joints of trunk and limbs, without those within a limb that only twist, ears, jaws and the like."""
    joints, parents = skeleton.joints, skeleton.joints.parents
    firsts = {joint for joint in map(int, skeleton.first_joints) if parents[joint] >= 0}
    if rig is not None:
        names = {skeleton.name_joint(joint): joint for joint in firsts}
        chains = [
            [names[bone] for bone in chain if bone in names][: None if part in CENTRAL else 1]
            for (part, _), chain in rig.bones.items()
        ]
        return {joint for chain in chains for joint in chain}
    inner, lines = set(), count_in_line(joints)
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
        if len(one.rotations) and measure_angles(one.rotations).max() > MIN_BEND:
            axis, along = find_axis(one.rotations)[0], one.axes.T @ joints.axes[joint]
            axis = normalize(axis - (axis @ along) * along)  # hands that turn are no part of it
        else:
            axes, _ = find_axes(one, skeleton, rig, find_body(rig, bones))
            axis = one.axes.T @ axes[0]
        is_end = rig is not None and _find_part(rig, one.bone) in ENDS
        return turn_about(axis, np.radians([angle for angle in HINGE if not is_end or angle <= MOST_END])), True
    axes, limits = find_axes(one, skeleton, rig, find_body(rig, bones)) if is_limb else (np.empty((0, 3)), ())
    if len(axes) < 2:
        axes = np.array(list(_list_directions(joints, joint, skeleton.frame)))
        limits = np.full(len(axes), np.pi)
    largest = np.radians(find_largest_bend(rig, skeleton, one, is_moved) if is_limb else _share_bend(rig, one.bone))
    found = [turn_about(one.axes.T @ axis, [min(largest, limit)]) for axis, limit in zip(axes, limits, strict=True)]
    return np.concatenate(found), False


def find_largest_bend(rig: Rig | None, skeleton: Skeleton, one: BentJoint, is_moved: bool) -> float:
    """Degrees by which a limb's joint that is not a hinge is bent.

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
    """Degrees by which a bone of the trunk is bent; several in a row share them."""
    counts = [] if rig is None else [len(chain) for chain in rig.bones.values() if bone in chain]
    return max(TRUNK / max(counts, default=1), LEAST_TRUNK)


def _list_directions(joints: Joints, joint: int, frame: np.ndarray) -> Iterator[np.ndarray]:
    """Axes, armature space, about which a bone goes along two axes of a frame, and back; mirrored on its sides."""
    upright = replace(joints, centers=np.asarray(joints.centers, np.float64) @ frame)
    _, lateral, middle = find_paired(upright)
    along, aside = joints.axes[joint], MAX_MIRROR_GAP * measure_size(joints)
    for axis in np.argsort(np.abs(along @ frame).round(4), kind="stable")[:2]:
        side = -1.0 if axis == lateral and upright.centers[joint][axis] < middle - aside else 1.0
        for sign in (side, -side):
            yield normalize(np.cross(along, sign * frame[:, axis]))


def _dress(meshes: list[ComparedMesh], _progress: Progress) -> FleshyCharacter:
    return FleshyCharacter.of(meshes)


def _try_all(character: FleshyCharacter, bends: list[Bends], joints: Joints, progress: Progress) -> list[Bends]:
    """Fill in the changes by Particles in bends of single joints: `offsets`, `products` and `gains`."""
    done, total = 0, sum(len(bend.rotations) for bend in bends)
    for bend in bends:
        weighed, gains = [], []
        for rotation in bend.rotations:
            offsets, tucked = character.find_changes(pose_joint(joints, bend.joint.joint, rotation, bend.joint.axes))
            own, largest = character.measure(offsets)
            gains.append(own @ own + TUCKED * tucked if largest > LEAST_CHANGE else 0.0)
            weighed.append(own)
            bend.offsets.append(offsets)
            done += 1
            progress(0.25 + 0.35 * done / total)
        bend.products, bend.gains = np.inner(weighed, weighed), np.array(gains)
    return bends


def choose_bends(bends: Sequence[Bends], joints: Joints) -> list[Bends]:
    """Choose joints by their gain for each key, on both sides alike, as long as there is room.

    Their `chosen` rotations are set in all directions, so that the keys of one do not show in another.
    """
    room, chosen = MOST_KEYS, []
    groups = [(group, _count_keys(group[0]), max(bend.gains.max() for bend in group)) for group in _pair(bends, joints)]
    for group, count, gain in sorted(groups, key=lambda each: -each[2] / each[1]):
        if gain > 0.0 and len(group) * count <= room:
            room -= len(group) * count
            keyed = _choose_keyed(group, count)
            for bend in group:
                bend.joint.chosen = ChosenRotations(bend.rotations[keyed], bend.is_hinge)
                chosen.append(bend)
    return chosen


def _count_keys(bend: Bends) -> int:
    """How many keys a joint takes."""
    return len(bend.rotations) // (FOR_EACH if bend.is_hinge else 1)


def _choose_keyed(group: Sequence[Bends], count: int) -> np.ndarray:
    """Which rotations of a joint and of its mirror image have keys."""
    if not group[0].is_hinge:
        return np.arange(count)
    products = np.sum([bend.products for bend in group], axis=0)
    return choose_angles(measure_angles(group[0].rotations), products, count)


def _pair(bends: Sequence[Bends], joints: Joints) -> Iterator[list[Bends]]:
    """Each joint with its mirror image, if there is one."""
    _, axis, middle = find_paired(joints)
    centers = np.asarray(joints.centers, float)[[bend.joint.joint for bend in bends]]
    mirrored, left = centers.copy(), list(range(len(bends)))
    mirrored[:, axis] = 2.0 * middle - mirrored[:, axis]
    while left:
        first = left.pop(0)
        away = [float(np.linalg.norm(centers[other] - mirrored[first])) for other in left]
        best = int(np.argmin(away)) if away else -1
        is_alike = best >= 0 and away[best] < MAX_MIRROR_GAP * measure_size(joints)
        if is_alike and len(bends[left[best]].rotations) == len(bends[first].rotations):
            yield [bends[first], bends[left.pop(best)]]
        else:
            yield [bends[first]]


def _describe(fitted: Sequence[Fitted], chosen: Sequence[Bends]) -> Iterator[str]:
    """The corrected joints, with the millimeters by which Particles move the bent skin."""
    for bend in chosen:
        largest = 0.0
        for number, one in enumerate(fitted):
            sizes = [np.linalg.norm(offsets[number], axis=1).max(initial=0.0) for offsets in bend.offsets]
            largest = max(largest, one.mesh.millimeters * max(sizes))
        yield f"{bend.joint.reading}: up to {largest:.0f} mm, {len(bend.joint.chosen.rotations)} keys"
