"""The channels of an armature that motions move, as arrays and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import bpy
import numpy as np

from ...bridge.animation.channels import (
    OBJECT,
    REST,
    WIDTHS,
    BoneRest,
    Sampled,
    find_node,
    make_curves,
    path_of,
    read_now,
    read_quaternions,
    rotation_channel,
    write_quaternions,
)
from ...bridge.animation.curves import Curve
from ...deformers.algebra.rotations import make_continuous
from ...deformers.motion.blending import Clip

MOVED = ("location", "rotation")
# Range of values in which nothing moves
STILL = 1e-6


@dataclass(frozen=True, eq=False)
class Layout:
    """The channels that are read, blended and written.

    Attributes
    ----------
    nodes : tuple of str
        Bones, and `OBJECT` if the object itself moves.
    written : set of (str, str)
        Nodes with "location", "rotation" or "scale", which the new action animates.
    values : tuple of (str, str, int)
        Node, path and index of other numbers that are animated.
    jumps : tuple of bool
        Those that are not blended.
    groups : dict from a node to str
        Groups that the curves are listed in.
    """

    armature: bpy.types.Object
    nodes: tuple[str, ...]
    written: frozenset[tuple[str, str]]
    values: tuple[tuple[str, str, int], ...]
    jumps: tuple[bool, ...]
    groups: dict[str, str]

    def index(self, names: Iterable[str]) -> np.ndarray:
        """Where nodes stand among all, int array."""
        return np.array([self.nodes.index(name) for name in names], np.intp)

    def read(self, sampled: Sequence[Sampled], count: int) -> Clip:
        """The channels of an action for a number of frames; channels it does not animate are at rest, or as they are
        now.

        Channels that another action of the layout animates are at rest, as in Blender's own strips.
        """
        known = {(one.node, one.channel, one.index): one.values for one in sampled}
        locations, rotations, scales = (np.empty((count, len(self.nodes), width)) for width in (3, 4, 3))
        for number, name in enumerate(self.nodes):
            node = find_node(self.armature, name)
            locations[:, number] = self._read_channel(known, name, "location", count)
            scales[:, number] = self._read_channel(known, name, "scale", count)
            values = self._read_channel(known, name, rotation_channel(node), count)
            rotations[:, number] = REST["rotation"] if values is None else read_quaternions(node, values)
        others = np.empty((count, len(self.values)))
        for number, key in enumerate(self.values):
            others[:, number] = known[key] if key in known else _read_number(self.armature, *key)
        return Clip(locations, make_continuous(rotations), scales, others, np.array(self.jumps, bool))

    def _read_channel(self, known: dict, name: str, channel: str, count: int) -> np.ndarray | None:
        """Values of a transform channel, shape (count, n); None for a rotation at rest."""
        node, width = find_node(self.armature, name), WIDTHS[channel]
        given = {index: known[name, channel, index] for index in range(width) if (name, channel, index) in known}
        kind = channel.partition("_")[0]
        if not given and (name, kind) in self.written:
            return None if kind == "rotation" else np.tile(REST[kind], (count, 1))
        values = np.tile(read_now(node, channel), (count, 1))
        for index, column in given.items():
            values[:, index] = column
        return values

    def list_curves(self, clip: Clip, first_frame: int) -> list[Curve]:
        """Curves of the written channels, with a key on each frame."""
        frames, curves = np.arange(first_frame, first_frame + len(clip), dtype=np.float64), []
        for number, name in enumerate(self.nodes):
            node, group = find_node(self.armature, name), self.groups.get(name, name or "Object Transforms")
            turned = rotation_channel(node)
            for kind, values in (
                ("location", clip.locations), ("rotation", clip.rotations), ("scale", clip.scales),
            ):  # fmt: skip
                if (name, kind) in self.written:
                    channel, column = (kind, values[:, number])
                    if kind == "rotation":
                        channel, column = turned, write_quaternions(node, column)
                    curves += make_curves(path_of(name, channel), frames, column, group)
        for number, (name, channel, index) in enumerate(self.values):
            (curve,) = make_curves(
                path_of(name, channel), frames, clip.values[:, [number]], self.groups.get(name, name)
            )
            curves.append(Curve(curve.path, index, curve.frames, curve.values, curve.group))
        return curves


def _read_number(armature: bpy.types.Object, name: str, channel: str, index: int) -> float:
    """A number as it is now, 0 if it is gone."""
    try:
        value = armature.path_resolve(path_of(name, channel))
    except ValueError:
        return 0.0
    return float(value[index] if hasattr(value, "__len__") and not isinstance(value, str) else value)


def plan_layout(
    armature: bpy.types.Object, rest: BoneRest, sampled: Sequence[Sequence[Sampled]], turned: Iterable[str]
) -> tuple[Layout, tuple[str, ...]]:
    """Plan the channels for joining actions, and find the nodes that carry the whole motion.

    Parameters
    ----------
    sampled : sequence of sequence of Sampled
        Of each action.
    turned : iterable of str
        Bones that must be rotated beside those that actions move.
    """
    curves = [one for part in sampled for one in part]
    transforms, others, groups = set(), {}, {}
    for one in curves:
        groups.setdefault(one.node, one.group)
        if one.channel in WIDTHS:
            kind = one.channel.partition("_")[0]
            if kind != "rotation" or one.channel == rotation_channel(find_node(armature, one.node)):
                transforms.add((one.node, kind))
        else:
            key = one.node, one.channel, one.index
            others[key] = others.get(key, False) or one.is_stepped
    carriers = find_carriers(rest, find_moving(sampled))
    written = (
        transforms | {(name, kind) for name in carriers for kind in MOVED} | {(name, "rotation") for name in turned}
    )
    used = {name for name, _ in written}
    nodes = tuple(name for name in (OBJECT, *rest.names) if name in used)
    groups = {name: group for name, group in groups.items() if group}
    layout = Layout(armature, nodes, frozenset(written), tuple(others), tuple(others.values()), groups)
    return layout, carriers


def find_moving(sampled: Sequence[Sequence[Sampled]]) -> set[str]:
    """The nodes that actions move or rotate, or have in different poses."""
    ranges: dict[tuple[str, str, int], list[np.ndarray]] = {}
    for part in sampled:
        for one in part:
            if one.channel in WIDTHS and one.channel != "scale":
                ranges.setdefault((one.node, one.channel, one.index), []).append(one.values)
    return {node for (node, *_), values in ranges.items() if np.ptp(np.concatenate(values)) > STILL}


def find_carriers(rest: BoneRest, moving: set[str]) -> tuple[str, ...]:
    """The nodes that carry the whole motion: the object if actions move it, otherwise the topmost moving bones.

    A root that no action moves stays where it is, and its children are carriers: a turn then is about the body.
    """
    if OBJECT in moving:
        return (OBJECT,)
    children: dict[int, list[int]] = {}
    for bone, parent in enumerate(rest.parents):
        children.setdefault(parent, []).append(bone)
    found: list[str] = []
    waiting = list(children.get(-1, []))
    while waiting:
        bone = waiting.pop(0)
        below = children.get(bone, [])
        is_fixed = any(rest.is_connected[child] for child in below)
        if rest.names[bone] in moving or is_fixed or not _moves_below(bone, children, rest, moving):
            found.append(rest.names[bone])
        else:
            waiting += below
    return tuple(found)


def find_carried(rest: BoneRest, moving: set[str]) -> np.ndarray:
    """The bones that a motion moves, themselves or by a bone above, bool array, shape (B,)."""
    carried = np.full(len(rest.names), OBJECT in moving)
    for bone in range(len(rest.names)):
        above = bone
        while above >= 0 and not carried[bone]:
            carried[bone] = rest.names[above] in moving
            above = rest.parents[above]
    return carried


def _moves_below(bone: int, children: dict[int, list[int]], rest: BoneRest, moving: set[str]) -> bool:
    return any(
        rest.names[child] in moving or _moves_below(child, children, rest, moving) for child in children.get(bone, [])
    )
