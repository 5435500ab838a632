"""Reports on objects: those that are kept while Blender runs and never saved, and how any is closed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import bpy

from ..bridge.per_object import PerObject
from ..settings.objects import settings_of


@dataclass
class ParticleReport:
    """Report on an object's particles.

    Attributes
    ----------
    solid_share : float or None
        Share of the skin that follows particles, 0 to 1; None if the method has none.
    messages : tuple of str
        Parts that could not be filled, and the replacement.
    milliseconds : float or None
        Time of the latest pose.
    volume : float or None
        Volume in the latest pose, at rest 1; None if it was not measured.
    """

    count: int
    solid_share: float | None = None
    messages: tuple[str, ...] = ()
    milliseconds: float | None = None
    volume: float | None = None


# What was measured last of an object, in lines; never saved
measure_reports: PerObject[str] = PerObject()

# Where the latest job for a farm was written and how it is submitted, by the mesh that was shown then; never saved
farm_reports: PerObject[str] = PerObject()

# That a character, by its armature, was brought up from another version of Supple in this file; never saved
version_reports: PerObject[str] = PerObject()

# Of the objects that Python deforms by a method of particles; never saved
particle_reports: PerObject[ParticleReport] = PerObject()

# What was found when a character was last checked, and what each fix has left, `Report`s: by its armature, and by how
# many fixes it has had, `fixes` of its settings, which undo takes back; never saved
check_reports: PerObject[dict[int, Any]] = PerObject()

# Milliseconds that the latest pose took of each object that Python deforms; never saved
pose_times: PerObject[float] = PerObject()


def close_report(obj: bpy.types.Object, report: str) -> None:
    """Take a report on an object off the panels until there is another.

    `report`: "measure", "farm", "version", "particles", "evaluate_problem", or the setting that holds it: "message",
    "pattern_message", "weights_report", "offers_layers".
    """
    settings, particles = settings_of(obj), particle_reports.find(obj)
    if report == "measure":
        measure_reports.forget(obj)
    elif report == "farm":
        farm_reports.forget(obj)
    elif report == "version":
        version_reports.forget(obj)
    elif report == "particles" and particles is not None:
        particle_reports.keep(obj, replace(particles, messages=()))
    elif report == "evaluate_problem":
        settings.is_problem_closed = True
    elif report in ("message", "pattern_message", "weights_report", "offers_layers"):
        settings.property_unset(report)
        if report == "message":
            settings.property_unset("remedy")


def describe_failure(error: Exception) -> str:
    """An error that is none of the user's, in a line to be reported."""
    return " ".join(f"{type(error).__name__}: {error}".split())
