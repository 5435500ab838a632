"""What adding or updating a swing did, in words and as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...deformers.swing.parts import SWING_PARTS, Chain
from .plan import MIN_ANIMATED


@dataclass(frozen=True)
class SwingReport:
    """What was computed.

    Attributes
    ----------
    chains : tuple of Chain
        The new chains, or all for an update.
    actions : tuple of str
        Names of the actions in which something swings.
    linked : tuple of str
        Names of actions that cannot be changed.
    held : tuple of str
        Names of bones with the name of a part that constraints or drivers move.
    copied : tuple of str
        Names of actions that were copied from other files.
    left_out : tuple of (str, str)
        Names of actions that could not be read, and why.
    """

    armature: str
    chains: tuple[Chain, ...]
    actions: tuple[str, ...]
    linked: tuple[str, ...]
    held: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()

    def describe(self) -> list[str]:
        """Sentences without a full stop."""
        lines = [line for chain in self.chains for line in _describe_chain(chain)]
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
        """The report as plain data."""
        return {
            "armature": self.armature,
            "chains": [
                {
                    "part": chain.part.lower(),
                    "bones": list(chain.bones),
                    "frequency": round(chain.spring.frequency, 3),
                    "damping": round(chain.spring.damping, 3),
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


def _describe_chain(chain: Chain) -> list[str]:
    """Sentences without a full stop."""
    first, last = f"'{chain.bones[0]}'", f"'{chain.bones[-1]}'"
    name = first if first == last else f"{first} to {last}"
    if chain.angle == 0.0:
        return [f"{name} does not swing: no action moves the bone that carries it"]
    label = SWING_PARTS[chain.part].label
    angle, often = math.degrees(chain.angle), f"{chain.spring.frequency:g}"
    swing = (
        f"{name} ({label}) swings by {angle:.0f} degrees, {often} times a second: {chain.amount:.1f} times as far "
        "as with physics"
    )
    lines = [swing]
    if chain.own > MIN_ANIMATED:
        own = f"{math.degrees(chain.own):.0f}"
        added = f"{name} is already animated, by {own} degrees: the swing is added"
        faded = f"{name} is already animated, by {own} degrees: it swings less where it is"
        lines.append(faded if chain.fades else added)
    if chain.is_held:
        lines.append(f"Constraints or drivers move {name}: its skin follows bones that were added")
    return lines
