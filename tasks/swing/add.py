"""Swing as a feature: tails, ears and hair that lag and settle, as keys in the actions themselves."""

from __future__ import annotations

from collections.abc import Sequence

import bpy

from ...bridge.rigs.swings import list_idle, list_swinging
from ...options import SwingOptions
from ..installed.engine import install
from ..installed.feature import PlannedFeature, Subject
from ..steps import Steps
from .actions import find_notice, read_played
from .plan import plan_swing
from .read import Readings, read_swing
from .remove import remove_swing
from .report import SwingReport
from .write import write_swing

SWING = PlannedFeature(
    key="swing",
    read=read_swing,
    plan=plan_swing,
    write=write_swing,
    remove=lambda subject, names: remove_swing(subject.armature, names),
    is_in=lambda subject: bool(list_swinging(subject.armature) or list_idle(subject.armature)),
    notice=find_notice,
    read_state=read_played,
)


def add_swing(
    armature: bpy.types.Object,
    scene: bpy.types.Scene,
    options: SwingOptions = SwingOptions(),  # noqa: B008 - frozen
    names: Sequence[str] = (),
    readings: Readings | None = None,
) -> Steps[SwingReport]:
    """Make chains of bones swing.

    Raises SkinningError if nothing can swing. Nothing is changed then.

    Parameters
    ----------
    scene : Scene
        Its frame rate and gravity are used.
    names : sequence of str
        Bones of the chains. Without any, all bones with the name of a part.
    readings : dict, optional
        Actions that were read before, for other settings. They are not read again, and what is read is added.
    """
    return install(SWING, Subject(armature), scene, options, names, None, readings)


def add_region_swing(
    armature: bpy.types.Object,
    scene: bpy.types.Scene,
    options: SwingOptions,
    mesh: bpy.types.Object,
    group: str,
    readings: Readings | None = None,
) -> Steps[SwingReport]:
    """Make a region of flesh swing: a vertex group, which gets a bone. Otherwise as `add_swing`."""
    return install(SWING, Subject(armature), scene, options, (), (mesh, group), readings)


def update_swing(armature: bpy.types.Object, scene: bpy.types.Scene) -> Steps[SwingReport]:
    """Compute the swing of all actions again, with the settings it has; raises SkinningError if nothing swings."""
    return install(SWING, Subject(armature), scene, None)
