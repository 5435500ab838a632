"""The joints of a human in one solid."""

from __future__ import annotations

import numpy as np

from .arms import FALLEN, HANGING, THICK, find_arms
from .solid import BodyCells
from .trunk import find_trunk


def find_human(body: BodyCells) -> tuple[dict[str, np.ndarray], set[str]]:
    """Find the joints of the left side and of the middle, in the space of the body, and which of them are doubtful.

    Raises
    ------
    SkinningError
        Where arms, legs or a head are missing.
    """
    arms = find_arms(body)
    trunk = find_trunk(body, arms)
    joints = {"shoulder": arms.shoulder, "elbow": arms.elbow, "wrist": arms.wrist, "hand_tip": arms.tip}
    doubtful = {"hip", "knee"} if trunk.has_skirt else set()
    if arms.fall > HANGING:
        doubtful.add("shoulder")
    if arms.fall > FALLEN and arms.radius > THICK:
        doubtful |= {"shoulder", "elbow", "wrist"}
    return {**trunk.joints, **joints}, doubtful
