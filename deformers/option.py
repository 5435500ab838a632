"""What a user can choose, said once: panels, operators, the command line and checks of values are made from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from .errors import LARGEST_NUMBER, SkinningError

# Highest value of an option that has no limit but that of numbers to compute with
UNLIMITED = LARGEST_NUMBER


@dataclass(frozen=True)
class Option:
    """A field that a user sets: of a method's `Params`, or of a task's options. Its type is that of its default.

    Two methods that have an option of one name share its property: they take the same `Option`, each with its default.

    Attributes
    ----------
    name : str
        Of the field, and of the property.
    label, tooltip : str
        In the panel; an option without a label is no property.
    items : tuple of (key, label, tooltip)
        Where it is one of a few. Blender has a key in capitals.
    lowest, highest : float
        Limits of a number, both allowed.
    slider : (float or None, float or None)
        Where the slider ends; at the limits if None.
    unit : "NONE", "DISTANCE", "ANGLE" or "FACTOR"
        A factor is drawn as a bar. Angles are radians.
    fine : (int, float)
        Digits that are shown, and a hundred times the step of a click.
    per_pose : bool
        Whether it holds for each pose by itself: a change needs no new binding.
    overruled_by : str
        Name of another option: this one counts only where that one is 0.
    word : (number, str), optional
        A value that is no number to a user, and what is shown for it, such as 0 and "Unlimited".
    group : str
        Options of one group stand together in the panel.
    default : Any
        None for that of the field of a method's `Params`.
    help, flag, metavar : str
        On the command line; an option without help is not there. Its flag is its name if not given.
    read : callable
        Reads what is written there, where the type alone does not.
    """

    name: str
    label: str
    tooltip: str
    items: tuple[tuple[Any, ...], ...] = ()
    lowest: float = 0.0
    highest: float = UNLIMITED
    slider: tuple[float | None, float | None] = (None, None)
    unit: Literal["NONE", "DISTANCE", "ANGLE", "FACTOR"] = "NONE"
    fine: tuple[int, float] | None = None
    per_pose: bool = False
    overruled_by: str = ""
    word: tuple[float, str] | None = None
    group: str = ""
    default: Any = None
    help: str = ""
    flag: str = ""
    metavar: str | None = None
    read: Callable[[str], Any] | None = None

    @property
    def keys(self) -> tuple[Any, ...]:
        """What there is to choose from; empty for a number."""
        return tuple(item[0] for item in self.items)

    @property
    def words(self) -> dict[str, Any]:
        """Keys by how the command line has them: in small letters, but for options of methods as they are."""
        return {str(key) if self.default is None else str(key).lower(): key for key in self.keys}

    def check(self, value: Any) -> None:
        """See that a value is allowed. Raises SkinningError if it is not."""
        name = self.name.replace("_", " ").capitalize()
        if self.items:
            if value is None or value not in (*self.keys, self.default):
                raise SkinningError(f"{name} is {value!r}: choose one of {', '.join(map(str, self.keys))}")
        elif isinstance(value, int | float) and not self.lowest <= value <= self.highest:
            if self.lowest > -UNLIMITED and self.highest == UNLIMITED:
                raise SkinningError(f"{name} is {value}: choose {self.lowest:g} or more")
            raise SkinningError(f"{name} is {value}: choose {self.lowest:g} to {self.highest:g}")
