"""Fit a copy to its character, and compute all that is written of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...bridge.files.temporary import writing_temporary
from ...bridge.names import free_name, name_within
from ...bridge.owned import Tag
from ...bridge.rigs.armatures import Skeleton
from ...deformers import Pose, SkinningError
from ...deformers.engine_copy import CopyFit, Differences, Examples, FitParams, fit, fit_linear, measure
from ...deformers.engine_copy.bone_motion import BoneMotion, find_bone_motion, without_scale
from ...deformers.layers.keep import keep_apart
from ..left_out import describe_left_out
from ..steps import Progress, Steps
from .report import Apart, Report
from .source import CopySource, Part
from .targets import TARGETS

MILLI = 1000.0

# Shares of all that are done when the actions are read, the targets computed, the copy is fitted, and both are compared
READ, POSED, FITTED, CHECKED = 0.02, 0.12, 0.78, 0.8

# Of vertices from the origin of the armature, in sizes of the largest other mesh: float32 holds no more to fit to
FARTHEST = 1e5

# Shortest bone that is made for a joint without length, in sizes of the skeleton
SHORTEST = 0.01


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit and its measures.

    Attributes
    ----------
    refused : mapping of str
        Why meshes cannot be posed, by name: the fit is without these.
    apart, linear : Differences
        In the actions, or in the range of motion if there are none: with the fit, and as exporters write the
        character itself.
    bends : Differences or None
        In the range of motion, if there are actions, too.
    """

    refused: Mapping[str, str]
    fit: CopyFit
    apart: Differences
    linear: Differences
    bends: Differences | None


@dataclass(frozen=True, eq=False)
class CopyPlan:
    """All that is written of a copy.

    Attributes
    ----------
    source : CopySource
        Without meshes that cannot be posed.
    names, lengths : list of str, float array, shape (N,)
        Bones of the joints, and then of the helpers.
    rests, moves : float arrays, shapes (N, 4, 4) and (F, N, 4, 4)
        At rest, and from rest to pose in each example, in the copy's armature space.
    bones : BoneMotion
        Their motion in each example.
    correctives : list of str
        Names of the corrective keys.
    report : Report
        As computed.
    """

    source: CopySource
    fit: CopyFit
    names: list[str]
    lengths: np.ndarray
    rests: np.ndarray
    moves: np.ndarray
    bones: BoneMotion
    correctives: list[str]
    report: Report


def plan_copy(source: CopySource) -> Steps[CopyPlan]:
    """Fit a copy, and plan its bones; raises SkinningError if no mesh can be posed, or the disk is full."""
    fitted = yield partial(fit_source, source)
    return lay_out(source.without(fitted.refused), fitted)


def fit_source(source: CopySource, progress: Progress) -> Fitted:
    """Fit a copy to its targets, which are written into a file; touches nothing of Blender's."""
    refused: dict[str, str] = {}
    while found := write_targets(source := source.without(refused), _within(progress, READ, POSED)):
        refused |= found
    skin, options = source.character.skin, source.options
    params = FitParams(
        tolerance=options.tolerance * MILLI / source.character.millimeters,
        influences=options.influences,
        helpers=options.helpers,
        keys=options.keys,
        uses_rules=options.target == "vrm",
    )
    examples = read_examples(source)
    found = fit(skin, examples, params, _within(progress, POSED, FITTED))
    linear = fit_linear(skin, examples, params.influences)
    split = sum(len(clip.frames) for clip in source.clips)
    frames = np.arange(split or examples.count)
    bent = np.arange(split, examples.count) if split else frames[:0]
    quiet = _within(progress, FITTED, FITTED)
    apart = measure(skin, examples, found, quiet, frames)
    exported = measure(skin, examples, linear, quiet, frames)
    bends = measure(skin, examples, found, quiet, bent) if len(bent) else None
    progress(CHECKED)
    return Fitted(refused, found, apart, exported, bends)


def _within(progress: Progress, start: float, end: float) -> Progress:
    """Tells a share of a part as one of all."""
    return lambda share: progress(start + share * (end - start))


def read_examples(source: CopySource) -> Examples:
    """The examples with targets that were written: mapped anew each time, or all that is read would stay in memory."""
    shape = len(source.matrices), len(source.character.skin.points), 3
    return Examples(
        source.matrices, lambda frames: np.array(np.memmap(source.targets, np.float32, "r", shape=shape)[frames])
    )


def write_targets(source: CopySource, progress: Progress) -> dict[str, str]:
    """Compute the character in all examples, into its file of targets.

    Returns why meshes cannot be posed, by name; the file is not whole then. Raises SkinningError if it cannot be
    written.
    """
    parts, count = source.character.parts, len(source.matrices)
    farthest = _find_farthest(parts)
    with writing_temporary(), source.targets.open("wb") as stream:
        for example, matrices in enumerate(source.matrices):
            pose = Pose(matrices, hints=None if source.hints is None else source.hints[example])
            posed, refused = {}, {}
            for number, part in enumerate(parts):
                amounts = source.amounts[example][number] if example < len(source.amounts) else np.zeros(0)
                try:
                    posed[part.name] = part.deform(pose, amounts)
                except SkinningError as error:
                    refused[part.name] = str(error)
                    continue
                if not np.abs(posed[part.name]).max(initial=0.0) <= farthest[number]:  # also where one is no number
                    refused[part.name] = _describe_far(part, *source.find(example))
            if refused:
                return refused
            for points in keep_apart(source.character.kept, posed, matrices).values():
                stream.write(points.astype(np.float32).tobytes())
            progress((example + 1) / count)
    return {}


def _find_farthest(parts: Sequence[Part]) -> list[float]:
    """How far vertices of each mesh may be from the armature's origin: far ones make their own mesh large."""
    sizes = [float(np.linalg.norm(np.ptp(part.rest.armature_points, axis=0))) for part in parts]
    others = [max([*sizes[:number], *sizes[number + 1 :]], default=0.0) for number in range(len(parts))]
    return [FARTHEST * (other or own or 1.0) for other, own in zip(others, sizes, strict=True)]


def _describe_far(part: Part, action: str, frame: int) -> str:
    where = f"frame {frame} of action '{action}'" if action else "range of motion"
    return (
        f"'{part.name}' is too far from its armature's origin ({where}) for an accurate result: check "
        "the scale and location of its bones, their drivers, and the locations of the objects"
    )


def lay_out(source: CopySource, fitted: Fitted) -> CopyPlan:
    """Plan the bones and the report of a fit; the source is without refused meshes."""
    character, found = source.character, fitted.fit
    joints, scale = character.skeleton.joints, character.scale
    rests = without_scale(np.linalg.inv(character.skeleton.rest_inverses))
    lengths = np.maximum(joints.lengths, SHORTEST * float(np.ptp(joints.centers, axis=0).max(initial=0.0)) or SHORTEST)
    of_helpers = np.array([helper.joint for helper in found.helpers], np.intp)
    helpers = rests[of_helpers]
    if found.helpers:
        helpers[:, :3, 3] = [helper.center for helper in found.helpers]
    rests = _scaled(np.concatenate([rests, helpers]), scale)
    parents = np.concatenate([joints.parents, [helper.base for helper in found.helpers]]).astype(np.intp)
    moves = _scaled(np.concatenate([source.matrices, found.helper_matrices], axis=1), scale)
    names = _name_bones(character.skeleton, found)
    return CopyPlan(
        source=source,
        fit=found,
        names=names,
        lengths=scale * np.concatenate([lengths, 0.5 * lengths[of_helpers]]),
        rests=rests,
        moves=moves,
        bones=find_bone_motion(rests, parents, moves @ rests),
        correctives=_name_correctives(names, found, {key for part in character.parts for key in part.keys}),
        report=_describe(source, fitted),
    )


def _scaled(matrices: np.ndarray, scale: float) -> np.ndarray:
    """Matrices, shape (..., 4, 4), in a space of another scale."""
    result = np.array(matrices, np.float64)
    result[..., :3, 3] *= scale
    return result


def _name_bones(skeleton: Skeleton, fit: CopyFit) -> list[str]:
    """Names of the copy's bones, those of the joints and then those of the helpers; each differs from the others."""
    names: list[str] = []

    def add(base: str, ending: str) -> None:
        names.append(free_name(name_within(base, ending), {*names, *skeleton.names}))

    for bone, count in zip(skeleton.names, skeleton.joint_counts.tolist(), strict=True):
        names.append(bone)
        for part in range(1, count):
            add(bone, f"_bend_{part}")
    counts: dict[int, int] = {}
    for helper in fit.helpers:
        counts[helper.joint] = counts.get(helper.joint, 0) + 1
        add(names[helper.joint], f"_twist_{counts[helper.joint]}")
    return names


def _name_correctives(bones: Sequence[str], fit: CopyFit, keys: set[str]) -> list[str]:
    """Names of the corrective keys, by the bones that drive them; each differs from all keys of the originals."""
    counts: dict[int, int] = {}
    names: list[str] = []
    for key in fit.keys:
        counts[key.joint] = counts.get(key.joint, 0) + 1
        base = name_within(bones[key.joint], f"_corrective_{counts[key.joint]}")
        names.append(free_name(base, {Tag.COPY_OF, *keys, *names}))
    return names


def _describe(source: CopySource, fitted: Fitted) -> Report:
    """The report on a copy that no file was measured of."""
    character, options, found = source.character, source.options, fitted.fit
    apart = find_apart(source, fitted.apart)
    return Report(
        character=character.armature.name,
        target=options.target,
        label=TARGETS[options.target],
        influences=options.influences,
        bones=len(character.skeleton.joints.parents) + len(found.helpers),
        helpers=len(found.helpers),
        keys=len(found.keys),
        actions=tuple(clip.action for clip in source.clips),
        frames=sum(len(clip.frames) for clip in source.clips),
        apart=apart,
        measured="copy",
        copy=apart,
        linear=find_apart(source, fitted.linear),
        bends=None if fitted.bends is None else find_apart(source, fitted.bends),
        tolerance=MILLI * options.tolerance,
        notes=tuple(
            f"Left out, because no engine supports it: {name}" for part in character.parts for name in part.lost
        ),
        left_out=describe_left_out(character.left_out),
    )


def find_apart(source: CopySource, differences: Differences) -> Apart:
    """Differences in millimeters, with names."""
    action, frame = source.find(differences.frame)
    joint, millimeters = differences.joint, source.character.millimeters
    return Apart(
        largest=millimeters * differences.largest,
        most=millimeters * differences.most,
        rms=millimeters * differences.rms,
        bone=source.character.skeleton.name_joint(joint) if joint >= 0 else "",
        action=action,
        frame=frame,
    )
