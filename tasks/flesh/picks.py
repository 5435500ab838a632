"""Shapes of the skin that the user has picked at joints: words on the bones, for each way in which a joint bends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import bpy

from ...bridge.owned import Tag, list_marked, mark, read_mark, unmark
from ...deformers import SkinningError
from ...deformers.flesh.limbs import Limb
from ...options import BEST, SHAPES

# The words of a joint: one for all ways in which it bends, or one for each
Words = tuple[str, ...]


def parse_picked(picked: Mapping[str, str | Sequence[str]]) -> dict[str, Words]:
    """Words by bones, in capitals; raises SkinningError for a shape that there is not."""
    found = {
        bone: tuple(word.upper() for word in ([words] if isinstance(words, str) else words))
        for bone, words in picked.items()
    }
    for bone, words in found.items():
        for word in words or ("",):
            if word not in SHAPES and word != BEST:
                raise SkinningError(f"There is no shape '{word}' to pick for '{bone}': use {', '.join(SHAPES)}, {BEST}")
    return found


def read_picks(armature: bpy.types.Object) -> dict[str, Words]:
    """What was picked before, by bones."""
    found = {}
    for bone in list_marked(armature.pose.bones, Tag.SHAPES):
        words = tuple(str(read_mark(bone, Tag.SHAPES)).split(","))
        if all(word in SHAPES or word == BEST for word in words):
            found[bone.name] = words
    return found


def write_picks(armature: bpy.types.Object, picks: Mapping[str, Words]) -> None:
    """Keep what was picked; where the best shape is picked in all ways, nothing."""
    for bone, words in picks.items():
        posed = armature.pose.bones.get(bone)
        if posed is not None and set(words) != {BEST}:
            mark(posed, Tag.SHAPES, ",".join(words))
        elif posed is not None:
            unmark(posed, Tag.SHAPES)


def forget_picks(armature: bpy.types.Object) -> None:
    """Forget what was picked."""
    for bone in list_marked(armature.pose.bones, Tag.SHAPES):
        unmark(bone, Tag.SHAPES)


def find_pair(limbs: Sequence[Limb], bone: str) -> tuple[Limb, int]:
    """The limb of a bone, and which of its joints the bone bends, on either side.

    Raises SkinningError if the joint has no flesh.
    """
    for limb in limbs:
        for bends in (limb.bends, limb.others):
            for number, bend in enumerate(bends):
                if bend.bone == bone:
                    return limb, number
    known = ", ".join(bend.bone for limb in limbs for bend in chain(limb.bends, limb.others))
    raise SkinningError(f"'{bone}' bends no joint that has flesh: choose one of {known}")


def find_shapes(limb: Limb, picks: Mapping[str, Words]) -> dict[tuple[int, int], int]:
    """The picked shapes of a limb, by joint and way; what is picked on its first side goes before the other's."""
    found, shapes = dict[tuple[int, int], int](), list(SHAPES)
    for bends in (limb.others, limb.bends):
        for number, bend in enumerate(bends):
            words = picks.get(bend.bone, (BEST,))
            for way in range(len(limb.bends[number].ways)):
                word = words[way] if way < len(words) else words[0] if len(words) == 1 else BEST
                if word != BEST:
                    found[number, way] = shapes.index(word)
    return found
