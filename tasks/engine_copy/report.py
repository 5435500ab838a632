"""Report on an engine copy, in words and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

import bpy

from ...bridge.files.writing import parse_json
from ...deformers import SkinningError
from ...settings.engine_copy import copy_settings
from ..subject.frames import check_frames
from .targets import TARGETS


@dataclass(frozen=True)
class Apart:
    """Distances of a copy from the character.

    Attributes
    ----------
    largest, most, rms : float
        Millimeters, over all vertices and frames; 95 % are below `most`.
    bone, action, frame : str, str, int
        Place of the largest distance.
    """

    largest: float
    most: float
    rms: float
    bone: str = ""
    action: str = ""
    frame: int = 0

    def describe_worst(self) -> str:
        """Place of the largest distance, in words."""
        where = f"action {self.action}, frame {self.frame}" if self.action else "range of motion"
        return f"{self.bone}, {where}" if self.bone else where


@dataclass(frozen=True)
class Report:
    """Report on a copy.

    Attributes
    ----------
    character : str
        Name of its armature.
    target : str
        Key of `TARGETS`, and its label.
    influences, bones, helpers, keys : int
        Most bones of a vertex; bones in all; bones and corrective keys that were added.
    frames : int
        Of all actions.
    apart : Apart
        Over all frames of the actions, or of the range of motion if there are none.
    measured : str
        "file": measured in the file by Blender's importer; "copy": computed.
    copy, linear : Apart
        As computed for the copy; and without a fit, as exporters write the character itself.
    bends : Apart or None
        In the range of motion, as computed.
    tolerance : float
        Millimeters.
    path : str
        File that was written, "" for none.
    notes : tuple of str
        Further notes.
    left_out : tuple of str
        A sentence on each object that could not be copied.
    """

    character: str
    target: str
    label: str
    influences: int
    bones: int
    helpers: int
    keys: int
    actions: tuple[str, ...]
    frames: int
    apart: Apart
    measured: str
    copy: Apart
    linear: Apart
    bends: Apart | None
    tolerance: float
    path: str = ""
    notes: tuple[str, ...] = field(default=())
    left_out: tuple[str, ...] = field(default=())

    def describe(self) -> list[str]:
        """Lines of words, the first says most."""
        added = f"{_count(self.helpers, 'bone')} and {_count(self.keys, 'key')} added"
        apart = self.apart
        lines = [
            f"{self.character} for {self.label}: {added}, {self.influences} influences",
            f"Largest difference {apart.largest:.1f} mm ({apart.describe_worst()}), 95 % under {apart.most:.1f} mm",
            f"{self.character} without a copy: {self.linear.largest:.1f} mm, 95 % under {self.linear.most:.1f} mm",
        ]
        if apart.largest > self.tolerance:
            lines.append(f"Not everywhere within {self.tolerance:g} mm")
        if self.measured != "file":
            lines.append("Computed values, not measured in a file")
        return [*lines, *self.notes, *self.left_out]

    def as_json(self) -> dict[str, Any]:
        """The report as values of JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, text: str) -> Report | None:
        """A report that was stored; None if it is none that this version can read."""
        try:
            stored = parse_json(text)
            for name in ("apart", "copy", "linear", "bends"):
                stored[name] = Apart(**stored[name]) if stored[name] else None
            report = cls(**stored | {name: tuple(stored.get(name, ())) for name in ("actions", "notes", "left_out")})
            report.describe()
            worst = report.apart
            check_frames(worst.frame, worst.frame)
            is_sound = isinstance(worst.action, str) and isinstance(worst.frame, int) and report.target in TARGETS
        except (ValueError, TypeError, KeyError, AttributeError, SkinningError):
            return None
        return report if is_sound else None


def store_report(armature: bpy.types.Object, report: Report) -> None:
    """Keep a report with the character, in its file."""
    settings = copy_settings(armature)
    settings.report, settings.figures = "\n".join(report.describe()), json.dumps(report.as_json())


def read_report(armature: bpy.types.Object) -> Report | None:
    """The report that was kept last of a character, if there is one."""
    return Report.from_json(copy_settings(armature).figures)


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
