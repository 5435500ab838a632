"""Joints that bend to one side, as elbows and knees do: limits and stiffness where a rig has none of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from .bones import PosedBones
from .limits import Hinge, RotationLimits

BEYOND, FARTHEST, ASIDE = np.radians([5.0, 160.0, 10.0])
"""How far a hinge may go beyond straight, how far it bends to its side, and how far it leaves its plane."""

STIFFNESS = 0.9
"""Of a hinge about what is not its axis: a forearm may still twist a little."""

ORDER = (1, 2, 0)
"""Euler angles of a hinge: the limb's twist first, bending last, so that its angle is that between the two bones."""


def add_hinges(bones: PosedBones, found: Mapping[int, tuple[np.ndarray, float]]) -> PosedBones:
    """Give joints a side to which they bend.

    Parameters
    ----------
    found : mapping of int to tuple
        By bone: what it bends about (X), what is along it (Y) and their normal (Z) as columns, (3, 3), seen in the
        bone's own axes; and the angle about X at which it is straight, 0 being its rest, radians.

    Notes
    -----
    What a user has chosen wins. A bone with any limit, lock or stiffness of its own keeps its own axes: it bends about
    the one that is nearest, and only if that has no limit yet.
    """
    count = len(bones.parents)
    axes = np.tile(np.eye(3), (count, 1, 1)) if bones.axes is None else bones.axes.copy()
    orders, lowest, highest = (part.copy() for part in (bones.limits.orders, bones.limits.lowest, bones.limits.highest))
    is_stiff = np.zeros(count, bool) if bones.stiffness is None else (bones.stiffness > 0.0).any(axis=1)
    has_own = bones.limits.limited | is_stiff
    hinges = []
    for bone, (own, straight) in found.items():
        axis = int(np.abs(own[:, 0]).argmax()) if has_own[bone] else 0
        sign = float(np.sign(own[axis, 0])) if has_own[bone] else 1.0
        bones = bones.stiffened([bone], STIFFNESS * (np.arange(3) != axis))
        if np.isfinite([lowest[bone, axis], highest[bone, axis]]).any():
            continue
        if not has_own[bone]:
            axes[bone], orders[bone] = own, ORDER
            lowest[bone, 2], highest[bone, 2] = -ASIDE, ASIDE
        hinge = Hinge(bone, axis, sign, straight)
        lowest[bone, axis], highest[bone, axis] = sorted(map(hinge.angle, (-BEYOND, FARTHEST)))
        hinges.append(hinge)
    limits = RotationLimits(orders, lowest, highest)
    return replace(bones, limits=limits, axes=axes, hinges=(*bones.hinges, *hinges))
