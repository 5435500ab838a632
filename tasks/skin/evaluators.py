"""Evaluators of bound objects: the modules behind `ObjectSettings.evaluate`, each with the same functions."""

from __future__ import annotations

from typing import Any, Protocol

import bpy

from ...deformers import UnsupportedError
from ...deformers.method import BLENDER, PYTHON, STRETCH
from ...settings.objects import settings_of
from ..subject.stack import BoundObject, SkinnedObject
from . import by_blender, by_python, by_stretch
from .step import Step


class Evaluator(Protocol):
    """The functions of a module that evaluates."""

    def prepare(self, skinned: SkinnedObject, method: str) -> Any:
        """Prepare an object for a method: the result has `choices`, `groups` and `bound_space`. Nothing is changed.

        Raises
        ------
        SkinningError
            If this cannot evaluate the object.
        """
        ...

    def install(self, skinned: SkinnedObject, setup: Any) -> None:
        """Install the prepared deformation on a bound object."""
        ...

    def remove(self, obj: bpy.types.Object, replaced: bpy.types.ArmatureModifier | None, /) -> None:
        """Remove the additions of `install`: the object's own modifier, if it still exists, deforms it again."""
        ...

    def mute(self, bound: BoundObject, is_muted: bool) -> None:
        """Have an object's own modifier deform it as before Bind, or `install`'s again."""
        ...

    def follow(self, obj: bpy.types.Object, step: Step, /) -> bool:
        """Bring a bound object up to a step, unless a bake does so: whether it was looked at.

        Raises
        ------
        SkinningError
            If the object cannot be deformed; it is left as it was.
        """
        ...

    def bring_to_pose(self, obj: bpy.types.Object, step: Step, /) -> None:
        """Bring a bound object to the pose of a step, for a bake."""
        ...


EVALUATORS: dict[str, Evaluator] = {BLENDER: by_blender, PYTHON: by_python, STRETCH: by_stretch}


def find_evaluator(obj: bpy.types.Object) -> Evaluator:
    """The evaluator of a bound object; raises UnsupportedError if a later version of Supple has chosen an unknown
    one."""
    evaluate = settings_of(obj).evaluate
    if evaluate not in EVALUATORS:
        raise UnsupportedError(f"A later version of Supple has bound '{obj.name}': bind it again")
    return EVALUATORS[evaluate]
