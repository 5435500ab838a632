"""Measures of a copy for its report: of the fit, and of the file as Blender reads it again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from ...deformers.engine_copy import CopyFit, Differences, Tally
from ...options import CopyOptions
from ..left_out import describe_left_out
from .copy import Copy
from .examples import CopiedCharacter, Motion
from .export import Reimport
from .report import Apart, Report
from .targets import TARGETS


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit and its measures.

    Attributes
    ----------
    apart, linear : Differences
        In the actions, or in the range of motion if there are none: with the fit, and as exporters write the
        character itself.
    bends : Differences or None
        In the range of motion, if there are actions, too.
    """

    fit: CopyFit
    apart: Differences
    linear: Differences
    bends: Differences | None


def describe_copy(subject: CopiedCharacter, motion: Motion, fitted: Fitted, copy: Copy, options: CopyOptions) -> Report:
    """The report on a copy that no file was measured of."""
    found = fitted.fit
    apart = find_apart(subject, motion, fitted.apart)
    return Report(
        character=subject.armature.name,
        target=options.target,
        label=TARGETS[options.target],
        influences=options.influences,
        bones=len(subject.skeleton.joints.parents) + len(found.helpers),
        helpers=len(found.helpers),
        keys=len(found.keys),
        actions=tuple(clip.action for clip in motion.clips),
        frames=sum(len(clip.frames) for clip in motion.clips),
        apart=apart,
        measured="copy",
        copy=apart,
        linear=find_apart(subject, motion, fitted.linear),
        bends=None if fitted.bends is None else find_apart(subject, motion, fitted.bends),
        tolerance=1000.0 * options.tolerance,
        notes=tuple(f"Left out, because no engine supports it: {name}" for name in copy.left_out),
        left_out=describe_left_out(subject.left_out),
    )


def measure_file(subject: CopiedCharacter, motion: Motion, found: Reimport, scale: float, report: Report) -> Report:
    """Complete the report by the measures of a file.

    Parameters
    ----------
    found : Reimport
        With distances.
    scale : float
        From armature space to the units of the distances.
    report : Report
        On the copy.
    """
    tally = Tally(subject.skin, len(motion.matrices))
    for frame, apart in enumerate(cast(np.ndarray, found.apart)):
        tally.add(np.array([frame]), np.asarray(apart)[None] / scale)
    notes = report.notes
    if found.missing:
        notes = (*notes, f"{found.missing} vertices are not in any face, so the file does not contain them")
    return replace(report, apart=find_apart(subject, motion, tally.sum_up()), measured="file", notes=notes)


def find_apart(subject: CopiedCharacter, motion: Motion, differences: Differences) -> Apart:
    """Differences in millimeters, with names."""
    action, frame = motion.find(differences.frame)
    joint, millimeters = differences.joint, subject.millimeters
    return Apart(
        largest=millimeters * differences.largest,
        most=millimeters * differences.most,
        rms=millimeters * differences.rms,
        bone=subject.skeleton.name_joint(joint) if joint >= 0 else "",
        action=action,
        frame=frame,
    )
