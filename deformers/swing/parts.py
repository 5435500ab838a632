"""Kinds of parts that swing, recognized by the names of bones, and chains of bones."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .chains import Spring


@dataclass(frozen=True)
class SwingPart:
    """A kind of part that swings.

    Attributes
    ----------
    words : tuple of str
        English words match whole words of a bone's name, or their beginnings if they end in "*". Words in other
        scripts match anywhere.
    angle : float
        Radians that it swings by in all but the liveliest frames.
    is_flesh : bool
        Whether it is flesh on a body. A name is then not enough: the bone must not carry other parts.
    spares_body : bool
        Whether it hangs along a body, and does not swing into it.
    """

    label: str
    tooltip: str
    words: tuple[str, ...]
    spring: Spring
    angle: float
    is_flesh: bool = False
    spares_body: bool = False


# In the order of menus. If a name matches several, the last counts. Judged from strips of a few characters.
SWING_PARTS = {
    "TAIL": SwingPart(
        "Tail", "A tail, long or short", ("tail*", "尻尾", "しっぽ"), Spring(1.2, 0.25), math.radians(12.0)
    ),
    "EAR": SwingPart("Ear", "Ears", ("ear", "ears", "耳"), Spring(5.0, 0.25), math.radians(10.0)),
    "HAIR": SwingPart(
        "Hair", "Strands of hair", ("hair*", "ponytail*", "pigtail*", "twintail*", "braid*", "bang", "bangs", "髪"),
        Spring(1.5, 0.35), math.radians(10.0),
    ),
    "CLOAK": SwingPart(
        "Cloak", "A cloak, a skirt, or a scarf", ("cloak*", "cape*", "skirt*", "scarf*", "マント", "スカート"),
        Spring(1.5, 0.35), math.radians(10.0), spares_body=True,
    ),
    "ANTENNA": SwingPart(
        "Antenna", "Antennae, and other thin and stiff parts", ("antenna*", "feeler*", "whisker*", "触角"),
        Spring(5.0, 0.25), math.radians(10.0),
    ),
    "BELLY": SwingPart(
        "Belly", "A belly with a bone of its own", ("belly*", "stomach*", "abdomen*", "腹"),
        Spring(3.0, 0.3), math.radians(6.0), is_flesh=True,
    ),
    "BREAST": SwingPart(
        "Breast", "Breasts with bones of their own", ("breast*", "bust*", "boob*", "乳"),
        Spring(3.5, 0.3), math.radians(6.0), is_flesh=True,
    ),
    "CHEEK": SwingPart(
        "Cheek", "Cheeks and jowls with bones of their own", ("cheek*", "jowl*", "頬"),
        Spring(5.0, 0.3), math.radians(4.0), is_flesh=True,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Chain:
    """A chain of bones that swings, or is about to.

    Attributes
    ----------
    part : str
        Key of `SWING_PARTS`.
    bones : tuple of str
        Names, from the root to the tip.
    lags : tuple of str
        Names of the lag bones, one for each bone; empty until they are made.
    is_held : bool
        Whether constraints or drivers move the bones, so that lag bones deform in their place.
    amount : float
        How far it swings, relative to physics; 0 until it is found.
    gravity : float
        How far gravity bends it, relative to physics.
    angle : float
        In lively frames, radians: the wanted angle of a new chain; in a report, the angle that it swings by.
    own : float
        In a report, the angle by which the actions themselves move it in lively frames, radians.
    is_everywhere : bool
        Whether it swings in actions that get a swing for the first time.
    fades : bool
        Whether it swings less in actions that move it themselves.
    """

    part: str
    bones: tuple[str, ...]
    spring: Spring
    lags: tuple[str, ...] = ()
    is_held: bool = False
    amount: float = 0.0
    gravity: float = 0.0
    angle: float = 0.0
    own: float = 0.0
    is_everywhere: bool = True
    fades: bool = False


def find_part(name: str) -> str:
    """Find the key of the part that a bone's name means, or ""."""
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]
    found = [key for key, part in SWING_PARTS.items() if any(_fits(word, name, words) for word in part.words)]
    return found[-1] if found else ""


def _fits(word: str, name: str, words: Sequence[str]) -> bool:
    if not word.isascii():
        return word in name
    return any(each.startswith(word[:-1]) if word.endswith("*") else each == word for each in words)


def find_chains(parents: Sequence[int], chosen: Collection[int]) -> list[list[int]]:
    """Divide chosen bones into chains. Each goes on with the child that has the most bones below it.

    `parents` has the index of each bone's parent, or -1.
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
    """Clear the part of bones that are only named like flesh: they carry other bones, as a spine does.

    `parents` are indices or -1. `parts` are the keys of the parts that the bones' names mean, or "".
    """
    found = list(parts)
    for bone in range(len(parents)):
        above = parents[bone]
        while above >= 0:
            if parts[above] and SWING_PARTS[parts[above]].is_flesh and parts[bone] != parts[above]:
                found[above] = ""
            above = parents[above]
    return found


def choose_spring(key: str, length: float) -> Spring:
    """The spring of a key of `SWING_PARTS`, for a chain of this length in sizes of the character."""
    spring = SWING_PARTS[key].spring
    return Spring(2.5, spring.damping) if key == "TAIL" and length < 0.25 else spring  # short tails are faster
