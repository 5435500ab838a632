"""Stiffness of a body's joints: hinges and their side, bones that only twist, hands and feet."""

from __future__ import annotations

import numpy as np

from ..geometry.vectors import normalize
from .body import RestBones, body_of_rig
from .presets import SIDE, Rig

# The part that a hinge bends against.
ABOVE = {"forearm": "upper_arm", "shin": "thigh"}


def find_twists(rig: Rig) -> set[str]:
    """Names of the bones that only twist along a limb."""
    twists = tuple(name.replace(SIDE, side).lower() for name in rig.preset.twists for side in rig.preset.sides)
    return {name for names in rig.bones.values() for name in names if name.lower().endswith(twists)}


def find_ends(rig: Rig) -> set[str]:
    """Names of the first bones of hands and feet."""
    ends = ("hand", "foot")
    return {names[0] for (part, _), names in rig.bones.items() if part in ends}


def find_hinges(rig: Rig, bones: RestBones) -> dict[str, tuple[np.ndarray, float]]:
    """Axes of elbows and knees, and the angles at which they are straight.

    Raises SkinningError if the body has no size.

    Returns
    -------
    dict of str to tuple of float64 array, shape (3, 3), and float
        By the names of the bones below the joint: columns in the bone's own axes are the hinge (X), which bends the
        limb to its side, the limb (Y), the normal of both (Z); and the angle about X, from rest, at which the limb is
        straight, radians.
    """
    twists, body, found = find_twists(rig), body_of_rig(rig, bones), {}
    # A hinge bends about an axis of its bone, as rolled by the rigger, if it is within this angle. Its cosine.
    own_axis = np.cos(np.radians(25.0))
    for (part, side), names in rig.bones.items():
        own, limb = (body.limbs.get((name, body.named[side])) for name in (part, ABOVE.get(part, "")))
        bending = [name for name in names if name not in twists]
        if part not in rig.preset.hinges or own is None or limb is None or not bending:
            continue
        axes, hinge = bones.axes[bones.index(bending[0])], np.cross(limb.along, limb.bend)
        shares = axes.T @ hinge
        best = int(np.abs(shares).argmax())
        if abs(shares[best]) > own_axis:
            hinge = axes[:, best] * np.sign(shares[best])
        hinge = normalize(hinge - own.along * (hinge @ own.along))
        frame = np.stack([hinge, own.along, np.cross(hinge, own.along)], axis=1)
        straight = np.arctan2(hinge @ np.cross(own.along, limb.along), own.along @ limb.along)
        found[bending[0]] = axes.T @ frame, float(straight)
    return found
