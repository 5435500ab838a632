"""Keep sculpted changes of posed copies as shape keys that the pose drives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_groups_of
from ...bridge.meshes.posed_copies import Record, read_record, read_sculpted
from ...deformers import SkinningError
from ...deformers.corrections.inverses import pull_back, pull_back_by_steps
from ...deformers.corrections.joint_choice import MIN_OTHER_SCORE, measure_rotations, score_joints
from ...deformers.errors import find_unusable
from ...deformers.geometry.vectors import measure_lengths
from ...settings.objects import settings_of
from ..skin.poses import find_skeleton
from ..subject.character import find_method_in_use, find_skinned, object_to_armature
from ..subject.corrected import list_bones
from ..subject.stack import SkinnedObject
from .keys import Correction, find_correction, find_next_reader, store, store_all
from .mirror import find_other_side, flip_bones, mirror_key
from .names import follow_names
from .posed_copy import State, check_takes_keys, discard
from .posed_skin import check_count, check_joints, find_bound_skin, is_affine

# Share of a mesh's size by which a vertex must be moved to have been sculpted
UNTOUCHED = 1e-6

# Vertices whose weights are read to find the joint
MOST_SAMPLES = 4000

# Half the width, as a share of the size, in which what was sculpted on both sides passes from one to the other
SEAM = 0.01


@dataclass(frozen=True, eq=False)
class Change:
    """The sculpted change of a mesh.

    Attributes
    ----------
    target : float array, shape (V, 3)
        Posed, object space.
    lengths : float array, shape (V,)
        Distances by which vertices were moved; 0 for the others.
    key : str
        The correction that is edited, "" for a new one.
    size : float
        Of the posed mesh.
    """

    skinned: SkinnedObject
    state: State
    record: Record
    target: np.ndarray
    lengths: np.ndarray
    key: str
    size: float


@dataclass(frozen=True)
class Side:
    """The bones that drive one part of the sculpted change.

    Attributes
    ----------
    bones : tuple of str
        Their rotation drives the part.
    sign : float
        The part is where x has this sign, armature space; 0 for all of it.
    """

    bones: tuple[str, ...]
    sign: float = 0.0


@dataclass(frozen=True)
class Kept:
    """The result of *Keep*.

    Attributes
    ----------
    keys : tuple of (str, str)
        Mesh and shape key.
    bones : tuple of str
        Bones that drive them.
    damped : int
        Vertices that cannot be brought to their sculpted positions.
    """

    keys: tuple[tuple[str, str], ...]
    bones: tuple[str, ...]
    damped: int
    notes: tuple[str, ...]

    def describe(self) -> str:
        """All of it in a few sentences."""
        names = ", ".join(f"'{key}'" for key in dict.fromkeys(key for _, key in self.keys))
        lines = [f"Kept {names}, driven by {', '.join(self.bones)}"]
        if self.damped:
            lines.append(f"{self.damped} vertices cannot reach their shape: the skin collapses there")
        return ". ".join([*lines, *self.notes])


def keep(
    copies: Sequence[bpy.types.Object],
    layer: bpy.types.ViewLayer,
    name: str = "",
    mirror: bool = False,
    joints: Sequence[str] = (),
    reader: str = "AUTO",
) -> Kept:
    """Store the sculpted changes, and remove the copies.

    Parameters
    ----------
    copies : sequence of Object
        Posed copies of one character, in Object Mode.
    name : str
        Of the shape keys; after the bones and their angle if empty.
    mirror : bool
        Whether the other side is corrected, too.
    joints : sequence of str
        Bones whose rotation drives the correction; by default the one nearest to the change.
    reader : str
        Of `READER_ITEMS`.

    Raises
    ------
    SkinningError
        If nothing was sculpted, or it cannot be stored; nothing was changed.
    """
    changes = [change for copy in copies if (change := read_change(copy)).lengths.any()]
    if not changes:
        raise SkinningError("Nothing was sculpted: sculpt the posed copy, or press Discard")
    sides = _find_sides(changes, joints, mirror)
    stored: list[tuple[SkinnedObject, Correction, Correction | None]] = []
    damped, notes = 0, []
    for change in changes:
        offsets, count = pull_back_change(change)
        damped += count
        for one in (_make(change, side, offsets, name, reader) for side in sides):
            other = find_other_side(change.skinned.obj, change.skinned.armature, one) if mirror else None
            if mirror and other is None:
                notes.append(f"The pose of {', '.join(one.bones)} is symmetrical: it has no other side")
            if one.offsets.any():
                stored.append((change.skinned, one, other))
    _check_poses([(skinned, one) for skinned, *both in stored for one in both if one is not None])
    keys = [key for skinned, one, other in stored for key in _store(skinned, one, other)]
    discard(copies, layer)
    bones = dict.fromkeys(bone for _, *both in stored for one in both if one is not None for bone in one.bones)
    return Kept(tuple(keys), tuple(bones), damped, tuple(dict.fromkeys(notes)))


def _store(skinned: SkinnedObject, correction: Correction, other: Correction | None) -> list[tuple[str, str]]:
    """Store a correction, and all that it has come to on the other side, if it has one; mesh and shape key of each."""
    obj, armature = skinned.obj, skinned.armature
    keys = [store(obj, armature, correction)]
    if other is not None:
        keys += store_all(obj, armature, [replace(other, offsets=mirror_key(obj, armature, keys[0]))])
    skinned.settings.active_correction = skinned.settings.corrections.find(keys[0])
    return [(obj.name, key) for key in keys]


def _check_poses(stored: Sequence[tuple[SkinnedObject, Correction]]) -> None:
    """Raise SkinningError if a pose cannot be told from another, before anything is stored."""
    groups: dict[tuple[bpy.types.Object, tuple[str, ...]], list[Correction]] = {}
    for skinned, correction in stored:
        groups.setdefault((skinned.obj, correction.bones), []).append(correction)
    for (obj, _), group in groups.items():
        find_next_reader(obj, group)


def read_change(copy: bpy.types.Object) -> Change:
    """Read the sculpted change of a posed copy.

    Raises
    ------
    SkinningError
        If the copy, or its character, has changed since.
    """
    settings = settings_of(copy)
    if settings.corrected is None or not settings.corrected.users_scene:
        raise SkinningError(f"The character of '{copy.name}' was deleted: press Discard, or keep the copy as a mesh")
    record = read_record(copy)
    skinned = find_skinned(settings.corrected)
    check_count(skinned.obj, len(record.points))
    check_takes_keys(skinned.obj)
    follow_names(skinned.obj)
    state = State.of(copy).follow_names(skinned.armature)
    check_key(skinned.obj, settings.corrected_key)
    check_joints(skinned, len(record.pose.rest_to_pose))
    target = read_sculpted(copy, bpy.context.evaluated_depsgraph_get())
    if find_unusable(target).any():
        raise SkinningError(
            f"Vertices of '{copy.name}' are not numbers, or are too far away: undo that, or press Discard"
        )
    size = float(np.linalg.norm(np.ptp(record.points, axis=0)))
    lengths = measure_lengths(target - record.points)
    lengths[lengths <= UNTOUCHED * size] = 0.0
    return Change(skinned, state, record, target, lengths, settings.corrected_key, size)


def check_key(obj: bpy.types.Object, key: str) -> None:
    """Raise SkinningError if the shape key that is edited, if any, is gone."""
    keys = mesh_of(obj).shape_keys
    if key and (keys is None or key not in keys.key_blocks or key not in settings_of(obj).corrections):
        raise SkinningError(
            f"The shape key '{key}' of '{obj.name}' was deleted in the meantime: undo that, or press Discard"
        )


def pull_back_change(change: Change) -> tuple[np.ndarray, int]:
    """The change as offsets at rest, shape (V, 3), object space, and the number of vertices that cannot be reached."""
    record, skinned = change.record, change.skinned
    touched, method = (change.lengths > 0.0)[:, None], find_method_in_use(skinned)
    if method == change.state.method and is_affine(skinned, method):
        pulled = pull_back(record.transforms[:, :3, :3], np.where(touched, change.target - record.points, 0.0))
        return pulled.offsets, int(pulled.is_damped.sum())
    bound = find_bound_skin(skinned)
    points, linear = record.points, record.transforms[:, :3, :3]
    if method != change.state.method:  # since the copy was made
        skin = bound.at(points=record.rest)
        points, linear = skin.pose(record.pose), skin.transforms(record.pose)[:, :3, :3]
    pulled = pull_back_by_steps(
        linear,
        np.where(touched, change.target, points),
        points,
        lambda offsets: bound.at(points=record.rest + offsets).pose(record.pose),
        change.size,
    )
    return pulled.offsets, int(pulled.is_damped.sum())


def _find_sides(changes: Sequence[Change], joints: Sequence[str], mirror: bool) -> list[Side]:
    """The bones that drive the change: one set of bones, or a bone and that of the other side."""
    first = changes[0]
    if first.key:
        return [Side(list_bones(find_correction(first.skinned.obj, first.key)))]
    state, armature = first.state, first.skinned.armature
    if joints:
        missing = [bone for bone in joints if bone not in state.rotations]
        if missing:
            raise SkinningError(f"'{armature.name}' has no bone '{missing[0]}': choose one of its bones")
        return [Side(tuple(dict.fromkeys(state.reading.get(bone, bone) for bone in joints)))]
    scores = _score(changes)
    best = max(scores, key=lambda bone: scores[bone], default="")
    if not best or not scores[best]:
        raise SkinningError(
            "No joint is bent at the sculpted spot: pose the character first, or name the driving bones"
        )
    (other,) = flip_bones(armature, [best])
    if other == best or scores.get(other, 0.0) < MIN_OTHER_SCORE * scores[best]:
        return [Side((state.reading[best],))]
    heads = [armature.data.bones[bone].head_local.x for bone in (best, other)]
    sides = [
        Side((state.reading[bone],), float(np.sign(head))) for bone, head in zip((best, other), heads, strict=True)
    ]
    return sides[:1] if mirror else sides


def _score(changes: Sequence[Change]) -> dict[str, float]:
    """Share of the change at the joint of each deforming bone."""
    totals: dict[str, float] = {}
    for change in changes:
        skeleton = find_skeleton(change.skinned.armature)
        joints, obj = skeleton.joints, change.skinned.obj
        moved = np.flatnonzero(change.lengths)
        moved = moved[:: 1 + len(moved) // MOST_SAMPLES]
        entries = read_groups_of(mesh_of(obj), moved)
        index = {name: bone for bone, name in enumerate(skeleton.names)}
        of_groups = np.array([index.get(group.name, -1) for group in obj.vertex_groups], np.intp)
        bones = of_groups[entries.groups]
        values = np.where(bones >= 0, entries.values * change.lengths[entries.vertices], 0.0)
        held = np.bincount(np.maximum(bones, 0), values, len(skeleton.names))
        names = [skeleton.name_joint(int(parent)) for parent in joints.parents[skeleton.first_joints]]
        parents = np.array([index.get(name, -1) for name in names], np.intp)
        angles = measure_rotations(change.record.pose.rest_to_pose, joints)[skeleton.first_joints]
        for name, score in zip(skeleton.names, score_joints(held, parents, angles).tolist(), strict=True):
            totals[name] = totals.get(name, 0.0) + score
    return totals


def _make(change: Change, side: Side, offsets: np.ndarray, name: str, reader: str) -> Correction:
    """The correction of a mesh by the bones of a side."""
    state, obj = change.state, change.skinned.obj
    known = settings_of(obj).corrections
    if side.sign:
        space = np.array(object_to_armature(obj, change.skinned.armature), np.float64)
        across = change.record.rest @ space[0, :3] + space[0, 3]
        width = SEAM * change.size * float(np.linalg.norm(space[0, :3]))
        offsets = offsets * np.clip(0.5 + 0.5 * side.sign * across / width, 0.0, 1.0)[:, None]
    rotations = np.array([state.rotations[bone] for bone in side.bones])
    if change.key and change.key in known:
        name, reader = change.key, known[change.key].reader
    elif name and name in known:
        raise SkinningError(f"'{obj.name}' already has a correction '{name}': choose another name, or edit it again")
    return Correction(
        name or _name(obj, side.bones, rotations), offsets, side.bones, rotations, state.pose, reader, state.method
    )


def _name(obj: bpy.types.Object, bones: tuple[str, ...], rotations: np.ndarray) -> str:
    """A name for a correction that no other has."""
    angles = np.degrees(2.0 * np.arccos(np.abs(rotations[:, 0]).clip(0.0, 1.0)))
    name = ", ".join(f"{bone} {angle:.0f}" for bone, angle in zip(bones, angles.tolist(), strict=True))
    known, number, free = settings_of(obj).corrections, 1, name
    while free in known:
        number += 1
        free = f"{name} ({number})"
    return free
