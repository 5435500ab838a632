"""What a method says about itself: the one place that menus, the command line, nodes, benchmarks and tests read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import product
from typing import Any, Literal

from .errors import SkinningError

UNLIMITED = 1e30
"""Highest value of a choice that has no limit."""


@dataclass(frozen=True)
class Evaluation:
    """A way to compute a deformation.

    Attributes
    ----------
    icon : str
        One of Blender's.
    needs_supple : bool
        Whether a bound object is deformed only where Supple is installed.
    instead : str
        Key of what evaluates where this can not; "" for nothing.
    """

    key: str
    label: str
    tooltip: str
    icon: Literal["NODETREE", "SCRIPT"]
    needs_supple: bool
    instead: str = ""


EVALUATIONS = {
    each.key: each
    for each in (
        Evaluation(
            "NODES",
            "Nodes",
            "Compute in a node modifier, which works even where Supple is not installed",
            icon="NODETREE",
            needs_supple=False,
            instead="PYTHON",
        ),
        Evaluation(
            "PYTHON",
            "Python",
            "Compute in Supple, which must be installed: works in every Blender version, with every method and "
            "with bone envelopes",
            icon="SCRIPT",
            needs_supple=True,
        ),
    )
}
EVALUATE_ITEMS = tuple((each.key, each.label, each.tooltip) for each in EVALUATIONS.values())


@dataclass(frozen=True)
class Choice:
    """A field of a method's `Params` that a user sets. Its default and its type are those of the field.

    Two methods that have a choice of one name share its property: they take the same `Choice`.

    Attributes
    ----------
    name : str
        Of the field.
    label, tooltip : str
        In the panel.
    items : tuple of (key, label, tooltip)
        Where the choice is one of a few words.
    lowest, highest : float
        Limits of a number, both allowed.
    slider : (float or None, float or None)
        Where the slider ends; at the limits if None.
    unit : "NONE", "DISTANCE" or "FACTOR"
        A factor is drawn as a bar.
    per_pose : bool
        Whether it holds for each pose by itself: a change needs no new binding.
    overruled_by : str
        Name of another choice: this one counts only where that one is 0.
    stored_as : str
        The property, where it is not called as the field.
    group : str
        Choices of one group stand together in the panel.
    """

    name: str
    label: str
    tooltip: str
    items: tuple[tuple[str, str, str], ...] = ()
    lowest: float = 0.0
    highest: float = UNLIMITED
    slider: tuple[float | None, float | None] = (None, None)
    unit: Literal["NONE", "DISTANCE", "FACTOR"] = "NONE"
    per_pose: bool = False
    overruled_by: str = ""
    stored_as: str = ""
    group: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """The words to choose from, as they are stored; empty for a number."""
        return tuple(item[0] for item in self.items)

    @property
    def property_name(self) -> str:
        """Name of the property that keeps it."""
        return self.stored_as or self.name

    def check(self, value: Any) -> None:
        """See that a value is allowed.

        Raises
        ------
        SkinningError
            Where it is not.
        """
        name = self.name.replace("_", " ").capitalize()
        if self.items:
            if value not in self.keys:
                raise SkinningError(f"{name} is {value!r}: choose one of {', '.join(self.keys)}")
        elif not self.lowest <= value <= self.highest:
            raise SkinningError(f"{name} is {value}: choose {self.lowest:g} to {self.highest:g}")


@dataclass(frozen=True)
class Method:
    """A method of skinning, before it runs.

    Attributes
    ----------
    key : str
        In files, scripts and the command line.
    number : int
        In files, where Blender stores a choice by its number: another for each method, and never changed.
    label, tooltip : str
        In menus.
    params : type
        The method's `Params`.
    choices : tuple of Choice
        In the order of the panel.
    fills_solid : bool
        Whether it fills the solid inside a skin with particles. The module then has `particles` and `pose_particles`,
        its bindings `count` and `messages`, and its choices are stored with those of particles.
    has_nodes : bool
        Whether it exists as Geometry Nodes: `nodes/methods.py` then says how.
    is_slow : bool
        Whether a pose takes seconds: a method to study.
    sees_all_meshes : bool
        Whether `bind` looks at `Rest.surfaces`: all meshes that follow the same armature.
    """

    key: str
    number: int
    label: str
    tooltip: str
    params: type
    choices: tuple[Choice, ...] = ()
    fills_solid: bool = False
    has_nodes: bool = False
    is_slow: bool = False
    sees_all_meshes: bool = False

    def default_of(self, choice: Choice) -> Any:
        """The value that `Params` has if nothing is chosen."""
        return next(field.default for field in fields(self.params) if field.name == choice.name)

    def variants(self) -> Iterator[Any]:
        """`Params` for each combination of words to choose from."""
        words = [choice for choice in self.choices if choice.items]
        for keys in product(*(choice.keys for choice in words)):
            yield self.params(**dict(zip((choice.name for choice in words), keys, strict=True)))

    def name_variant(self, params: Any) -> str:
        """The key and the words that are chosen, such as "DLBNT GH"; numbers make no other method."""
        return " ".join([self.key, *(str(getattr(params, choice.name)) for choice in self.choices if choice.items)])
