"""Front, limbs and joints of a body: from the bones that a rig preset found, or from its shape alone.

All is in armature space, at rest, and holds for bodies that are rotated, scaled or mirrored, whatever the roll of
their bones. Left is the body's own: bones of a mirrored body that are named "left" are on its right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import SkinningError
from ..geometry.vectors import normalize
from .presets import LEFT, MIDDLE, RIGHT, Part, Rig

# Heights of joints, in statures, as usual in rigs.
HIPS, SHOULDERS, ANKLES = 0.52, 0.79, 0.04

# The part that begins where another ends. Tails do not tell: in rigs of game engines they point anywhere.
AHEAD = {"collar_bone": "upper_arm", "upper_arm": "forearm", "forearm": "hand", "thigh": "shin", "shin": "foot",
         "foot": "toes", "neck": "head"}  # fmt: skip


@dataclass(frozen=True)
class RestBones:
    """All bones of an armature at rest.

    Attributes
    ----------
    names, parents : tuple of str, length N
        A root has "" as parent.
    heads, tails : float64 arrays, shape (N, 3)
    axes : float64 array, shape (N, 3, 3)
        Columns are the bones' own axes X, Y and Z.
    deforming : bool array, shape (N,)
    """

    names: tuple[str, ...]
    heads: np.ndarray
    tails: np.ndarray
    axes: np.ndarray
    parents: tuple[str, ...]
    deforming: np.ndarray

    def index(self, name: str) -> int:
        """Index of a bone by its name."""
        return self.names.index(name)


@dataclass(frozen=True)
class Limb:
    """A part of the body between two joints, armature space.

    Attributes
    ----------
    start, end : float64 arrays, shape (3,)
    bend : float64 array, shape (3,)
        Unit vector across the limb, to the side that the next part bends to: an upper arm's biceps.
    """

    start: np.ndarray
    end: np.ndarray
    bend: np.ndarray

    @property
    def along(self) -> np.ndarray:
        """Unit vector from start to end."""
        return normalize(self.end - self.start)


@dataclass(frozen=True)
class Body:
    """A body at rest, armature space.

    Attributes
    ----------
    up, front, left : float64 arrays, shape (3,)
        Orthogonal unit vectors.
    stature : float
        Height of the standing body.
    hips, shoulders : float64 arrays, shape (3,)
        Middle between both hip joints, and between both shoulder joints.
    half_width : float
        Distance of the shoulder joints from the middle.
    limbs : dict of (str, str) to Limb
        By part and the body's own side.
    named : dict of str to str
        The body's own side for a side in bone names: swapped in a mirrored body.
    """

    up: np.ndarray
    front: np.ndarray
    left: np.ndarray
    stature: float
    hips: np.ndarray
    shoulders: np.ndarray
    half_width: float
    limbs: Mapping[Part, Limb] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=lambda: {LEFT: LEFT, RIGHT: RIGHT, MIDDLE: MIDDLE})

    def outward(self, side: str) -> np.ndarray:
        """Unit vector from the middle to a side; zero for the middle."""
        return self.left * {LEFT: 1.0, RIGHT: -1.0, MIDDLE: 0.0}[side]

    def torso_point(self, side: str, lateral: float, height: float) -> np.ndarray:
        """A point inside the torso.

        Parameters
        ----------
        lateral : float
            0 in the middle, 1 at the shoulder joint.
        height : float
            0 at the hip joints, 1 at the shoulder joints.
        """
        spine = self.hips + height * (self.shoulders - self.hips)
        return spine + self.outward(side) * lateral * self.half_width


def body_of_rig(rig: Rig, bones: RestBones) -> Body:
    """The body of an armature whose bones a preset knows.

    Raises SkinningError if hips, shoulders or ankles coincide: up or sideways is then undefined.
    """
    ends = {part: _find_ends(part, rig, bones) for part in rig.bones}
    starts = {part: start for part, (start, _) in ends.items()}
    pairs = [(starts[part, LEFT], starts[part, RIGHT]) for part in ("thigh", "upper_arm")]
    hips, shoulders = (0.5 * (first + second) for first, second in pairs)
    ankles = np.mean([end for (part, _), (_, end) in ends.items() if part == "shin"], axis=0)
    up = normalize(shoulders - ankles)
    aside = sum((normalize(first - second) for first, second in pairs), np.zeros(3))
    aside = normalize(aside - up * (aside @ up))
    if not (up.any() and aside.any()):
        raise SkinningError("Hips, shoulders or ankles of the armature coincide: give it a standing rest pose")
    front = np.cross(aside, up)
    toward = _toes_direction(ends)
    is_mirrored = bool(toward @ front < 0.0)
    if is_mirrored:
        front = -front
    left = np.cross(up, front)
    named = {LEFT: RIGHT, RIGHT: LEFT, MIDDLE: MIDDLE} if is_mirrored else {s: s for s in (LEFT, RIGHT, MIDDLE)}
    stature = float((shoulders - ankles) @ up) / (SHOULDERS - ANKLES)
    half_width = 0.5 * abs(float((pairs[1][0] - pairs[1][1]) @ left))
    own = {(part, named[side]): limb for (part, side), limb in ends.items()}
    limbs = {part: Limb(*own[part], _find_bend(part, own, rig, up, front)) for part in own}
    return Body(up, front, left, stature, hips, shoulders, half_width, limbs, named)


def _find_ends(part: Part, rig: Rig, bones: RestBones) -> tuple[np.ndarray, np.ndarray]:
    """Start and end of a part: the end is the start of the next part, or the tail of its last bone."""
    name, side = part
    chain = [bones.index(bone) for bone in rig.bones[part]]
    start = bones.heads[chain[0]]
    ahead = rig.bones.get((AHEAD.get(name, ""), side))
    if name == "spine":
        ahead = rig.bones.get(("neck", MIDDLE), rig.bones.get(("head", MIDDLE)))
    if name == "hips":
        ahead = rig.bones["spine", MIDDLE]
    end = bones.heads[bones.index(ahead[0])] if ahead else bones.tails[chain[-1]]
    if np.array_equal(start, end):
        end = bones.tails[chain[-1]]
    return start.astype(np.float64), end.astype(np.float64)


def _toes_direction(ends: Mapping[Part, tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Sum of the directions of the feet; zero if the rig has no feet."""
    feet = [normalize(end - start) for (part, _), (start, end) in ends.items() if part == "foot"]
    return sum(feet, np.zeros(3))


def _find_bend(
    part: Part, ends: Mapping[Part, tuple[np.ndarray, np.ndarray]], rig: Rig, up: np.ndarray, front: np.ndarray
) -> np.ndarray:
    """The side that the next part bends to: elbows forward, knees back, or as they are bent at rest."""
    name, side = part
    along = normalize(ends[part][1] - ends[part][0])
    usual = -front if name in ("thigh", "shin") else -up if name == "foot" else front
    usual = normalize(usual - along * (usual @ along))
    follower = {"upper_arm": "forearm", "thigh": "shin"}.get(name, "")
    if follower not in rig.preset.hinges or (follower, side) not in ends:
        return usual
    after = normalize(np.subtract(*ends[follower, side][::-1]))
    aside = after - along * (after @ along)
    least_bend = 5.0  # In degrees: a hinge that is bent less at rest does not tell to which side it bends.
    is_bent = np.linalg.norm(aside) > np.sin(np.radians(least_bend)) and aside @ usual > 0.0
    return normalize(aside) if is_bent else usual


def body_of_shape(points: np.ndarray, up: np.ndarray, pairs: Sequence[tuple[np.ndarray, np.ndarray]] = ()) -> Body:
    """The body of a skin whose bones are unknown: from its stance, symmetry and feet.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Armature space.
    up : float array, shape (3,)
        The world's up.
    pairs : sequence of pairs of float arrays, shape (3,)
        Bones of the left and of the right side, if names tell.

    Notes
    -----
    Heights of hips and shoulders are a person's. The front is where feet reach farther from the ankles.
    """
    points, up = np.asarray(points, np.float64), normalize(np.asarray(up, np.float64))
    aside = sum((first - second for first, second in pairs), np.zeros(3))
    aside -= up * (aside @ up)
    if np.linalg.norm(aside) < 1e-6 * max(float(np.ptp(points, axis=0).max()), 1e-30):
        aside = _find_symmetry(points, up)
    aside = normalize(aside)
    front = np.cross(aside, up)
    heights, depths = points @ up, points @ front
    low, stature = float(heights.min()), max(float(np.ptp(heights)), 1e-30)
    feet, ankles = (depths[(heights >= low + a * stature) & (heights <= low + b * stature)] for a, b in
                    ((0.0, 0.025), (0.04, 0.09)))  # fmt: skip
    if len(feet) and len(ankles) and 0.5 * (feet.max() + feet.min()) < 0.5 * (ankles.max() + ankles.min()):
        front = -front
    left = np.cross(up, front)
    sideways = points @ left
    middle = 0.5 * (sideways.max() + sideways.min())
    half_width = 0.105  # Distance of the shoulder joint from the middle of the body, in statures.
    trunk = np.abs(sideways - middle) < half_width * stature
    hips, shoulders = (_trunk_point(points[trunk], (up, front, left), low + share * stature, stature, middle)
                       for share in (HIPS, SHOULDERS))  # fmt: skip
    return Body(up, front, left, stature, hips, shoulders, half_width * stature)


def _find_symmetry(points: np.ndarray, up: np.ndarray) -> np.ndarray:
    """The horizontal coordinate axis along which the skin is most symmetric."""
    best, least = np.zeros(3), np.inf
    for axis in np.eye(3):
        level = axis - up * (axis @ up)
        if np.linalg.norm(level) < 0.5:
            continue
        ordered = np.sort(points @ normalize(level))
        ordered -= 0.5 * (ordered[0] + ordered[-1])
        lopsided = float(np.abs(ordered + ordered[::-1]).mean()) / max(float(ordered[-1]), 1e-30)
        if lopsided < least:
            best, least = level, lopsided
    return best


def _trunk_point(
    trunk: np.ndarray, frame: tuple[np.ndarray, np.ndarray, np.ndarray], height: float, stature: float, middle: float
) -> np.ndarray:
    """The middle of the trunk at a height."""
    up, front, left = frame
    near = trunk[np.abs(trunk @ up - height) < 0.05 * stature]
    depths = (near if len(near) else trunk) @ front
    depth = 0.5 * float(depths.max() + depths.min()) if len(depths) else 0.0
    return up * height + front * depth + left * middle


def find_axis(axes: np.ndarray, rotation: np.ndarray) -> tuple[str, float]:
    """The axis of a bone that is nearest to an axis of rotation.

    Parameters
    ----------
    axes : float array, shape (3, 3)
        Columns are the bone's axes.
    rotation : float array, shape (3,)
        Axis of rotation, a unit vector.

    Returns
    -------
    axis : str
        "X", "Y" or "Z".
    share : float
        Part of an angle about `rotation` that is measured about this axis; negative if they oppose.
    """
    shares = normalize(np.asarray(axes, np.float64).T) @ rotation
    best = int(np.abs(shares).argmax())
    return "XYZ"[best], float(shares[best])
