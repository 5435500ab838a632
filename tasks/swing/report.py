"""What came of adding or updating a swing, in words and as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...deformers.swing.parts import PARTS

ANIMATED = math.radians(10.0)
"""Angle from which on an action is taken to move a chain by itself; one that fades swings half as far there."""


@dataclass(frozen=True)
class SwungChain:
    """A chain that swings.

    Attributes
    ----------
    part : str
        Key of `PARTS`.
    bones : tuple of str
    frequency, damping : float
    amount : float
        1 is physics.
    angle : float
        That it swings by in lively frames, radians.
    own : float
        That the actions themselves move it by in lively frames, radians.
    is_held : bool
        Whether constraints or drivers move it, so that its skin follows lag bones.
    fades : bool
        Whether it swings less in actions that move it themselves.
    """

    part: str
    bones: tuple[str, ...]
    frequency: float
    damping: float
    amount: float
    angle: float
    own: float
    is_held: bool
    fades: bool

    def describe(self) -> list[str]:
        """Sentences without a full stop."""
        first, last = f"'{self.bones[0]}'", f"'{self.bones[-1]}'"
        name = first if first == last else f"{first} to {last}"
        if self.angle == 0.0:
            return [f"{name} does not swing: no action moves the bone that carries it"]
        label = PARTS[self.part].label
        angle, often = math.degrees(self.angle), f"{self.frequency:g}"
        swing = (
            f"{name} ({label}) swings by {angle:.0f} degrees, {often} times a second: {self.amount:.1f} times as far "
            "as with physics"
        )
        lines = [swing]
        if self.own > ANIMATED:
            own = f"{math.degrees(self.own):.0f}"
            added = f"{name} is already animated, by {own} degrees: the swing is added"
            faded = f"{name} is already animated, by {own} degrees: it swings less where it is"
            lines.append(faded if self.fades else added)
        if self.is_held:
            lines.append(f"Constraints or drivers move {name}: its skin follows bones that were added")
        return lines


@dataclass(frozen=True)
class SwingReport:
    """What was computed.

    Attributes
    ----------
    chains : tuple of SwungChain
        The new ones; all, for an update.
    actions : tuple of str
        Names of those in which something swings.
    linked : tuple of str
        Names of those that can not be changed.
    held : tuple of str
        Names of bones that have the name of a part, and that constraints or drivers move.
    copied : tuple of str
        Names of actions that were copied from other files.
    left_out : tuple of (str, str)
        Names of actions that could not be read, and why.
    """

    armature: str
    chains: tuple[SwungChain, ...]
    actions: tuple[str, ...]
    linked: tuple[str, ...]
    held: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()

    def describe(self) -> list[str]:
        """Sentences without a full stop."""
        lines = [line for chain in self.chains for line in chain.describe()]
        lines.append(f"Actions with swing: {len(self.actions)}")
        if self.linked:
            lines.append(f"Without swing, because they are linked from other files: {', '.join(self.linked)}")
        if self.left_out:
            lines.append(
                f"Without swing, because they could not be read: {', '.join(name for name, _ in self.left_out)}"
            )
            lines += [why for _, why in self.left_out]
        if self.copied:
            lines.append(f"Copied from other files: {', '.join(self.copied)}")
        if self.held:
            lines.append(f"Without swing, because constraints or drivers move them: {', '.join(self.held)}")
        return lines

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "armature": self.armature,
            "chains": [
                {
                    "part": chain.part.lower(),
                    "bones": list(chain.bones),
                    "frequency": round(chain.frequency, 3),
                    "damping": round(chain.damping, 3),
                    "amount": round(chain.amount, 3),
                    "angle_degrees": round(math.degrees(chain.angle), 2),
                    "own_degrees": round(math.degrees(chain.own), 2),
                }
                for chain in self.chains
            ],
            "actions": list(self.actions),
            "linked": list(self.linked),
            "held": list(self.held),
            "copied": list(self.copied),
            "left_out": dict(self.left_out),
        }
