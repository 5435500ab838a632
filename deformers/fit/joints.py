"""Names of the joints that are fitted, and the fit itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from .frame import Frame

LEFT, RIGHT = ".L", ".R"

HUMAN, QUADRUPED = "HUMAN", "QUADRUPED"

FINGERS = ("thumb", "index", "middle", "ring", "pinky")

# A fit has all of them or, unless five fingers are modeled, none.
FINGER_JOINTS = tuple(f"{finger}{end}" for finger in FINGERS for end in ("1", "2", "3", "_tip"))

# Joints in the middle, and on each side, from the hips outward. Tips end bones and do not bend.
CENTRAL = {
    HUMAN: ("hips", "chest", "neck", "head", "head_tip"),
    QUADRUPED: ("hips", "chest", "neck", "head", "nose", "tail", "tail_tip"),
}
SIDED = {
    HUMAN: ("shoulder", "elbow", "wrist", "hand_tip", "hip", "knee", "ankle", "toe", "toe_tip", *FINGER_JOINTS),
    QUADRUPED: ("shoulder", "elbow", "carpus", "fetlock", "front_toe", "hip", "knee", "hock", "lower", "toe"),
}

# Lines are drawn between these joints.
CHAINS = {
    HUMAN: (
        ("hips", "chest", "neck", "head", "head_tip"),
        ("neck", "shoulder", "elbow", "wrist", "hand_tip"),
        ("hips", "hip", "knee", "ankle", "toe", "toe_tip"),
    ),
    QUADRUPED: (
        ("tail_tip", "tail", "hips", "chest", "neck", "head", "nose"),
        ("neck", "shoulder", "elbow", "carpus", "fetlock", "front_toe"),
        ("hips", "hip", "knee", "hock", "lower", "toe"),
    ),
}


@dataclass(frozen=True)
class Fit:
    """Joints in a bare mesh.

    Attributes
    ----------
    kind : str
        HUMAN or QUADRUPED.
    frame : Frame
        The space of the body.
    joints : dict of str to float64 array, shape (3,)
        Joints of both sides, such as "knee.L" and "knee.R", in the space of the body.
    doubtful : frozenset of str
        Joints that may be far off.
    """

    kind: str
    frame: Frame
    joints: dict[str, np.ndarray]
    doubtful: frozenset[str]

    def locate(self, name: str) -> np.ndarray:
        """Position of a joint in the space of the mesh, (3,)."""
        return self.frame.to_mesh(self.joints[name])

    def list_markers(self) -> list[str]:
        """Joints that can be dragged. Fingers follow the wrist instead."""
        return [name for name in self.joints if remove_side(name) not in FINGER_JOINTS]

    def list_lines(self) -> list[tuple[str, str]]:
        """Pairs of joints with a line between them."""
        pairs = []
        for chain in CHAINS[self.kind]:
            for side in (LEFT, RIGHT):
                names = [name if name in self.joints else name + side for name in chain]
                pairs += [pair for pair in pairwise(names) if self.joints.keys() >= {*pair}]
        return list(dict.fromkeys(pairs))

    def moved(self, name: str, point: np.ndarray) -> Fit:
        """Move a joint to another point of the mesh, shape (3,), and its mirror image to the mirrored point."""
        position = self.frame.to_body(np.asarray(point, float))
        joints = dict(self.joints)
        other = mirror_name(name)
        if remove_side(name) == "wrist":
            side = name.removeprefix("wrist")
            offset = position - joints[name]
            for finger in FINGER_JOINTS:
                if finger + side in joints:
                    joints[finger + side] = joints[finger + side] + offset
                    joints[mirror_name(finger + side)] = joints[finger + side] * [-1.0, 1.0, 1.0]
        joints[name] = position if other != name else position * [0.0, 1.0, 1.0]
        joints[other] = joints[name] * [-1.0, 1.0, 1.0]
        return replace(self, joints=joints, doubtful=self.doubtful - {name, other})


def mirror_name(name: str) -> str:
    """The joint on the other side. A joint in the middle is its own mirror image."""
    return remove_side(name) + {LEFT: RIGHT, RIGHT: LEFT}.get(name[-2:], "")


def remove_side(name: str) -> str:
    """Name of a joint without its side."""
    return name.removesuffix(LEFT).removesuffix(RIGHT)


def mirror_joints(kind: str, half: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Complete the joints of the left side and the middle to both sides, exactly symmetric."""
    joints = {name: half[name] * [0.0, 1.0, 1.0] for name in CENTRAL[kind] if name in half}
    for name in SIDED[kind]:
        if name in half:
            joints[name + LEFT] = half[name]
            joints[name + RIGHT] = half[name] * [-1.0, 1.0, 1.0]
    return joints
