"""About which axes the bones of a body resist rotation: hinges, and bones that only twist."""

from __future__ import annotations

import numpy as np

from ..geometry.vectors import normalize
from .body import RestBones, body_of_rig
from .presets import SIDE, Rig

HINGE_STIFFNESS = 0.9
"""Of elbows and knees, about what is not their hinge: a forearm may still twist a little."""

TWIST_STIFFNESS = 0.99
"""Of bones that only twist along a limb, about all but their length."""

ABOVE = {"forearm": "upper_arm", "shin": "thigh"}
"""Which part a hinge bends against."""


def find_stiffness(rig: Rig, bones: RestBones) -> dict[str, np.ndarray]:
    """How much bones resist rotation about their own X, Y and Z, 0 to 1, as Blender's IK stiffness.

    Parameters
    ----------
    rig : Rig
        Of these bones.

    Returns
    -------
    dict of str to float64 array, shape (3,)
        By the names of bones; others resist nothing.
    """
    twists = tuple(name.replace(SIDE, side).lower() for name in rig.preset.twists for side in rig.preset.sides)
    found = {
        name: TWIST_STIFFNESS * np.array([1.0, 0.0, 1.0])
        for names in rig.bones.values()
        for name in names
        if name.lower().endswith(twists)
    }
    body = body_of_rig(rig, bones)
    for (part, side), names in rig.bones.items():
        limb = body.limbs.get((ABOVE.get(part, ""), body.named[side]))
        bending = [name for name in names if name not in found]
        if part in rig.preset.hinges and limb is not None and bending:
            hinge = np.cross(normalize(limb.end - limb.start), limb.bend)
            axes = bones.axes[bones.index(bending[0])]
            own = int(np.abs(axes.T @ hinge).argmax())
            found[bending[0]] = HINGE_STIFFNESS * (np.arange(3) != own)
    return found
