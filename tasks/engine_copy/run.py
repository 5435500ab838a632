"""Make the engine copy of a character, from reading its actions to measuring the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import bpy
import numpy as np

from ...bridge.files.temporary import temporary_folder
from ...bridge.held import find_all_again
from ...bridge.owned import Tag, mark, unmark
from ...bridge.rigs.actions import list_frames
from ...deformers import Pose, SkinningError
from ...deformers.engine_copy import Examples, FitParams, fit, fit_linear, limit_helpers, measure
from ...deformers.engine_copy.regions import find_blends
from ...options import CopyOptions
from ..steps import Progress, Steps, within
from ..subject.actions import list_seen_actions
from .copy import Copy, find_copy, make_copy, read_parts, remove_parts
from .examples import (
    CopiedCharacter,
    Motion,
    UnposableError,
    bend_joints,
    list_clips,
    read_actions,
    read_subject,
    write_targets,
)
from .export import check_path, prepare_export
from .measured import Fitted, describe_copy, measure_file
from .played import Played, read_played
from .report import Report, read_report, store_report
from .show import is_hidden, read_copy, set_hidden, show_copy
from .targets import SUFFIXES

MILLI = 1000.0
# Shares of all that are done when the actions are read, their targets computed, and so on
READ, POSED, FITTED, COPIED = 0.02, 0.12, 0.8, 0.84

# Share of all that measuring the fit takes
CHECKED = 0.02

# Frames times joints: with as many helpers again and a half, what bones do in them takes a gigabyte as curves
MOST_MATRICES = 250_000

TARGETS_FILE = "targets"


def make_engine_copy(
    objects: Iterable[bpy.types.Object], options: CopyOptions, output: Path | None = None
) -> Steps[Report]:
    """Make a copy of a character for game engines, or make it anew, and measure its file.

    Parameters
    ----------
    objects : Objects
        Meshes of one armature, some of them bound, and objects that hang on its bones. Others are left out.
    output : Path, optional
        File to be written; if not given, it is written to be measured, and then removed.

    Yields
    ------
    As `Steps`.

    Raises
    ------
    SkinningError
        If the character cannot be copied; nothing is left behind then, nor if it is closed early.
    """
    subject = read_subject(objects)
    params = FitParams(
        tolerance=options.tolerance * MILLI / subject.millimeters,
        influences=options.influences,
        helpers=options.helpers,
        keys=options.keys,
        uses_rules=options.target == "vrm",
    )
    actions = _choose_actions(subject.armature, options)
    _check_length(actions, len(subject.skeleton.joints.parents))
    if output is not None:
        check_path(output, options.target)
    with temporary_folder() as folder:
        while True:
            motion = yield from read_motion(subject, actions, options.bend)
            played = []
            for clip, action in zip(motion.clips, actions, strict=True):
                played.append(read_played(subject, clip, action))
                yield READ
            try:
                fitted = yield partial(_fit, folder / TARGETS_FILE, subject, motion, params)
                break
            except UnposableError as error:
                subject = subject.without(error)
        with _former_kept(subject.armature, options.target):
            copy = make_copy(subject, fitted.fit, motion, options.target, played)
            made = read_parts(copy.collection)
            try:
                report = describe_copy(subject, motion, fitted, copy, options)
                set_hidden(copy.collection, bpy.context.view_layer, True)
                if options.target in SUFFIXES:
                    report = yield from _export(folder, subject, motion, played, copy, report, options, output)
                store_report(subject.armature, report)
            except BaseException:  # also where Esc closes this generator
                remove_parts(made)
                raise
        return report


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
    subject = read_subject(objects)
    parents = np.asarray(subject.skeleton.joints.parents)
    cuts = np.unique(find_blends(subject.skin).cuts)
    report = read_report(subject.armature)
    return BonePlan(len(parents), int((parents[cuts[cuts >= 0]] >= 0).sum()), report.bones if report else 0)


def _choose_actions(armature: bpy.types.Object, options: CopyOptions) -> list[bpy.types.Action]:
    """The actions to be copied; raises SkinningError if there is nothing to fit to."""
    found = list_seen_actions(armature)
    if options.actions is not None:
        missing = sorted(set(options.actions) - {action.name for action in found})
        if missing:
            raise SkinningError(f"No action '{missing[0]}' moves bones of '{armature.name}': choose another action")
        found = [action for action in found if action.name in options.actions]
    if not found and not options.bend:
        raise SkinningError(
            f"There is nothing to fit the copy of '{armature.name}' to: choose an action that moves its bones, or "
            "turn on Range of Motion"
        )
    return found


def _check_length(actions: Sequence[bpy.types.Action], joint_count: int) -> None:
    """Raise SkinningError if actions have more frames than there is memory for."""
    lengths = [len(list_frames(action)) for action in actions]
    most = MOST_MATRICES // joint_count
    if sum(lengths) > most:
        longest = actions[int(np.argmax(lengths))]
        raise SkinningError(
            f"The actions have {sum(lengths):,} frames, too many for a copy with {joint_count} bones; "
            f"'{longest.name}' alone has {max(lengths):,}: choose fewer actions, shorten them, or delete stray keys "
            f"far away, to get down to {most:,} frames"
        )


def read_motion(subject: CopiedCharacter, actions: Sequence[bpy.types.Action], angle: float) -> Steps[Motion]:
    """All poses; without a range of motion where actions bring patterns out, which would be missing in it.

    Raises SkinningError if there are none.
    """
    poses: list[Pose] = []
    amounts: list[list[np.ndarray]] = []
    total = sum(len(list_frames(action)) for action in actions)
    for some in read_actions(subject, actions):
        poses += some.poses
        amounts += some.amounts
        yield READ * len(poses) / total
    has_patterns = any(values.any() for frame in amounts for values in frame)
    bends = bend_joints(subject, angle) if angle and not has_patterns else []
    if not (poses or bends):
        raise SkinningError(
            f"Range of Motion finds no joint of '{subject.armature.name}' that bends the skin: animate it, or export "
            "it directly"
        )
    return Motion.of(list_clips(actions), [*poses, *bends], amounts)


def _fit(path: Path, subject: CopiedCharacter, motion: Motion, params: FitParams, progress: Progress) -> Fitted:
    """Fit a copy to its targets, which are written into a file; touches nothing of Blender's."""
    shape = write_targets(path, subject, motion, _within(progress, READ, POSED)).shape
    # mapped anew each time: what a mapping has read stays in memory as long as it
    examples = Examples(motion.matrices, lambda frames: np.array(np.memmap(path, np.float32, "r", shape=shape)[frames]))
    found = fit(subject.skin, examples, params, _within(progress, POSED, FITTED - CHECKED))
    linear = fit_linear(subject.skin, examples, params.influences)
    split = sum(len(clip.frames) for clip in motion.clips)
    frames = np.arange(split or examples.count)
    bent = np.arange(split, examples.count) if split else frames[:0]
    quiet = _within(progress, FITTED - CHECKED, FITTED - CHECKED)
    apart = measure(subject.skin, examples, found, quiet, frames)
    exported = measure(subject.skin, examples, linear, quiet, frames)
    bends = measure(subject.skin, examples, found, quiet, bent) if len(bent) else None
    progress(FITTED)
    return Fitted(found, apart, exported, bends)


def _export(
    folder: Path,
    subject: CopiedCharacter,
    motion: Motion,
    played: Sequence[Played],
    copy: Copy,
    report: Report,
    options: CopyOptions,
    output: Path | None,
) -> Steps[Report]:
    """Write the file, and complete the report by the measures of Blender's importer."""
    between = folder / "export"
    between.mkdir()
    path = output or between / f"copy{SUFFIXES[options.target][0]}"
    export = prepare_export(
        copy, motion, played, options.target, path, between, folder / TARGETS_FILE, options.influences
    )
    yield COPIED
    found = yield from within(export.run(), COPIED, 1.0 - COPIED)
    if found.lacks:  # the copy is there, and may be written elsewhere
        note = f"No file was written, because this Blender lacks {found.lacks}: export the copy from another Blender"
        return replace(report, notes=(*report.notes, note))
    report = replace(report, path=str(output or ""))
    return report if found.apart is None else measure_file(subject, motion, found, copy.scale, report)


@contextmanager
def _former_kept(armature: bpy.types.Object, target: str) -> Iterator[None]:
    """Set a former copy aside: it is removed at the end, and restored on any error."""
    former = find_copy(armature, target)
    if former is None:
        yield
        return
    layer = bpy.context.view_layer
    is_active, is_shown = layer.objects.active in list(former.objects), not is_hidden(former, layer)
    parts = read_parts(former)
    unmark(former, Tag.COPY_FOR)
    for part in find_all_again(parts).values():
        part.name = f".{part.name}"
    try:
        yield
    except BaseException:  # somebody may have deleted some of it meanwhile
        for uid, part in find_all_again(parts).items():
            part.name = parts[uid]
            if isinstance(part, bpy.types.Collection):
                mark(part, Tag.COPY_FOR, target)
        raise
    remove_parts(parts)
    layer.update()
    if is_shown:
        show_copy(armature, target, layer)
    if is_active:
        layer.objects.active = read_copy(armature, target)[0].armature


def _within(progress: Progress, start: float, end: float) -> Progress:
    """Tells a share of a part as one of all."""
    return lambda share: progress(start + share * (end - start))


def export_copy(armature: bpy.types.Object, target: str, influences: int, output: Path) -> Steps[None]:
    """Write a character's existing copy into a file, without making it anew or measuring it.

    Parameters
    ----------
    armature : Object
        Of the original.
    target : str
        Key of `TARGETS`.
    influences : int
        4 or 8.

    Yields
    ------
    As `make_engine_copy`.

    Raises
    ------
    SkinningError
        If there is no copy, or the file cannot be written.
    """
    check_path(output, target)
    copy, clips = read_copy(armature, target)
    with temporary_folder() as folder:
        motion = Motion(clips, np.empty((0, 0, 4, 4)))
        export = prepare_export(copy, motion, (), target, output, folder, folder / TARGETS_FILE, influences)
        yield from replace(export, job=export.job | {"measured": False}).run()
