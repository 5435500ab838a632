"""*Pick Flesh*: the shapes of the skin at a joint as pictures, and one of them taken in place of the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import bpy
import numpy as np

from ...deformers import SkinningError
from ...deformers.flesh.limbs import Limb
from ...deformers.rig.rest import Joints
from ...options import BEST, SHAPES
from ..corrections.from_method import CorrectedFrom
from ..steps import Progress, Steps, ignore_progress
from ..subject.shown_joint import ShownJoint
from .add import KeptFlesh, ReadCharacter, fit_limbs, keep, read_character, store_flesh
from .character import FleshyCharacter
from .picks import find_pair, find_shapes, read_picks
from .plan import QUALITIES, FittedLimb, Fitting, Quality, draw_shapes

# Pixels of a picture's side, and the share of the time that drawing takes
SIZE, DRAWING = 256, 0.2


def show_joint(objects: Sequence[bpy.types.Object], bone: str, quality: str = "FULL") -> Steps[ShownJoint]:
    """Draw the shapes of a bone's joint; nothing is changed. What was computed before is not computed again."""
    read = yield from read_character(objects)
    limb, number = find_pair(read.limbs, bone)
    quality, before = _find_kept(read, limb, quality)
    picked = find_shapes(limb, read_picks(read.armature))
    draw = partial(_draw, read.character, limb, number, read.skeleton.joints, QUALITIES[quality], picked, before)
    fitted, pictures = (yield draw) if before is None else draw(ignore_progress)
    kept = read.kept.limbs if read.kept is not None and read.kept.quality == quality else {}
    keep(read.armature, KeptFlesh(read.made_of, quality, kept | {limb.key: replace(fitted, sides=[])}))
    return ShownJoint(bone, quality, pictures, _list_chosen(fitted, number, len(pictures)))


def pick_shape(
    objects: Sequence[bpy.types.Object], bone: str, way: int, shape: str, quality: str = "FULL"
) -> Steps[tuple[CorrectedFrom, list[int]]]:
    """Give the skin of a bone's joint another shape in one way: the report, and the shapes in all ways.

    Parameters
    ----------
    way : int
        In the order of the report of flesh; -1 for all.
    shape : str
        A key of `SHAPES`, or "BEST".
    """
    read = yield from read_character(objects)
    limb, number = find_pair(read.limbs, bone)
    quality, _ = _find_kept(read, limb, quality)
    count = len(limb.bends[number].ways)
    if not -1 <= way < count:
        raise SkinningError(f"'{bone}' bends in no way {way}: choose 0 to {count - 1}, or -1 for all")
    before = find_shapes(limb, read_picks(read.armature))
    words = [list(SHAPES)[before[number, one]] if (number, one) in before else BEST for one in range(count)]
    words[slice(None) if way < 0 else slice(way, way + 1)] = [shape] * (count if way < 0 else 1)
    found = yield from fit_limbs(read, [limb], quality, {bone: tuple(words)})
    return store_flesh(found), _list_chosen(found.kept.limbs[limb.key], number, count)


def _draw(
    character: FleshyCharacter, limb: Limb, number: int, joints: Joints, quality: Quality, picked: dict,
    before: FittedLimb | None, progress: Progress,
) -> tuple[FittedLimb, list[np.ndarray]]:  # fmt: skip
    fitting = Fitting(character, limb, joints, quality, picked, before)
    fitted = fitting.run(lambda done: progress((1.0 - DRAWING) * done))
    pictures = draw_shapes(fitting, number, SIZE, lambda done: progress(1.0 - DRAWING + DRAWING * done))
    return fitted, pictures


def _find_kept(read: ReadCharacter, limb: Limb, quality: str) -> tuple[str, FittedLimb | None]:
    """The quality in which a limb was computed before, or else the given one, and what was computed of it."""
    if read.kept is None or limb.key not in read.kept.limbs:
        return quality, None
    return read.kept.quality, read.kept.limbs[limb.key]


def _list_chosen(fitted: FittedLimb, number: int, count: int) -> list[int]:
    return [fitted.choice[number, way] for way in range(count)]
