"""What a method says about itself: the one place that menus, the command line, nodes, benchmarks and tests read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from .option import Option

# What deforms a bound object: its own Armature modifier, two that follow hidden armatures, or Supple
BLENDER, STRETCH, PYTHON = "BLENDER", "STRETCH", "PYTHON"


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
    choices : tuple of Option
        In the order of the panel.
    fills_solid : bool
        Whether it fills the solid inside a skin with particles. The module then has `particles` and `pose_particles`,
        its bindings `count` and `messages`, and its choices are stored with those of particles.
    evaluation : str
        What deforms an object by it where that can.
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
    choices: tuple[Option, ...] = ()
    fills_solid: bool = False
    evaluation: str = PYTHON
    is_slow: bool = False
    sees_all_meshes: bool = False

    def default_of(self, choice: Option) -> Any:
        """The value that `Params` has if nothing is chosen."""
        return getattr(self.params, choice.name)

    def variants(self) -> Iterator[Any]:
        """`Params` for each combination of words to choose from."""
        words = [choice for choice in self.choices if choice.items]
        for keys in product(*(choice.keys for choice in words)):
            yield self.params(**dict(zip((choice.name for choice in words), keys, strict=True)))

    def name_variant(self, params: Any) -> str:
        """The key and the words that are chosen, such as "DLBNT GH"; numbers make no other method."""
        return " ".join([self.key, *(str(getattr(params, choice.name)) for choice in self.choices if choice.items)])


class RestParticles(NamedTuple):
    """Particles of a method at rest, for drawing, in object space.

    Attributes
    ----------
    points, radii : float64 arrays, shapes (P, 3) and (P,)
        Centers and radii.
    joints : int array, shape (P,)
        Strongest joint of each.
    """

    points: np.ndarray
    radii: np.ndarray
    joints: np.ndarray
