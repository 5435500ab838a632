"""How bones follow a dragged point of the skin."""

from __future__ import annotations

from dataclasses import dataclass

from ..deformers.option import TaskOptions, option


@dataclass(frozen=True)
class DragOptions(TaskOptions):
    """How bones follow a dragged point of the skin, and what pins hold."""

    solver: str = option(
        "ENERGY",
        "Solver",
        "How bones follow the dragged point",
        items=(
            (
                "ENERGY",
                "Whole Body",
                "Rotate all joints between the dragged point, pins and the root so that the skin deforms least",
            ),
            (
                "CHAIN",
                "Chain",
                (
                    "Rotate the joints of a chain one after the other, from the last one up: for tails, tentacles and "
                    "ropes"
                ),
            ),
        ),
    )
    iterations: int = option(
        5,
        "Iterations",
        "Rounds of the solver for each movement of the mouse: more follow faster, and cost more time",
        lowest=1,
        highest=100,
        slider=(None, 20),
    )
    chain_length: int = option(
        0,
        "Chain Length",
        "Bones of the chain, from the dragged bone up; 0 for all up to the root",
        slider=(None, 20),
    )
    move_root: str = option(
        "AUTO",
        "Move Root",
        "Whether the bone at the root may move",
        items=(
            ("AUTO", "Auto", "Move the root where there are pins, or where nothing else can follow"),
            ("ON", "On", "Move the root"),
            ("OFF", "Off", "Leave the root where it is"),
        ),
    )
    hold_rotation: bool = option(
        True,
        "Hold Rotation",
        "Pins hold the rotation of what they are on, too: a pinned foot stays flat on the ground",
    )
