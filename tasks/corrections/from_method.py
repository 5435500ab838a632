"""Corrections that give a skin the shape of another method, such as Particles, at the speed of shape keys.

Each joint is bent alone, by the method in use and by the other. The difference is brought back to rest, and fitted
again to frames of the actions, in which several joints bend.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of
from ...bridge.names import free_name, name_within
from ...bridge.rigs.armatures import Skeleton
from ...deformers import METHODS, Pose, SkinningError
from ...deformers.corrections.inverses import pull_back
from ...deformers.corrections.offset_fit import OffsetFit, find_mask
from ...deformers.corrections.readers import Reader
from ...deformers.corrections.rotation_choice import choose_farthest, measure_angles, pose_joint
from ...settings.choices import BAKING
from ..left_out import LeftOut, check_any, describe_left_out, sort_out
from ..skin.model import Choices, PosableSkin, SkinSource, UnboundSkin
from ..skin.poses import find_skeleton
from ..steps import Progress, Steps
from ..subject.character import find_method_in_use
from ..subject.stack import SkinnedObject
from .from_joints import BentJoint, choose_rotations, find_joints, read_frames
from .keys import Correction, find_next_reader, list_group, store_all
from .posed_copy import check_correctable
from .poses import pack_numbers

# Shares of all that are done when the actions are read, and the meshes bound
READ, BOUND = 0.1, 0.2

# Angles that corrections can be made at, degrees
SMALLEST, LARGEST = 5.0, 150.0

# Angles of a joint: each is a shape key, and three for some joints
MOST_ANGLES = 24

# Of all corrections together: as shape keys, and while they are found, half a gigabyte
MOST_OFFSETS = 20_000_000

# Share of a mesh's size that a joint must move it by, from the one method to the other, to be corrected
LEAST = 1e-4

# Rotations of a joint that is no hinge which its corrections are fitted to, at most, and how far apart at least
SAMPLES, APART = 24, np.radians(8.0)

# Frames that all corrections are fitted to, at most, and coordinates that these may have in all
MOST_FRAMES, MOST_NUMBERS = 120, 30_000_000

# What a frame counts in the fit on average, where a joint bent alone counts 1; and the share of the mean square of
# all frames that is added to that of each, so that frames where next to nothing differs do not count most
FRAME_WEIGHT, STILL = 2.0, 0.05

# Of a mask: vertices that are measured
NEAR = 0.5


@dataclass(frozen=True)
class CorrectedFrom:
    """The new corrections, and their error.

    Attributes
    ----------
    source : str
        Label of the method, or name of the object.
    keys : tuple of (str, str)
        Mesh and shape key.
    bones : tuple of str
        Bones that drive them.
    before, after : float
        Rms distance from the source, in millimeters, of the skin near the joints in the fitted poses of several joints,
        without the corrections and with them. 0 if there are no such poses.
    left_out : tuple of str
        A sentence on each mesh that is left out, and why.
    """

    source: str
    keys: tuple[tuple[str, str], ...]
    bones: tuple[str, ...]
    before: float = 0.0
    after: float = 0.0
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def describe(self) -> list[str]:
        """All of it in sentences."""
        notes = [*self.notes, *self.left_out]
        if not self.keys:
            return [f"No correction is needed: {self.source} does not change the skin at any joint", *notes]
        count, bones = len(self.keys), ", ".join(self.bones)
        lines = [f"{count} corrections from {self.source}, driven by {bones}"]
        if self.before:
            lines.append(
                f"In the poses of the fit, the skin near these joints is {self.after:.2f} mm from {self.source} with "
                f"the corrections, and {self.before:.2f} mm without them (rms)"
            )
        return [*lines, *notes]


@dataclass(frozen=True, eq=False)
class ComparedMesh:
    """A mesh, bound by two methods.

    Attributes
    ----------
    space : float array, shape (4, 4)
        From object to armature space.
    now, source : PosableSkin
        By the method in use and by the other.
    size : float
        Of the mesh at rest.
    millimeters : float
        In a unit of object space.
    """

    skinned: SkinnedObject
    space: np.ndarray
    now: PosableSkin
    source: PosableSkin
    size: float
    millimeters: float

    def find_offsets(self, matrices: np.ndarray) -> np.ndarray:
        """Offsets at rest, (V, 3), that give the mesh its shape by the other method in a pose, (B, 4, 4)."""
        pose = Pose(matrices).seen_from(self.space)
        wanted = self.source.pose(pose).astype(np.float64) - self.now.pose(pose)
        return pull_back(self.now.transforms(pose)[:, :3, :3], wanted).offsets


@dataclass(frozen=True, eq=False)
class JointKeys:
    """The corrections of a mesh at one joint.

    Attributes
    ----------
    corrections : list of Correction
        Without their offsets.
    reader : Reader
        Of all corrections that this joint brings in.
    columns : list of int
        Which of its values are those of these.
    replaced : list of str
        Corrections that were made in the same way before.
    """

    joint: BentJoint
    corrections: list[Correction]
    reader: Reader
    columns: list[int]
    replaced: list[str]

    def read(self, rotations: np.ndarray) -> np.ndarray:
        """Values, shape (F, K), at rotations of the joint, shape (F, 4)."""
        return self.reader.read(rotations[:, None])[:, self.columns]


@dataclass(frozen=True, eq=False)
class Fitted:
    """Corrections of a mesh.

    Attributes
    ----------
    joints : list of JointKeys
        Those that matter to it.
    offsets : list of float32 arrays, shape (K, V, 3)
        Of each of them.
    squares : float array, shape (3,)
        Vertices measured, and the sums of their squared distances without and with the corrections, square millimeters.
    """

    mesh: ComparedMesh
    joints: list[JointKeys]
    offsets: list[np.ndarray]
    squares: np.ndarray


def correct_by_method(
    objects: Sequence[bpy.types.Object], source: str, names: Sequence[str], angles: Sequence[float]
) -> Steps[CorrectedFrom]:
    """Correct meshes after a method: see `correct_from`."""
    angles = check_angles(angles)
    skinned, left_out = find_correctable(objects)
    armature = skinned[0].armature
    skeleton = find_skeleton(armature)
    joints = find_joints(armature, skeleton, names)
    poses = yield from read_frames(armature, skeleton, joints, READ)
    choose_rotations(armature, skeleton, joints, np.radians(angles).tolist())
    meshes, unbound = yield from bind_both(skinned, skeleton, source, BOUND)
    joints = list({joint.reading: joint for joint in reversed(joints)}.values())[::-1]  # one for each that is read
    planned, unplanned = plan_all(meshes, joints, source, "RBF")
    _check_size(planned)
    fitted = yield partial(fit_all, planned, skeleton, poses)
    return store_fitted(fitted, source, (), (*left_out, *unbound, *unplanned))


def find_correctable(objects: Sequence[bpy.types.Object]) -> tuple[list[SkinnedObject], tuple[str, ...]]:
    """Meshes of one armature that corrections can be made of, and which are left out, a sentence on each.

    Raises
    ------
    SkinningError
        If there is none, or they have several armatures.
    """
    skinned, left_out = sort_out(objects, check_correctable)
    if any(one.armature != skinned[0].armature for one in skinned):
        raise SkinningError("The meshes belong to several armatures: correct one character at a time")
    return skinned, describe_left_out(left_out)


def check_angles(angles: Sequence[float]) -> list[float]:
    """Angles in degrees, ascending, each once; raises SkinningError if there is none, or one cannot be read."""
    if not len(angles):
        raise SkinningError(f"No angle is given: enter angles from {SMALLEST:g} to {LARGEST:g} degrees")
    for angle in angles:
        if not SMALLEST <= angle <= LARGEST:
            raise SkinningError(
                f"Joints cannot be corrected at {angle:g} degrees: use angles from {SMALLEST:g} to {LARGEST:g}"
            )
    different = sorted(set(angles))
    if len(different) > MOST_ANGLES:
        raise SkinningError(f"{len(different):,} angles are too many: use {MOST_ANGLES} or fewer")
    return different


def _check_size(planned: Sequence[tuple[ComparedMesh, Sequence[JointKeys]]]) -> None:
    """Raise SkinningError if corrections are more than there is memory for."""
    counts = [sum(len(keys.corrections) for keys in joints) for _, joints in planned]
    vertices = [len(mesh_of(mesh.skinned.obj).vertices) for mesh, _ in planned]
    if sum(count * number for count, number in zip(counts, vertices, strict=True)) > MOST_OFFSETS:
        raise SkinningError(
            f"{sum(counts):,} corrections of {sum(vertices):,} vertices are too many at once: use fewer angles, or "
            "fewer joints and correct the others afterward"
        )


@dataclass(frozen=True, eq=False)
class ReadBoth:
    """A mesh, to be bound by the method in use and by another, with the Params that each is posed with."""

    skinned: SkinnedObject
    now: tuple[UnboundSkin, Any]
    source: tuple[UnboundSkin, Any]
    size: float
    millimeters: float

    @classmethod
    def of(
        cls,
        skinned: SkinnedObject,
        skeleton: Skeleton,
        source: str,
    ) -> ReadBoth:
        """A mesh as it is in the file. See `bind_both`."""
        if find_method_in_use(skinned) == source:
            raise SkinningError(
                f"'{skinned.obj.name}' is already deformed by {METHODS[source].label}: bind it with the method to "
                "correct"
            )
        obj, by_source = skinned.obj, Choices.read(skinned, source)
        by_own = Choices.read(skinned)
        by_own = replace(by_own, has_rolls=by_own.has_rolls and by_source.has_rolls)  # else they were taken back
        now, (unbound, quality) = (
            (UnboundSkin.of(SkinSource.of(skinned, choices, skeleton)), choices.read_quality(skinned.settings, BAKING))
            for choices in (by_own, by_source)
        )
        points = np.array([corner[:] for corner in obj.bound_box])
        scale = obj.matrix_world.median_scale * bpy.context.scene.unit_settings.scale_length
        return cls(skinned, now, (unbound, quality), float(np.linalg.norm(np.ptp(points, axis=0))), 1000.0 * scale)

    def bind(self) -> ComparedMesh:
        """Bind it by both methods."""
        now, source = (skin.bind().at(quality) for skin, quality in (self.now, self.source))
        space = np.array(now.bound_space, np.float64)
        return ComparedMesh(self.skinned, space, now, source, self.size, self.millimeters)


def bind_both(
    objects: Sequence[SkinnedObject],
    skeleton: Skeleton,
    source: str,
    share: float,
) -> Steps[tuple[list[ComparedMesh], tuple[str, ...]]]:
    """Meshes bound by the method in use and by another; and which are left out, a sentence on each.

    Parameters
    ----------
    skeleton : Skeleton
    share : float
        Of all that is done once they are read.

    Raises
    ------
    SkinningError
        If all are left out.
    """
    read, left_out = [], LeftOut()
    for number, one in enumerate(objects):
        try:
            read.append(ReadBoth.of(one, skeleton, source))
        except SkinningError as error:
            left_out.append((one.obj, error))
        yield share * (number + 1) / len(objects)
    meshes = []
    check_any(read, left_out)
    for mesh in (yield partial(_bind_all, read)):
        binding = mesh.source.binding
        if METHODS[source].fills_solid and not binding.count:
            left_out.append((mesh.skinned.obj, SkinningError(" ".join(binding.messages))))
        else:
            meshes.append(mesh)
    check_any(meshes, left_out)
    return meshes, describe_left_out(left_out)


def _bind_all(read: Sequence[ReadBoth], _progress: Progress) -> list[ComparedMesh]:
    return [mesh.bind() for mesh in read]


def plan_all(
    meshes: Sequence[ComparedMesh], joints: Sequence[BentJoint], source: str, reader: str
) -> tuple[list[tuple[ComparedMesh, list[JointKeys]]], tuple[str, ...]]:
    """Plan the corrections of meshes at joints by `plan_keys`; a sentence on each mesh that is left out.

    Parameters
    ----------
    reader : str
        For joints that are not hinges.
    """
    readers = ["ANGLE" if joint.chosen.is_hinge else reader for joint in joints]
    by_object = {mesh.skinned.obj: mesh for mesh in meshes}

    def plan(obj: bpy.types.Object) -> tuple[ComparedMesh, list[JointKeys]]:
        mesh = by_object[obj]
        return mesh, [plan_keys(mesh, joint, source, own) for joint, own in zip(joints, readers, strict=True)]

    planned, left_out = sort_out(by_object, plan)
    return planned, describe_left_out(left_out)


def plan_keys(mesh: ComparedMesh, joint: BentJoint, source: str, reader: str) -> JointKeys:
    """The names of a mesh's corrections at a joint, and their reader.

    Parameters
    ----------
    reader : str
        The requested one, of `READER_ITEMS`.

    Raises
    ------
    SkinningError
        If the user's corrections of the joint are too near to be told apart.
    """
    obj, bones = mesh.skinned.obj, (joint.reading,)
    group = list_group(obj, bones)
    replaced = [entry.name for entry in group if entry.source == source]
    own = {entry.name for entry in group} - set(replaced)
    corrections, used = [], {*own}
    for rotation in joint.chosen.rotations:
        degrees = np.degrees(measure_angles(rotation))
        ending = f" {METHODS[source].label} {degrees:.0f}"
        name = free_name(name_within(joint.reading, ending), used)
        used.add(name)
        numbers = pack_numbers((0.0, 0.0, 0.0, *rotation, 1.0, 1.0, 1.0))
        corrections.append(
            Correction(
                name=name,
                offsets=np.empty((0, 3)),
                bones=bones,
                rotations=rotation[None],
                pose=json.dumps({joint.reading: numbers}),
                reader=reader,
                method=mesh.now.choices.method,
                source=source,
            )
        )
    try:
        found, names = find_next_reader(obj, corrections, replaced)
    except SkinningError as error:
        if not own:
            raise
        listed = ", ".join(f"'{name}'" for name in sorted(own))
        raise SkinningError(f"{error}. Corrections of '{joint.reading}' that you have made: {listed}") from error
    return JointKeys(joint, corrections, found, [names.index(one.name) for one in corrections], replaced)


def fit_all(
    planned: list[tuple[ComparedMesh, list[JointKeys]]], skeleton: Skeleton, poses: np.ndarray, progress: Progress
) -> list[Fitted]:
    """Find the offsets of all corrections; touches nothing of Blender's.

    Parameters
    ----------
    planned : list of (ComparedMesh, list of JointKeys)
    poses : float array, shape (F, B, 4, 4)
        Frames of the actions.
    progress : callable
        Told the share that is done.
    """
    fitted = []
    for number, (mesh, joints) in enumerate(planned):

        def tell(share: float, number: int = number) -> None:
            progress(BOUND + (1.0 - BOUND) * (number + share) / len(planned))

        fitted.append(fit_mesh(mesh, joints, skeleton, poses, tell))
    return fitted


def fit_mesh(
    mesh: ComparedMesh, joints: list[JointKeys], skeleton: Skeleton, poses: np.ndarray, progress: Progress
) -> Fitted:
    """Find the offsets of the corrections of a mesh: `fit_all` for one."""

    def bend(joint: BentJoint, rotation: np.ndarray) -> np.ndarray:
        return mesh.find_offsets(pose_joint(skeleton.joints, joint.joint, rotation, joint.axes))

    exact, kept = [], []
    for number, keys in enumerate(joints):
        offsets = np.array([bend(keys.joint, rotation) for rotation in keys.joint.chosen.rotations], np.float32)
        if np.square(offsets).sum(axis=2).max(initial=0.0) > (LEAST * mesh.size) ** 2:
            exact.append(offsets)
            kept.append(keys)
        progress(0.3 * (number + 1) / len(joints))
    if not kept:
        return Fitted(mesh, [], [], np.zeros(3))
    starts = np.cumsum([0, *map(len, exact)])
    fit = OffsetFit(np.concatenate([np.tile(find_mask(offsets), (len(offsets), 1)) for offsets in exact]))
    for number, (keys, offsets) in enumerate(zip(kept, exact, strict=True)):
        rotations, values = _list_samples(keys), np.zeros(starts[-1])
        for index, rotation in enumerate(rotations):
            values[starts[number] : starts[number + 1]] = keys.read(rotation[None])[0]
            wanted = offsets[index] if index < len(offsets) else bend(keys.joint, rotation)
            fit.add(values, wanted[fit.rows])
        progress(0.3 + 0.4 * (number + 1) / len(kept))
    exact.clear()  # as much as the result, which is made next
    frames = _choose_frames(len(poses), len(fit.rows))
    values = np.concatenate([keys.read(keys.joint.rotations[frames]) for keys in kept], axis=1)
    seen = []
    for number, frame in enumerate(frames.tolist()):
        seen.append(mesh.find_offsets(poses[frame])[fit.rows].astype(np.float32))
        progress(0.7 + 0.3 * (number + 1) / len(frames))
    for value, wanted, weight in zip(values, seen, _weigh(seen), strict=True):
        fit.add(value, wanted, weight)
    found = fit.solve()
    progress(1.0)
    squares = _measure(fit, found, values, seen) * [1.0, mesh.millimeters**2, mesh.millimeters**2]
    return Fitted(mesh, kept, np.split(found, starts[1:-1]), squares)


def _list_samples(keys: JointKeys) -> np.ndarray:
    """The rotations of a joint alone to which its corrections are fitted: their own come first."""
    joint = keys.joint
    if joint.chosen.is_hinge or not len(joint.rotations):
        return joint.chosen.rotations
    return np.concatenate([joint.chosen.rotations, choose_farthest(joint.rotations, SAMPLES, APART)])


def _choose_frames(count: int, rows: int) -> np.ndarray:
    """Frames that all corrections of a mesh are fitted to, evenly spread over all."""
    most = int(np.clip(MOST_NUMBERS // max(1, 3 * rows), 8, MOST_FRAMES))
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.intp)) if count else np.arange(0)


def _weigh(seen: Sequence[np.ndarray]) -> np.ndarray:
    """Weights of the frames: scaled so that calm actions count as much as wild ones."""
    squares = np.array([np.square(wanted).mean() for wanted in seen])
    if not squares.any():
        return np.ones(len(squares))
    weights = 1.0 / np.sqrt(squares / squares.mean() + STILL)
    return FRAME_WEIGHT * weights / weights.mean()


def _measure(fit: OffsetFit, offsets: np.ndarray, values: np.ndarray, seen: Sequence[np.ndarray]) -> np.ndarray:
    """Vertices near the joints in all frames, and sums of squared errors without and with the corrections."""
    near = fit.masks[:, fit.rows].max(axis=0) > NEAR
    own, sums = offsets[:, fit.rows[near]], np.zeros(3)
    for value, wanted in zip(values, seen, strict=True):
        left = wanted[near] - np.tensordot(value.astype(np.float32), own, axes=1)
        sums += near.sum(), np.square(wanted[near]).sum(), np.square(left).sum()
    return sums


def store_fitted(fitted: Sequence[Fitted], source: str, notes: Sequence[str], left_out: Sequence[str]) -> CorrectedFrom:
    """Store the fitted corrections: the last step, and the only one that changes the file."""
    stored, bones = [], []
    for one in fitted:
        obj, armature = one.mesh.skinned.obj, one.mesh.skinned.armature
        for keys, offsets in zip(one.joints, one.offsets, strict=True):
            corrections = [replace(own, offsets=found) for own, found in zip(keys.corrections, offsets, strict=True)]
            names = store_all(obj, armature, corrections, keys.replaced)
            stored += [(obj.name, name) for name in names]
            bones.append(keys.joint.reading)
    label = METHODS[source].label
    if not stored:
        raise SkinningError(f"{label} does not change the skin at these joints: nothing was corrected")
    count, before, after = sum((one.squares for one in fitted), np.zeros(3))
    without, left = (float(np.sqrt(squares / max(count, 1.0))) for squares in (before, after))
    return CorrectedFrom(
        label, tuple(stored), tuple(dict.fromkeys(bones)), without, left, tuple(notes), tuple(left_out)
    )
