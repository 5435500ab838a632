"""The poses of one step: of each armature, bones and pose are read once for all meshes on it."""

from __future__ import annotations

import bpy
import numpy as np

from ...bridge.per_object import PerObject
from ...bridge.rigs.armatures import Skeleton, read_pose, read_pose_names, read_skeleton
from ...deformers import Pose

# The latest of each armature object: meshes that were bound to the same bones share it
_skeletons: PerObject[Skeleton] = PerObject()

# The latest of each armature object, by whether its skeleton has rolls
_poses: PerObject[dict[bool, Pose]] = PerObject()


def find_skeleton(armature: bpy.types.Object, known: Skeleton | None = None) -> Skeleton:
    """The skeleton of an armature object, original or evaluated: the one in use, or `known`, if it is the same."""
    original = armature.original  # an evaluated object has no `session_uid`
    return _skeletons.keep(original, read_skeleton(armature, _skeletons.find(original) or known))


class PosedArmature:
    """An evaluated armature in one step.

    Parameters
    ----------
    armature : Object
        Original.
    depsgraph : Depsgraph
        Of the viewport or of the render: each has its own pose.
    """

    def __init__(self, armature: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> None:
        self.obj = armature.evaluated_get(depsgraph)
        self._original = armature
        self._skeleton: Skeleton | None = None
        self._is_compared = False
        self._latest = _poses.find(armature) or {}
        self._poses: dict[bool, Pose] = _poses.keep(armature, {})

    def find_skeleton(self, known: Skeleton | None, is_stale: bool) -> Skeleton:
        """Its skeleton, with rolls.

        Parameters
        ----------
        known : Skeleton, optional
            The skeleton a mesh was bound to: returned if nothing has changed.
        is_stale : bool
            Whether more than the names may have changed.
        """
        skeleton = self._skeleton
        if skeleton is None or (is_stale and not self._is_compared):
            skeleton = _skeletons.find(self._original) or (known and known.rolled)
            self._is_compared = is_stale or skeleton is None or skeleton.pose_names != read_pose_names(self.obj)
            if skeleton is None or self._is_compared:
                skeleton = find_skeleton(self.obj, known)
            self._skeleton = skeleton
            self._poses.clear()
        return skeleton

    def read_pose(self, skeleton: Skeleton) -> Pose:
        """Its pose, for meshes whose space is the armature's; the latest one if no bone has moved since.

        Parameters
        ----------
        skeleton : Skeleton
            What `find_skeleton` has found, with rolls or without.

        Raises
        ------
        SkinningError
            If the pose holds values that are not numbers.
        """
        key = skeleton.plain is not None
        if key not in self._poses:
            pose, latest = read_pose(self.obj, skeleton), self._latest.get(key)
            self._poses[key] = latest if latest is not None and _is_same(pose, latest) else pose
        return self._poses[key]


def _is_same(first: Pose, second: Pose) -> bool:
    if not np.array_equal(first.rest_to_pose, second.rest_to_pose):
        return False
    return first.hints is None or second.hints is None or np.array_equal(first.hints, second.hints)


class Poses:
    """The armatures of one step, each evaluated by the same depsgraph."""

    def __init__(self, depsgraph: bpy.types.Depsgraph) -> None:
        self._depsgraph = depsgraph
        self._armatures: dict[int, PosedArmature] = {}

    def of(self, armature: bpy.types.Object) -> PosedArmature:
        """An armature object, read once in this step."""
        uid = armature.session_uid
        if uid not in self._armatures:
            self._armatures[uid] = PosedArmature(armature, self._depsgraph)
        return self._armatures[uid]
