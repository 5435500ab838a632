"""Which frames of two actions are alike: a table, and the best frames to pass from one to the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import bpy
import numpy as np

from ...deformers import SkinningError
from ...deformers.motion.seams import find_longer
from ...deformers.motion.similarity import compare_frames
from ...deformers.motion.transitions import Transition, choose_loop, list_transitions, weigh_losses
from ..steps import Steps
from .reading import MOST_PAIRS, Performance, PosedArmature, find_action, read_body, read_performances

# Seconds that a loop lasts at least
SHORTEST = 0.3

# Seconds about a frame that are compared, and blended at least, where it is not chosen
WINDOW = 0.4

# Seconds to each side that are blended at most then
LONGEST = 1.0

# Frames to each side that are compared at most: sums over them take 130 MB beside the table
MOST_REACH = 2000

# Most transitions that are listed
LISTED = 12


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two actions of an armature, compared frame by frame.

    Attributes
    ----------
    armature, first, second : str
        Names; equal if an action is compared with itself.
    table : float32 array, shape (FA, FB)
        Differences of frames, millimeters at a height of 1.8 m.
    transitions : list of Transition
        The best, with frames of the actions.
    """

    armature: str
    first: str
    second: str
    table: np.ndarray
    transitions: list[Transition]

    def describe(self) -> list[str]:
        """Sentences without a full stop."""
        rows, columns = self.table.shape
        if not self.transitions:
            return [f"'{self.first}' is too short for a loop"]
        lines = [f"From '{self.first}' to '{self.second}', {rows} x {columns} frames compared"]
        return lines + [describe_transition(one) for one in self.transitions]

    def as_json(self) -> dict[str, Any]:
        """The comparison as plain data."""
        return {
            "armature": self.armature,
            "actions": [self.first, self.second],
            "transitions": [
                {"from": one.first, "to": one.second, "difference_mm": round(one.difference, 2)}
                for one in self.transitions
            ],
        }


def describe_transition(transition: Transition) -> str:
    """Words for a transition whose difference is in millimeters."""
    return f"From frame {transition.first} to frame {transition.second}: {transition.difference:.0f} mm apart"


def compare_actions(
    armature: bpy.types.Object, first: str, second: str, blend: float, rate: float
) -> Steps[Comparison]:
    """Compare all frames of two actions, or of one with itself.

    Raises SkinningError if an action is not there, is too short, or moves nothing of the armature.

    Parameters
    ----------
    first, second : str
        Names of actions; "" for the one that the armature plays, and for the same as the first.
    blend : float
        Seconds about each frame that are compared; 0 for `WINDOW`.
    rate : float
        Frames a second.
    """
    whole = read_body(armature)
    one = find_action(armature, first)
    two = find_action(armature, second) if second else one
    body, _, _, performances = yield from read_performances(whole, [one, two], goes_on=one != two)
    table = yield from compare_performances(body, performances[0], performances[1], find_reach(blend, rate))
    reach, shortest = find_reach(blend, rate), find_shortest(rate)
    if one == two:
        listed = list_transitions(table, LISTED, reach, shortest)
        if (best := choose_loop(table, shortest)) is not None:
            others = [each for each in listed if (each.first, each.second) != (best.first, best.second)]
            listed = [best, *others][:LISTED]
    else:
        listed = list_transitions(table, LISTED, reach, costs=weigh_losses(table))
    starts = performances[0].frames.start, performances[1].frames.start
    found = [Transition(starts[0] + each.first, starts[1] + each.second, each.difference) for each in listed]
    return Comparison(armature.name, one.name, two.name, table, found)


def find_reach(blend: float, rate: float) -> int:
    """Frames to each side that are compared; `blend` is 0 if it is not chosen.

    Raises SkinningError if these are more than there is memory for.
    """
    reach = 0.5 * (blend or WINDOW) * rate
    if not reach <= MOST_REACH:  # also where it is no number
        raise SkinningError(
            f"A blend of {blend or WINDOW:g} s at {rate:g} frames per second is too long: choose "
            f"{2 * MOST_REACH / rate:.3g} s or less"
        )
    return max(1, round(reach))


def find_blend(blend: float, rate: float, difference: float, performances: Sequence[Performance]) -> int:
    """Frames to blend on each side: the chosen number, or as many as the difference needs."""
    reach = find_reach(blend, rate)
    if blend:
        return reach
    needed = find_longer(difference, [each.motion.points for each in performances])
    return int(min(max(reach, needed), LONGEST * rate))


def find_shortest(rate: float) -> int:
    """Least frames of a loop."""
    return max(2, round(SHORTEST * rate))


def compare_performances(body: PosedArmature, first: Performance, second: Performance, reach: int) -> Steps[np.ndarray]:
    """Steps that return the table of `Comparison`; raises SkinningError if there is no comparing them."""
    count = len(first.frames) * len(second.frames)
    if count > MOST_PAIRS:
        raise SkinningError(
            f"{len(first.frames):,} x {len(second.frames):,} frames are too many to compare: shorten the actions"
        )
    table = yield partial(compare_frames, first.motion, second.motion, reach)
    with np.errstate(over="ignore"):
        table *= np.float32(body.in_millimeters(1.0))
    if not np.isfinite(table).all():
        names = " and ".join(dict.fromkeys(f"'{performance.name}'" for performance in (first, second)))
        raise SkinningError(
            f"The frames of {names} cannot be compared: check that the locations and scales of all bones are numbers"
        )
    return table


def find_loop(table: np.ndarray, performance: Performance, rate: float) -> Transition:
    """The best loop, in frames from 0; raises SkinningError if the action is too short for one.

    `table`, float array, shape (F, F).
    """
    found = choose_loop(table, find_shortest(rate))
    if found is None:
        raise SkinningError(
            f"Action '{performance.name}' is too short for a loop: it has {len(performance.frames)} frames, and a loop "
            f"needs more than {find_shortest(rate)}"
        )
    return found


def find_join(table: np.ndarray) -> Transition:
    """The best frames to join two actions, from 0: in the later half of the first, the earlier half of the second."""
    return list_transitions(table, 1, 0, costs=weigh_losses(table))[0]
