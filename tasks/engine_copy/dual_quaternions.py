"""Characters that need no fit for USD, whose readers know dual quaternions: with all their weights, and rigid bones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...deformers import SkinningError
from ...deformers.engine_copy import Fit
from ...deformers.engine_copy.dual_quaternions import find_scaled, fit_rigid
from .examples import Motion, Subject

ENDING = ".usda"
"""Of files that can say so: the only ones of text."""


def uses_dual_quaternions(subject: Subject, target: str) -> bool:
    """Whether a file is to say that its meshes are blended by dual quaternions: for USD, bound by DLB alone."""
    return target == "usd" and all(
        part.skin.choices.method == "DLB"
        and part.skin.binding.params == part.skin.deformer.Params()
        and part.displacement is None
        and part.rest.linear is None
        and part.rest.strength is None
        for part in subject.parts
    )


def fit_subject(subject: Subject, motion: Motion) -> Fit:
    """The character with all its own weights; what its twists are divided by are helpers."""
    rests = [
        replace(part.rest, joints=replace(part.rest.joints, fractions=part.skin.binding.joints.fractions))
        for part in subject.parts
    ]
    return fit_rigid(rests, motion.matrices, motion.hints)


def check_ending(path: Path) -> None:
    """Raise SkinningError where a file can not say that its meshes are blended by dual quaternions."""
    if path.suffix.lower() != ENDING:
        raise SkinningError(
            f"'{path.name}' can not say that it is blended by dual quaternions: choose a name that ends in {ENDING}"
        )


def check_rigid(subject: Subject, motion: Motion) -> None:
    """Raise SkinningError where bones are scaled, which USD's dual quaternions do not know."""
    found = find_scaled(motion.matrices)
    if found is None:
        return
    frame, joint = found
    action, number = motion.find(frame)
    bone = subject.skeleton.name_joint(joint)
    raise SkinningError(
        f"Bone '{bone}' of '{subject.armature.name}' is scaled (action {action}, frame {number}), and USD blends rigid "
        "bones only by dual quaternions: take the scale off, or bind by DQ with Stretch, which is fitted"
    )
