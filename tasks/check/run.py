"""Measure the meshes of a character in poses, by several methods. Blender reads; measuring does without it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import bpy
import numpy as np

from ...bridge.rigs.actions import MOST_FRAMES
from ...bridge.rigs.armatures import Skeleton
from ...deformers import BLENDERS, Pose, SkinningError
from ...deformers.layers.keep import LayerPlan, keep_apart
from ...deformers.measures.bends import Bend, list_bent_poses
from ...deformers.measures.difference import MILLIMETERS
from ...deformers.measures.joint_faults import MIN_BEND, Extremes, SkinMeter, measure_rotations
from ...deformers.rig.rest import Rest, Weights
from ...options import CheckOptions
from ...settings.objects import settings_of
from ..corrections.driven import DrivenKeys, plan_driven, read_driven
from ..layers.present import find_kept
from ..skin.model import Choices, PosableSkin, SkinSource, UnboundSkin
from ..skin.poses import find_skeleton
from ..steps import Progress, Steps
from ..subject.character import check_modifiers_above, find_method_in_use, find_skinned, modifiers_above, read_character
from ..subject.stack import SkinnedObject
from ..weights.parts import read_part
from .layers import MOST_POSES, Contacts, LayerCheck
from .poses import CheckedPose, label_poses, read_action_poses
from .ranges import find_own_bends
from .trial import Trial

# Share of the progress for reading
READ = 0.1


@dataclass(frozen=True)
class ReadMesh:
    """A mesh to check, as read.

    Attributes
    ----------
    method : str
        Key of the method it is bound by, or of the one that equals its Armature modifier.
    skins : dict from a method to UnboundSkin
    driven : list of DrivenKeys
        Corrections, which the method in use has.
    """

    name: str
    method: str
    rest: Rest
    skins: dict[str, UnboundSkin]
    driven: list[DrivenKeys]

    def bind(self) -> CheckedMesh:
        """Bind by all methods; raises SkinningError if one fails."""
        bound = {method: skin.bind() for method, skin in self.skins.items()}
        return CheckedMesh(self.name, self.method, self.rest, SkinMeter(self.rest), bound, {}, self.driven)


@dataclass(frozen=True)
class CheckedMesh:
    """The measures of a mesh.

    Attributes
    ----------
    name, method, rest, driven
        As of `ReadMesh`.
    bound : dict from a method to PosableSkin
    extremes : dict from a method to Extremes
    """

    name: str
    method: str
    rest: Rest
    meter: SkinMeter
    bound: dict[str, PosableSkin]
    extremes: dict[str, Extremes]
    driven: list[DrivenKeys]

    def deform(self, method: str, pose: CheckedPose) -> np.ndarray:
        """Points in a pose: shape (V, 3), object space; by the method in use with its corrections."""
        skin, offsets = self.bound[method], 0.0
        if method == self.method:
            offsets = sum((keys.find_offsets(pose.rest_to_pose) for keys in self.driven), 0.0)
        if isinstance(offsets, np.ndarray):
            skin = skin.at(points=self.rest.points + offsets)
        return skin.pose(Pose(pose.rest_to_pose, self.rest.object_to_armature, pose.hints))

    def measure(self, method: str, poses: Sequence[CheckedPose], bent: Sequence[Sequence[int]]) -> Iterator[np.ndarray]:
        """Measure a method in all poses; yields posed points, shape (V, 3), armature space, after each.

        `bent`: for each pose the joints that are looked at for overlap.
        """
        meter = self.meter
        extremes = self.extremes[method] = Extremes.of(len(self.rest.joints.parents), len(self.rest.points))
        for number, pose in enumerate(poses):
            posed = meter.place(self.deform(method, pose))
            drawn = meter.draw_out(posed)
            extremes.add(number, meter.measure(posed, pose.rest_to_pose, drawn, bent[number]), drawn)
            yield posed


@dataclass(frozen=True)
class Checked:
    """A character that was checked.

    Attributes
    ----------
    armature : str
        Name of the armature object.
    refused : dict from a mesh's name to str
        Meshes that cannot be checked, and why.
    contacts : Contacts
        By the methods in use.
    millimeters : float
        In a unit of armature space.
    """

    armature: str
    skeleton: Skeleton
    meshes: list[CheckedMesh]
    refused: dict[str, str]
    poses: list[CheckedPose]
    contacts: Contacts
    millimeters: float


def check_character(
    objects: Iterable[bpy.types.Object], options: CheckOptions, trial: Trial | None = None
) -> Steps[Checked]:
    """Check the meshes of one armature; nothing of the file is changed.

    Raises SkinningError if there is nothing to check, or more than there is memory for.

    Parameters
    ----------
    objects : Objects
        Meshes; those that no armature deforms are left out.
    trial : Trial, optional
        Whose layers and flesh are to be, too.
    """
    if options.frames is not None and len(options.frames) > MOST_FRAMES:
        raise SkinningError(
            f"{len(options.frames):,} frames are too many to check: choose {MOST_FRAMES:,} or fewer, such as every "
            "tenth frame"
        )
    skinned, refused = [], {}
    for obj in objects:
        try:
            skinned.append(find_skinned(obj))
        except SkinningError as error:
            refused[obj.name] = str(error)
    armatures = list(dict.fromkeys(one.armature for one in skinned))
    if not armatures:
        reasons = _name(refused) or ["select a mesh that has an Armature modifier, or its armature"]
        raise SkinningError(f"Nothing to check: {'; '.join(reasons)}")
    if len(armatures) > 1:
        raise SkinningError(f"The meshes belong to {len(armatures)} armatures: check one character at a time")
    skeleton, meshes = find_skeleton(armatures[0]), []
    for number, one in enumerate(skinned):
        try:
            meshes.append(_read_mesh(one, skeleton, options.methods, trial))
        except SkinningError as error:
            refused[one.obj.name] = str(error)
        yield 0.5 * READ * (number + 1) / len(skinned)
    if not meshes:
        raise SkinningError("\n".join(_name(refused)))
    found = []
    if options.frames is not None:
        found = label_poses(armatures[0], skeleton, None, options.frames)
    elif options.use_actions:
        found = yield from read_action_poses(armatures[0], skeleton)
    yield READ
    kept: Mapping[str, LayerPlan]
    if trial is not None and trial.layers is not None:
        kept = trial.layers[1]
    else:
        kept = find_kept(armatures[0], [one.obj for one in skinned], len(skeleton.joints.parents))
    own = find_own_bends(armatures[0], skeleton, found, options.bend) if options.bend else {}
    measured = yield partial(_measure, skeleton, meshes, kept, found, options.bend, own)
    checked, wrong, measured_in, contacts = measured
    millimeters = MILLIMETERS * bpy.context.scene.unit_settings.scale_length * armatures[0].matrix_world.median_scale
    return Checked(armatures[0].name, skeleton, checked, refused | wrong, measured_in, contacts, millimeters)


def _name(refused: Mapping[str, str]) -> list[str]:
    """Why meshes cannot be checked, each with its name."""
    return [reason if f"'{name}'" in reason else f"'{name}': {reason}" for name, reason in refused.items()]


def _read_mesh(skinned: SkinnedObject, skeleton: Skeleton, methods: tuple[str, ...], trial: Trial | None) -> ReadMesh:
    """A mesh, to be bound by the method in use, and others."""
    rest = read_character(skinned, skeleton).rest
    check_modifiers_above(skinned, modifiers_above(skinned.obj, skinned.deforming))
    read_part(skinned.obj, skinned.armature, skeleton.names)  # raises where its weights can not be checked
    in_use = find_method_in_use(skinned)
    is_own = settings_of(skinned.obj).is_bound
    skins = {}
    for method in dict.fromkeys((in_use, *methods)):
        is_blenders = method in BLENDERS and not (is_own and method == in_use)
        choices = Choices.read(skinned, method, is_blenders)
        skins[method] = UnboundSkin.of(SkinSource.of(skinned, choices, skeleton))
    driven = read_driven(skinned.obj, skinned.armature, skeleton)
    if trial is not None and trial.flesh is not None:
        driven += plan_driven(skinned.armature, skeleton, trial.flesh.corrections.get(skinned.obj.name, ()))
    return ReadMesh(skinned.obj.name, in_use, rest, skins, driven)


def _measure(
    skeleton: Skeleton,
    read: list[ReadMesh],
    kept: Mapping[str, LayerPlan],
    poses: list[CheckedPose],
    bend: float,
    own: Mapping[int, Sequence[Bend]],
    progress: Progress,
) -> tuple[list[CheckedMesh], dict[str, str], list[CheckedPose], Contacts]:
    """Measure meshes in poses and a range of motion: the measured meshes, reasons for the others, all poses, and
    collisions with the layers kept apart.
    """
    meshes, refused = [], {}
    for mesh in read:
        try:
            meshes.append(mesh.bind())
        except SkinningError as error:
            refused[mesh.name] = str(error)
    if not meshes:
        raise SkinningError("\n".join(_name(refused)))
    poses = [*poses, *(_bend(skeleton, meshes, bend, own) if bend else ())]
    bent = _choose_bent(poses, skeleton.joints.parents)
    done, total = 0, sum(len(mesh.bound) for mesh in meshes) * max(1, len(poses))
    together = LayerCheck([mesh.meter for mesh in meshes])
    frames = [number for number, pose in enumerate(poses) if not pose.bends]
    looked_at = set(frames[:: -(-len(frames) // MOST_POSES) or 1])

    def keep(number: int, posed: Sequence[np.ndarray]) -> list[np.ndarray]:
        by_name = {mesh.name: points for mesh, points in zip(meshes, posed, strict=True)}
        return list(keep_apart(kept, by_name, poses[number].rest_to_pose).values())

    for number, posed in enumerate(zip(*(mesh.measure(mesh.method, poses, bent) for mesh in meshes), strict=True)):
        together.add(keep(number, posed), bool(poses[number].bends), number in looked_at)
        done += len(meshes)
        progress(READ + (1.0 - READ) * done / total)
    for mesh in meshes:
        for method in (method for method in mesh.bound if method != mesh.method):
            for _ in mesh.measure(method, poses, bent):
                done += 1
                progress(READ + (1.0 - READ) * done / total)

    def deform(number: int) -> list[np.ndarray]:
        return keep(number, [mesh.meter.place(mesh.deform(mesh.method, poses[number])) for mesh in meshes])

    return meshes, refused, poses, together.find(deform)


def _choose_bent(poses: Sequence[CheckedPose], parents: np.ndarray) -> list[list[int]]:
    """For each pose the joints that are looked at for overlap: those that no other of its action bends more."""
    angles = np.array([measure_rotations(pose.rest_to_pose, parents) for pose in poses])
    chosen: list[list[int]] = [[bend.joint for bend in pose.bends if not bend.is_twist] for pose in poses]
    actions = np.array(["" if pose.bends else f"{pose.action}\n" for pose in poses], str)
    for action in np.unique(actions[actions != ""]):
        numbers = np.flatnonzero(actions == action)
        most = numbers[angles[numbers].argmax(axis=0)]
        for joint in np.flatnonzero(angles[numbers].max(axis=0) >= MIN_BEND).tolist():
            chosen[most[joint]].append(joint)
    return chosen


def _bend(
    skeleton: Skeleton, meshes: Sequence[CheckedMesh], angle: float, own: Mapping[int, Sequence[Bend]]
) -> Iterator[CheckedPose]:
    """The poses of a range of motion: joints of limbs, or all if there is no limb."""
    weights, count = Weights.in_a_row([mesh.rest for mesh in meshes]), sum(len(mesh.rest.points) for mesh in meshes)
    limbs = np.any([mesh.meter.has_limb for mesh in meshes], axis=0)
    chosen = limbs if limbs.any() else np.ones(len(limbs), bool)
    for pose in list_bent_poses(weights, count, skeleton.joints, angle, chosen, own):
        names = tuple(skeleton.name_joint(bend.joint) for bend in pose.bends)
        yield CheckedPose("", 0, pose.bends, pose.rest_to_pose, names)
