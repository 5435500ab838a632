"""What evaluates a bound object: the modules behind the choice Evaluate, each with the same functions."""

from __future__ import annotations

from typing import Any, Protocol

import bpy

from ...deformers import UnsupportedError
from ...deformers.method import EVALUATIONS
from ...settings.objects import settings_of
from ..subject.stack import BoundObject, SkinnedObject
from . import by_nodes, by_python
from .step import Step


class Evaluator(Protocol):
    """The functions of a module that evaluates."""

    def prepare(self, skinned: SkinnedObject, method: str) -> Any:
        """What binds an object by a method: it has `choices`, `groups` and `bound_space`; nothing is changed.

        Raises
        ------
        SkinningError
            Where this can not evaluate the object.
        """
        ...

    def is_installed(self, obj: bpy.types.Object, /) -> bool:
        """Whether a bound object's modifier is as `install` leaves it."""
        ...

    def install(self, bound: BoundObject, setup: Any) -> None:
        """Have what was prepared deform a bound object."""
        ...

    def follow(self, obj: bpy.types.Object, step: Step, /) -> bool:
        """Bring a bound object up to a step, unless a bake does so: whether it was looked at.

        Raises
        ------
        SkinningError
            Where the object can not be deformed; it is left as it was.
        """
        ...

    def bring_to_pose(self, obj: bpy.types.Object, step: Step, /) -> None:
        """The same for a bake, and for the pose alone."""
        ...

    def follows_settings(self, obj: bpy.types.Object, /) -> bool:
        """Whether `follow` will see what the settings of a bound object have become."""
        ...

    def is_up_to_date(self, obj: bpy.types.Object, /) -> bool:
        """Whether a bound object needs nothing for another pose by itself."""
        ...

    def is_rough(self, obj: bpy.types.Object, /) -> bool:
        """Whether `follow` will show a bound object better once the user has let go."""
        ...

    def expect_undo(self) -> None:
        """Have what undo may have changed compared in the next step."""
        ...

    def keep_only(self, objects: list[bpy.types.Object], /) -> None:
        """Objects were bound, added or removed: these are bound now."""
        ...

    def forget(self, obj: bpy.types.Object, /) -> None:
        """Drop what is remembered of an object: if this still evaluates it, it is bound anew in the next step."""
        ...


EVALUATORS: dict[str, Evaluator] = {"NODES": by_nodes, "PYTHON": by_python}


def find_evaluator(obj: bpy.types.Object) -> Evaluator:
    """What evaluates a bound object; raises UnsupportedError where a later version of Supple has chosen another."""
    evaluate = settings_of(obj).evaluate
    if evaluate not in EVALUATORS:
        names = ", ".join(EVALUATIONS[key].label for key in EVALUATORS)
        raise UnsupportedError(
            f"'{obj.name}' uses an evaluation that this version of Supple does not have: choose {names} in Evaluate"
        )
    return EVALUATORS[evaluate]


def find_installed(obj: bpy.types.Object) -> str:
    """Key of what deforms a bound object now, whatever its settings say."""
    return next(key for key, evaluator in EVALUATORS.items() if evaluator.is_installed(obj))
