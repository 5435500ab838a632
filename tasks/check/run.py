"""What poses do to the meshes of a character, by several methods: read by Blender, measured without it.

`prepare` reads all there is to know; `Check.run` computes, and touches nothing of Blender's: it may run in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import bpy
import numpy as np

from ...bridge.rigs.armatures import Skeleton
from ...deformers import Pose, SkinningError
from ...deformers.measures.bends import list_bent_poses
from ...deformers.measures.joint_faults import LEAST_BEND, Extremes, SkinMeter, measure_joint_angles
from ...deformers.rig.rest import Rest, Weights
from ...options import CheckOptions
from ..skin.model import Choices, PosableSkin, SkinSource
from ..skin.poses import find_skeleton
from ..skin.step import without_changes
from ..steps import Steps, computed
from ..subject.actions import MOST_FRAMES
from ..subject.character import check_modifiers_above, find_method_in_use, find_skinned, modifiers_above, read_character
from ..subject.stack import SkinnedObject
from .poses import CheckedPose, label_poses, read_action_poses


@dataclass(frozen=True)
class CheckedMesh:
    """A mesh to be checked.

    Attributes
    ----------
    method : str
        Key of the method in use: that it is bound by, else what its Armature modifier does.
    space : float array, shape (4, 4), or None
        From object to armature space.
    bound : dict from a method to PosableSkin
    """

    name: str
    method: str
    rest: Rest
    space: np.ndarray | None
    meter: SkinMeter
    bound: dict[str, PosableSkin]

    def deform(self, method: str, pose: CheckedPose) -> np.ndarray:
        """Points in a pose: shape (V, 3), object space."""
        return self.bound[method].pose(Pose(pose.rest_to_pose, self.space, pose.hints))


@dataclass(frozen=True)
class MeasuredMesh:
    """What was measured of a mesh.

    Attributes
    ----------
    name, method, rest, meter
        As of `CheckedMesh`.
    extremes : dict from a method to Extremes
    """

    name: str
    method: str
    rest: Rest
    meter: SkinMeter
    extremes: dict[str, Extremes]


@dataclass(frozen=True)
class Check:
    """A character to be checked.

    Attributes
    ----------
    armature : str
        Name of the armature object.
    refused : dict from a mesh's name to str
        Meshes that can not be checked, and why.
    """

    armature: str
    skeleton: Skeleton
    meshes: list[CheckedMesh]
    refused: dict[str, str]
    poses: list[CheckedPose]

    def run(self, progress: Callable[[float], None] = lambda share: None) -> list[MeasuredMesh]:
        """Measure all meshes in all poses; `progress` is called with the share that is done."""
        steps = sum(len(mesh.bound) for mesh in self.meshes) * max(1, len(self.poses))
        bent = self._choose_bent()
        done, measured = 0, []
        for mesh in self.meshes:
            meter, extremes = mesh.meter, {}
            for method in mesh.bound:
                extremes[method] = Extremes.of(len(mesh.rest.joints.parents), len(mesh.rest.points))
                for number, pose in enumerate(self.poses):
                    posed = meter.place(mesh.deform(method, pose))
                    drawn = meter.draw_out(posed)
                    extremes[method].add(number, meter.measure(posed, pose.rest_to_pose, drawn, bent[number]), drawn)
                    done += 1
                    progress(done / steps)
            measured.append(MeasuredMesh(mesh.name, mesh.method, mesh.rest, meter, extremes))
        return measured

    def _choose_bent(self) -> list[list[int]]:
        """For each pose the joints that are looked at for overlap: those that no other of its action bends more."""
        parents = self.skeleton.joints.parents
        angles = np.array([measure_joint_angles(pose.rest_to_pose, parents) for pose in self.poses])
        chosen: list[list[int]] = [[bend.joint for bend in pose.bends if not bend.is_twist] for pose in self.poses]
        actions = np.array(["" if pose.bends else f"{pose.action}\n" for pose in self.poses], str)
        for action in np.unique(actions[actions != ""]):
            numbers = np.flatnonzero(actions == action)
            most = numbers[angles[numbers].argmax(axis=0)]
            for joint in np.flatnonzero(angles[numbers].max(axis=0) >= LEAST_BEND).tolist():
                chosen[most[joint]].append(joint)
        return chosen


def prepare(objects: Iterable[bpy.types.Object], options: CheckOptions) -> Steps[Check]:
    """Read the meshes of one armature, and its poses; nothing of the file is changed.

    Parameters
    ----------
    objects : Objects
        Meshes; those that no armature deforms are left out.

    Raises
    ------
    SkinningError
        Where there is nothing to check, or more than there is memory for.
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
    if len(armatures) != 1:
        raise SkinningError(
            "Nothing to check: select a mesh that has an Armature modifier, or its armature"
            if not armatures
            else f"The meshes belong to {len(armatures)} armatures: check one character at a time"
        )
    skeleton, meshes = find_skeleton(armatures[0]), []
    hinted = skeleton  # of a mesh whose joints are asked for twists, if there is one
    for one in skinned:
        try:
            mesh, own = yield from _read_mesh(one, skeleton, options.methods)
            meshes.append(mesh)
            hinted = own if own.has_hints else hinted
        except SkinningError as error:
            refused[one.obj.name] = str(error)
    if not meshes:
        raise SkinningError("\n".join(refused.values()))
    yield None
    with without_changes():  # actions are played for their poses
        poses = _read_poses(armatures[0], hinted, options)
    yield None
    poses += _bend(hinted, meshes, options)
    return Check(armatures[0].name, skeleton, meshes, refused, poses)


def _read_mesh(
    skinned: SkinnedObject, skeleton: Skeleton, methods: tuple[str, ...]
) -> Steps[tuple[CheckedMesh, Skeleton]]:
    """A mesh, and the skeleton that it is bound to by the method in use."""
    rest = read_character(skinned, skeleton).rest
    check_modifiers_above(skinned, modifiers_above(skinned.obj, skinned.deforming))
    in_use, bound = find_method_in_use(skinned), {}
    for method in dict.fromkeys((in_use, *methods)):
        yield None
        bound[method] = PosableSkin.of(SkinSource.of(skinned, Choices.read(skinned, method), skeleton))
    meter = yield from computed(partial(SkinMeter, rest))
    mesh = CheckedMesh(skinned.obj.name, in_use, rest, rest.object_to_armature, meter, bound)
    return mesh, bound[in_use].skeleton


def _read_poses(armature: bpy.types.Object, skeleton: Skeleton, options: CheckOptions) -> list[CheckedPose]:
    """The frames of the scene, or the most different of all actions, as the options ask for."""
    if options.frames is not None:
        return label_poses(armature, skeleton, None, options.frames)
    return read_action_poses(armature, skeleton) if options.use_actions else []


def _bend(skeleton: Skeleton, meshes: list[CheckedMesh], options: CheckOptions) -> list[CheckedPose]:
    """The range of motion, if the options ask for it."""
    if not options.bend:
        return []
    weights, count = _join_weights(meshes)
    limbs = np.any([mesh.meter.has_limb for mesh in meshes], axis=0)
    chosen = limbs if limbs.any() else np.ones(len(limbs), bool)
    found = list_bent_poses(weights, count, skeleton.joints, options.bend, chosen)
    return [
        CheckedPose("", 0, pose.bends, pose.rest_to_pose, tuple(skeleton.name_joint(bend.joint) for bend in pose.bends))
        for pose in found
    ]


def _join_weights(meshes: list[CheckedMesh]) -> tuple[Weights, int]:
    """The weights of all meshes in a row, and the number of their vertices."""
    counts = [len(mesh.rest.points) for mesh in meshes]
    starts = np.cumsum([0, *counts])
    weights = [mesh.rest.weights for mesh in meshes]
    vertices = np.concatenate([own.vertices + start for own, start in zip(weights, starts[:-1], strict=True)])
    joints, values = (np.concatenate([getattr(own, name) for own in weights]) for name in ("joints", "values"))
    return Weights(vertices, joints, values), int(starts[-1])
