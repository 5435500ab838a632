"""Make the engine copy of a character, from reading its actions to measuring the file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import bpy
import numpy as np

from ...bridge.files.temporary import temporary_folder
from ...deformers.engine_copy import limit_helpers
from ...deformers.engine_copy.regions import find_blends
from ...options import CopyOptions
from ..installed.engine import install
from ..installed.feature import PlannedFeature, Subject
from ..steps import Steps
from .copies import list_copies, read_copy, remove_copies
from .export import check_path, write_file
from .plan import plan_copy
from .read import read_copied, read_source
from .report import Report, read_report
from .write import write_copy

ENGINE_COPY = PlannedFeature(
    key="copy",
    read=read_source,
    plan=plan_copy,
    write=write_copy,
    remove=lambda subject, _names: remove_copies(subject.armature),
    is_in=lambda subject: bool(list_copies(subject.armature)),
    stands_on=("skin", "flesh", "patterns", "layers", "swing"),
)


def make_engine_copy(
    objects: Iterable[bpy.types.Object], options: CopyOptions, output: Path | None = None
) -> Steps[Report]:
    """Make a copy of a character for game engines, or make it anew, and measure its file.

    Raises SkinningError if the character cannot be copied; nothing is left behind then, nor if it is closed early.

    Parameters
    ----------
    objects : Objects
        Meshes of one armature, some of them bound, and objects that hang on its bones. Others are left out.
    output : Path, optional
        File to be written; if not given, it is written to be measured, and then removed.
    """
    with temporary_folder() as folder:
        return (yield from install(ENGINE_COPY, Subject(None, tuple(objects)), options, output, folder))


@dataclass(frozen=True)
class BonePlan:
    """The bones of a copy, as far as known before the fit.

    Attributes
    ----------
    joints : int
        Joints of the character, each a bone of its copy.
    bending : int
        Those that skin lies across, which may get helpers.
    former : int
        Bones of the copy that was made last; 0 for none.
    """

    joints: int
    bending: int
    former: int

    def describe(self, helpers: int) -> list[str]:
        """Sentences without full stops, for so many added bones at most at a joint; -1 for no limit."""
        most = self.bending * limit_helpers(helpers)
        lines = [f"{self.joints} bones of the character, and at most {most} added bones at {self.bending} joints"]
        return [*lines, f"The last copy has {self.former} bones"] if self.former else lines


def plan_bones(objects: Iterable[bpy.types.Object]) -> BonePlan:
    """Count the bones of a copy; raises SkinningError if the character cannot be copied."""
    character = read_copied(objects)
    parents = np.asarray(character.skeleton.joints.parents)
    cuts = np.unique(find_blends(character.skin).cuts)
    report = read_report(character.armature)
    return BonePlan(len(parents), int((parents[cuts[cuts >= 0]] >= 0).sum()), report.bones if report else 0)


def export_copy(armature: bpy.types.Object, target: str, influences: int, output: Path) -> Steps[None]:
    """Write a character's existing copy into a file, without making it anew or measuring it.

    `armature` is the original's. Raises SkinningError if there is no copy, or the file cannot be written.
    """
    check_path(output, target)
    copy, clips = read_copy(armature, target)
    with temporary_folder() as folder:
        yield from write_file(copy, clips, target, output, folder, influences)
