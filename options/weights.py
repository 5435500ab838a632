"""What a user can choose of automatic weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..deformers.automatic_weights import METHODS
from ..deformers.option import TaskOptions, option
from ..deformers.weight_editing.edits import Mode
from .reading import read_number


@dataclass(frozen=True)
class WeightOptions(TaskOptions):
    """What a user can choose of automatic weights.

    Attributes
    ----------
    method : str
        Key of `SOLVERS`; "" for the default, or where there are points and cages the method that they need.
    mirror : bool
        Make the weights the same on both sides of the armature's X axis.
    choices : mapping of str to int
        What is chosen for methods, by name of their choices; 0 or left out for a method's default.
    """

    method: str = option(
        "",
        "Method",
        "How weights are computed",
        items=tuple((method.key, method.label, method.tooltip) for method in METHODS.values()),
    )
    mode: Mode = option(  # noqa: RUF009 - a field
        "REPLACE",
        "Mode",
        "How new weights combine with existing ones",
        items=(
            ("REPLACE", "Replace", "Replace existing weights"),
            ("ADD", "Add", "Add new weights to the existing ones, and normalize the sum"),
            ("UNWEIGHTED", "Fill", "Weight only vertices that have no weights"),
        ),
        help="how new weights combine with existing ones; replace if not given",
    )
    only_selected_bones: bool = option(
        False, "Selected Bones", "Weight only the selected bones: other bones keep their weights"
    )
    mirror: bool = option(False, help="same weights on both sides of the armature")
    limit: int = option(
        0,
        "Bones per Vertex",
        "Most bones that influence a vertex; 0 for no limit. Most game engines take 4",
        slider=(None, 8),
        help="most bones per vertex; any if not given",
        metavar="N",
        read=read_number,
    )
    prune: float = option(
        0.001,
        "Prune Below",
        "Remove smaller weights, and normalize the others",
        highest=0.5,
        unit="FACTOR",
        fine=(3, 1),
    )
    choices: Mapping[str, int] = field(default_factory=dict)
