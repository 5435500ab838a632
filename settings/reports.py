"""Reports on objects: those that are kept while Blender runs and never saved, and how any is closed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import bpy

from .objects import settings_of


@dataclass
class ParticleReport:
    """Report on an object's particles.

    Attributes
    ----------
    count : int
    solid_share : float or None
        Share of the skin that follows particles, 0 to 1; None where the method has none.
    messages : tuple of str
        What could not be filled, and what is done instead.
    milliseconds : float or None
        What the latest pose took.
    volume : float or None
        Volume in the latest pose, at rest 1; None where it was not measured.
    """

    count: int
    solid_share: float | None = None
    messages: tuple[str, ...] = ()
    milliseconds: float | None = None
    volume: float | None = None


measure_reports: dict[int, str] = {}
"""What was measured last of an object, in lines, by `session_uid`; never saved."""

farm_reports: dict[int, str] = {}
"""Where the latest job for a farm was written and how it is submitted, by the `session_uid` of the mesh that was shown
then; never saved."""

particle_reports: dict[int, ParticleReport] = {}
"""Of the objects that Python deforms by a method of particles, by `session_uid`; never saved."""

check_reports: dict[int, list[Any]] = {}
"""What was found when a character was last checked, `Finding`s, by its armature's `session_uid`; never saved."""

pose_times: dict[int, float] = {}
"""Milliseconds that the latest pose took of each object that Python deforms, by `session_uid`; never saved."""


def close_report(obj: bpy.types.Object, report: str) -> None:
    """Take a report on an object off the panels until there is another.

    Parameters
    ----------
    obj : Object
    report : str
        "measure", "farm", "particles", "evaluate_problem", or the setting that holds it: "message", "pattern_message",
        "weights_report".
    """
    uid, settings = obj.session_uid, settings_of(obj)
    if report == "measure":
        measure_reports.pop(uid, None)
    elif report == "farm":
        farm_reports.pop(uid, None)
    elif report == "particles" and uid in particle_reports:
        particle_reports[uid] = replace(particle_reports[uid], messages=())
    elif report == "evaluate_problem":
        settings.is_problem_closed = True
    elif report in ("message", "pattern_message", "weights_report"):
        settings.property_unset(report)
        if report == "message":
            settings.property_unset("remedy")
