"""Limits and stiffness for joints that bend to one side, such as elbows, if a rig does not have its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from .bones import PosedBones
from .limits import Hinge, RotationLimits


def add_hinges(bones: PosedBones, found: Mapping[int, tuple[np.ndarray, float]]) -> PosedBones:
    """Let joints bend to one side only.

    `found`: by bone: its bending axis (X), its length (Y) and their normal (Z) as columns, (3, 3), in the bone's own
    axes; and the angle about X from its rest at which it is straight, radians.

    Notes
    -----
    Settings of the user win. A bone with any limit, lock or stiffness of its own keeps its own axes. It bends about the
    nearest of them if that does not have a limit yet.
    """
    max_beyond, max_bend, max_aside = np.radians([5.0, 160.0, 10.0])  # beyond straight, to its side, off its plane
    stiffness = 0.9  # about other axes: a forearm may still twist a little
    order = (1, 2, 0)  # twist first, bending last, so that its angle is that between the two bones
    count = len(bones.parents)
    axes = np.tile(np.eye(3), (count, 1, 1)) if bones.axes is None else bones.axes.copy()
    orders, lowest, highest = (part.copy() for part in (bones.limits.orders, bones.limits.lowest, bones.limits.highest))
    is_stiff = np.zeros(count, bool) if bones.stiffness is None else (bones.stiffness > 0.0).any(axis=1)
    has_own = bones.limits.limited | is_stiff
    hinges = []
    for bone, (own, straight) in found.items():
        axis = int(np.abs(own[:, 0]).argmax()) if has_own[bone] else 0
        sign = float(np.sign(own[axis, 0])) if has_own[bone] else 1.0
        bones = bones.stiffened([bone], stiffness * (np.arange(3) != axis))
        if np.isfinite([lowest[bone, axis], highest[bone, axis]]).any():
            continue
        if not has_own[bone]:
            axes[bone], orders[bone] = own, order
            lowest[bone, 2], highest[bone, 2] = -max_aside, max_aside
        hinge = Hinge(bone, axis, sign, straight)
        lowest[bone, axis], highest[bone, axis] = sorted(map(hinge.angle, (-max_beyond, max_bend)))
        hinges.append(hinge)
    limits = RotationLimits(orders, lowest, highest)
    return replace(bones, limits=limits, axes=axes, hinges=(*bones.hinges, *hinges))
