"""Parts that swing: how each kind does, the chains of bones of a rig, and which part a chain is by its names."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .chains import Spring

LONG = 0.25
"""Length of a tail, in sizes of the character, from which on it swings as slowly as long ones do."""

SHORT_TAIL = 2.5
"""Frequency of shorter ones."""


@dataclass(frozen=True)
class Part:
    """A kind of part.

    Attributes
    ----------
    words : tuple of str
        Its names in English are whole words of a bone's name, or begin one where they end in "*"; others stand
        anywhere in it.
    angle : float
        That it swings by in all but the liveliest frames, radians.
    is_flesh : bool
        Whether it is flesh on a body: by its names, only bones that carry nothing else are taken for it.
    spares_body : bool
        Whether it hangs along a body, into which it does not swing.
    """

    label: str
    tooltip: str
    words: tuple[str, ...]
    spring: Spring
    angle: float
    is_flesh: bool = False
    spares_body: bool = False


PARTS = {
    "TAIL": Part(
        "Tail", "A tail, long or short", ("tail*", "尻尾", "しっぽ"), Spring(1.2, 0.25), math.radians(12.0)
    ),
    "EAR": Part("Ear", "Ears", ("ear", "ears", "耳"), Spring(5.0, 0.25), math.radians(10.0)),
    "HAIR": Part(
        "Hair", "Strands of hair", ("hair*", "ponytail*", "pigtail*", "twintail*", "braid*", "bang", "bangs", "髪"),
        Spring(1.5, 0.35), math.radians(10.0),
    ),
    "CLOAK": Part(
        "Cloak", "A cloak, a skirt, or a scarf", ("cloak*", "cape*", "skirt*", "scarf*", "マント", "スカート"),
        Spring(1.5, 0.35), math.radians(10.0), spares_body=True,
    ),
    "ANTENNA": Part(
        "Antenna", "Antennae, and other thin and stiff parts", ("antenna*", "feeler*", "whisker*", "触角"),
        Spring(5.0, 0.25), math.radians(10.0),
    ),
    "BELLY": Part(
        "Belly", "A belly with a bone of its own", ("belly*", "stomach*", "abdomen*", "腹"),
        Spring(3.0, 0.3), math.radians(6.0), is_flesh=True,
    ),
    "BREAST": Part(
        "Breast", "Breasts with bones of their own", ("breast*", "bust*", "boob*", "乳"),
        Spring(3.5, 0.3), math.radians(6.0), is_flesh=True,
    ),
    "CHEEK": Part(
        "Cheek", "Cheeks and jowls with bones of their own", ("cheek*", "jowl*", "頬"),
        Spring(5.0, 0.3), math.radians(4.0), is_flesh=True,
    ),
}  # fmt: skip
"""By key, in the order of menus; a name that several fit is the last one's. Judged from strips of a few characters."""


def find_part(name: str) -> str:
    """The key of the part that a bone is by its name, "" for none."""
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]
    found = [key for key, part in PARTS.items() if any(_fits(word, name, words) for word in part.words)]
    return found[-1] if found else ""


def _fits(word: str, name: str, words: Sequence[str]) -> bool:
    if not word.isascii():
        return word in name
    return any(each.startswith(word[:-1]) if word.endswith("*") else each == word for each in words)


def find_chains(parents: Sequence[int], chosen: Collection[int]) -> list[list[int]]:
    """Chains of bones, from the root on: each goes on with the child that has most bones below it.

    Parameters
    ----------
    parents : sequence of int
        Index of each bone's parent, -1 for none.
    chosen : collection of int
        The bones that are in a chain.
    """
    children: dict[int, list[int]] = {}
    for bone in sorted(chosen):
        children.setdefault(parents[bone] if parents[bone] in chosen else -1, []).append(bone)

    def depth(bone: int) -> int:
        return 1 + max(map(depth, children.get(bone, ())), default=0)

    chains, starts = [], children.get(-1, [])
    while starts:
        chain, others = [starts[0]], starts[1:]
        while below := children.get(chain[-1]):
            onward = max(below, key=depth)
            others += [bone for bone in below if bone != onward]
            chain.append(onward)
        chains.append(chain)
        starts = others
    return sorted(chains)


def leave_out_bodies(parents: Sequence[int], parts: Sequence[str]) -> list[str]:
    """The part of each bone, "" for what only has the name of flesh: it carries bones that are none, as a spine does.

    Parameters
    ----------
    parents : sequence of int
        Index of each bone's parent, -1 for none.
    parts : sequence of str
        What each bone is by its name, "" for none.
    """
    found = list(parts)
    for bone in range(len(parents)):
        above = parents[bone]
        while above >= 0:
            if parts[above] and PARTS[parts[above]].is_flesh and parts[bone] != parts[above]:
                found[above] = ""
            above = parents[above]
    return found


def choose_spring(key: str, length: float) -> Spring:
    """How a part swings.

    Parameters
    ----------
    key : str
        Of `PARTS`.
    length : float
        Of the chain, in sizes of the character.
    """
    spring = PARTS[key].spring
    return Spring(SHORT_TAIL, spring.damping) if key == "TAIL" and length < LONG else spring
