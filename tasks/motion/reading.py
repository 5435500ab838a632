"""Actions of an armature as channels, and where its bones are then."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import bpy
import numpy as np

from ...bridge.animation.channels import (
    WIDTHS,
    BoneRest,
    Matrices,
    Sampled,
    is_cyclic,
    join_frames,
    read_bone_rest,
    read_matrices,
    sample_curves,
)
from ...bridge.animation.curves import new_action
from ...bridge.rigs.actions import AT_A_TIME, check_length, list_actions, playing, set_frames
from ...deformers import SkinningError
from ...deformers.motion.blending import Clip
from ...deformers.motion.feet import Foot, find_feet
from ...deformers.motion.similarity import Motion
from ..subject.actions import check_plays
from .layout import Layout, find_carried, find_moving, plan_layout

# Most pairs of frames that are compared
MOST_PAIRS = 40_000_000

# Least height of a body, in parts of its largest extent
UPRIGHT = 0.3

# Height, in meters, of the figure that lengths in reports are scaled to
MAN = 1.8


@dataclass(frozen=True, eq=False)
class PosedArmature:
    """An armature whose motions are compared and joined.

    Attributes
    ----------
    weights : float array, shape (2 B,)
        How much the head, then the tail, of each bone counts; 0 for bones that deform nothing, or that no motion moves.
    height : float
        In Blender units.
    """

    armature: bpy.types.Object
    rest: BoneRest
    weights: np.ndarray
    height: float
    feet: list[Foot]

    def place(self, matrices: Matrices) -> np.ndarray:
        """Heads of all bones, then their tails, world space, shape (F, 2 B, 3)."""
        lengths = np.linalg.norm(self.rest.tails - self.rest.heads, axis=1)
        scale = np.linalg.norm(np.array(self.armature.matrix_world, np.float64)[:3, :3], axis=0).mean()
        heads = matrices.pose[..., :3, 3]
        tails = heads + matrices.pose[..., :3, 1] * (lengths / max(scale, 1e-12))[:, None]
        points = np.concatenate([heads, tails], axis=1)
        return np.einsum("fij,fnj->fni", matrices.world[:, :3, :3], points) + matrices.world[:, None, :3, 3]

    def to_motion(self, matrices: Matrices) -> Motion:
        """The points that count."""
        counts = self.weights > 0.0
        return Motion(self.place(matrices)[:, counts], self.weights[counts])

    def moved_by(self, sampled: Sequence[Sequence[Sampled]]) -> PosedArmature:
        """The armature reduced to the nodes that actions move."""
        carried = np.tile(find_carried(self.rest, find_moving(sampled)), 2) * self.weights
        return replace(self, weights=carried / carried.sum()) if carried.any() else self

    def in_millimeters(self, length: float) -> float:
        """A length on a figure of `MAN` meters."""
        return 1e3 * MAN * length / self.height


def read_body(armature: bpy.types.Object) -> PosedArmature:
    """An armature object; raises SkinningError if it has no bones, or cannot be animated."""
    check_plays(armature)
    rest = read_bone_rest(armature)
    lengths = np.linalg.norm(rest.tails - rest.heads, axis=1) * (rest.deforms if rest.deforms.any() else 1.0)
    if not np.isfinite(lengths).all() or not lengths.any():
        raise SkinningError(f"The bones of '{armature.name}' have zero length: repair them in Edit Mode")
    extents = np.ptp(np.concatenate([rest.heads, rest.tails]), axis=0)
    height = max(float(extents[2]), UPRIGHT * float(extents.max()))
    weights = np.tile(lengths / (2.0 * lengths.sum()), 2)
    return PosedArmature(armature, rest, weights, height, find_feet(rest.heads, rest.parents))


def find_action(armature: bpy.types.Object, name: str) -> bpy.types.Action:
    """The action of a name, or the one that an armature plays if there is none; raises SkinningError.

    It must move a bone of the armature, or the armature itself, and have two frames or more.
    """
    data = armature.animation_data
    action = bpy.data.actions.get(name) if name else data.action if data is not None else None
    if action is None and name:
        known = ", ".join(f"'{other.name}'" for other in list_actions(armature)[:5])
        raise SkinningError(f"There is no action '{name}': the actions of '{armature.name}' are {known or 'none'}")
    if action is None:
        raise SkinningError(f"'{armature.name}' plays no action: choose one, or animate it")
    if len(list_inner_frames(action)) < 2:
        raise SkinningError(f"Action '{action.name}' has fewer than two frames: choose a longer action")
    return action


def list_inner_frames(action: bpy.types.Action) -> range:
    """The whole frames of an action, none beyond its ends."""
    start, end = action.frame_range
    return range(math.ceil(start - 1e-3), math.floor(end + 1e-3) + 1)


def sample_action(body: PosedArmature, action: bpy.types.Action, goes_on: bool = False) -> tuple[range, list[Sampled]]:
    """The frames of an action (of two cycles if it repeats and must go on), and its animation in them.

    Raises SkinningError if it moves nothing of the armature.
    """
    with playing(body.armature, action):
        frames = list_inner_frames(action)
        period = len(frames) - 1
        if goes_on and is_cyclic(body.armature):
            frames = range(frames.start, frames.start + 2 * period + 1)
        check_length(action, frames)
        sampled = sample_curves(body.armature, frames, period)
    if not any(one.channel in WIDTHS for one in sampled):
        raise SkinningError(
            f"Action '{action.name}' does not move any bone of '{body.armature.name}': choose an action of this "
            "armature"
        )
    return frames, sampled


def take_part(steps: Generator[float, None, Any], start: float, part: float) -> Generator[float, None, Any]:
    """Steps whose shares are part of a whole that has `start` behind it; they return what the steps return."""
    while True:
        try:
            share = next(steps)
        except StopIteration as end:
            return end.value
        yield start + part * share


def evaluate(body: PosedArmature, layout: Layout, clip: Clip, first_frame: int) -> Generator[float, None, Matrices]:
    """The matrices of all bones when channels are as in a clip; yields the share of the frames that are read."""
    with ExitStack() as afterward:
        action = new_action("Supple Motion", layout.list_curves(clip, first_frame))
        afterward.callback(_remove_action, action.session_uid)
        parts = []
        for start in range(0, len(clip), AT_A_TIME):
            frames = range(first_frame + start, first_frame + min(start + AT_A_TIME, len(clip)))
            parts += _read_frames(body.armature, action, frames)
            yield min(1.0, (start + AT_A_TIME) / len(clip))
    return join_frames(parts)


def _remove_action(uid: int) -> None:
    for action in [each for each in bpy.data.actions if each.session_uid == uid]:
        bpy.data.actions.remove(action)


def _read_frames(armature: bpy.types.Object, action: bpy.types.Action, frames: Sequence[int]) -> list[Matrices]:
    with playing(armature, action) as scene:
        return [read_matrices(armature.evaluated_get(depsgraph)) for depsgraph in set_frames(scene, frames)]


@dataclass(frozen=True, eq=False)
class Performance:
    """An action of an armature: its frames, channels, and where its bones are."""

    name: str
    frames: range
    clip: Clip
    matrices: Matrices
    motion: Motion


def read_performances(
    body: PosedArmature, actions: Sequence[bpy.types.Action], goes_on: bool = False
) -> Generator[float, None, tuple[PosedArmature, Layout, tuple[str, ...], list[Performance]]]:
    """Read actions, each once.

    Returns the moving body, the layout of channels, the nodes that carry the motion, and the actions; repeating ones go
    on for another cycle if asked to.

    Yields
    ------
    float
        The share that is done.
    """
    different = list(dict.fromkeys(actions))
    found = [sample_action(body, action, goes_on) for action in different]
    sampled = [curves for _, curves in found]
    body = body.moved_by(sampled)
    hinged = [name for name, is_hinged in zip(body.rest.names, body.rest.is_hinged, strict=True) if is_hinged]
    turned = hinged + [body.rest.names[bone] for foot in body.feet for bone in (foot.hip, foot.knee, foot.ankle)]
    layout, carriers = plan_layout(body.armature, body.rest, sampled, turned)
    read: dict[str, Performance] = {}
    for number, (action, (frames, curves)) in enumerate(zip(different, found, strict=True)):
        clip = layout.read(curves, len(frames))
        steps = evaluate(body, layout, clip, frames.start)
        matrices = yield from take_part(steps, number / len(different), 1.0 / len(different))
        read[action.name] = Performance(action.name, frames, clip, matrices, body.to_motion(matrices))
    return body, layout, carriers, [read[action.name] for action in actions]
