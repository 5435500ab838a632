"""Parts of bakes joined: the bytes of one bake, or a message that names all that is missing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from ...bridge.files.point_caches import CacheHeader, DamagedError, Piece, join_pieces
from ...bridge.files.writing import make_folder
from ...deformers import SkinningError
from ..subject.frames import describe_frames
from .inputs import Inputs
from .parts import Part, name_part

# Part names in one message
MOST_NAMES = 8


@dataclass
class Plan:
    """The files to join from parts with the same inputs.

    Attributes
    ----------
    files : dict of Part to list of Piece
        The pieces of each file.
    missing : dict of str to list of range
        Frames that no part holds, by the name of their object.
    """

    files: dict[Part, list[Piece]] = field(default_factory=dict)
    missing: dict[str, list[range]] = field(default_factory=dict)


def join_parts(folder: Path, frames: Sequence[range], output: Path, expected: Inputs | None = None) -> list[Part]:
    """Join the parts in a folder: for each object a PC2 file for each range of frames, and its JSON file.

    Parts may have been cut in any way: of those that hold a frame, the longest gives it. Digests are checked as parts
    are read; frames of a damaged part are taken from other parts. Raises SkinningError if frames are missing, naming
    all of them; if several bakes are whole; if a file cannot be read or written.

    Parameters
    ----------
    folder, output : Path
        `output` is made if its parent is there.
    expected : Inputs, optional
        What parts must be made from; if not given, all that are used are made from the same.

    Returns
    -------
    list of Part
        The written files.
    """
    parts, damaged = _read_parts(folder)
    while True:
        plan = _choose_plan(parts, damaged, frames, folder, expected)
        make_folder(output)
        try:
            return [_join_file(part, pieces, output) for part, pieces in plan.files.items()]
        except DamagedError:
            broken = {part.name for part in parts if not part.is_whole(folder)}
            damaged |= broken
            parts = [part for part in parts if part.name not in broken]
            if not broken:
                raise


def _read_parts(folder: Path) -> tuple[list[Part], set[str]]:
    """The parts in a folder, as their JSON files describe them, and the names of those that are not whole."""
    try:
        paths = sorted(folder.iterdir())
        sizes = {path.name: path.stat().st_size for path in paths if path.suffix == ".pc2" and path.is_file()}
    except OSError as error:
        raise SkinningError(f"Cannot read '{folder}' ({error.strerror}): check the path") from error
    found = [part for path in paths if path.suffix == ".json" and (part := Part.read(path)) is not None]
    if not found:
        raise SkinningError(f"'{folder}' contains no parts of a bake: bake some with --part, or check the path")
    whole = [part for part in found if sizes.get(part.cache_in(folder).name) == part.size]
    return whole, {part.name for part in found} - {part.name for part in whole}


def _join_file(part: Part, pieces: list[Piece], output: Path) -> Part:
    header = CacheHeader.of(part.points, part.frames)
    joined = join_pieces(pieces, header, part.cache_in(output))
    part = replace(part, size=joined.size, sha256=joined.sha256)
    part.write(output)
    return part


# Which parts


def _choose_plan(
    parts: Sequence[Part], damaged: Collection[str], frames: Sequence[range], folder: Path, expected: Inputs | None
) -> Plan:
    """The plan that lacks nothing; raises SkinningError if there is none, or more than one."""
    kinds = {part.inputs for part in parts} if expected is None else {expected}
    plans = {kind: _plan([part for part in parts if part.inputs == kind], frames, folder) for kind in kinds}
    whole = [kind for kind, plan in plans.items() if plan.files and not plan.missing]
    if len(whole) > 1:
        described = " or ".join(sorted(kind.describe() for kind in whole))
        raise SkinningError(f"'{folder}' contains {len(whole)} bakes: choose one with --expect {described}")
    if whole:
        return plans[whole[0]]
    best = min(kinds, key=lambda kind: sum(map(_count, plans[kind].missing.values())), default=None)
    missing = plans[best].missing if best is not None else {}
    others = [part for part in parts if part.inputs != best]
    raise SkinningError(_describe_missing(folder, missing, damaged, others))


def _describe_missing(
    folder: Path, missing: dict[str, list[range]], damaged: Collection[str], others: Sequence[Part]
) -> str:
    listed = "; ".join(f"'{name}' {describe_frames(ranges)}" for name, ranges in missing.items())
    text = f"Frames are missing in '{folder}': {listed or 'all'}"
    if damaged:
        text += f"; changed since they were baked: {_list_names(damaged)}"
    if others:
        text += f"; made with another file, Supple or Blender: {_list_names([part.name for part in others])}"
    return f"{text}. Bake what is missing with --part, then join again"


def _list_names(names: Collection[str]) -> str:
    """The first names, in their order, and how many there are besides."""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(sorted(names)[:MOST_NAMES]) + more


def _plan(parts: Sequence[Part], frames: Sequence[range], folder: Path) -> Plan:
    """Plan the files of parts with the same inputs, for all objects of the bake."""
    plan = Plan()
    stems = sorted({stem for part in parts for stem in part.objects})
    for stem in stems:
        own = [part for part in parts if part.stem == stem]
        covers = [
            _cover([part for part in own if part.made_with() == made_with], frames, folder)
            for made_with in sorted({part.made_with() for part in own})
        ]
        whole = [files for files, missing in covers if not missing]
        if len(whole) > 1:
            raise SkinningError(
                f"'{folder}' contains {len(whole)} bakes of '{own[0].object}', with different methods or settings: "
                "bake into another folder"
            )
        if whole:
            plan.files |= {replace(part, objects=tuple(stems)): pieces for part, pieces in whole[0].items()}
        else:
            lacks = (missing for _, missing in covers)
            plan.missing[own[0].object if own else stem] = min(lacks, key=_count, default=list(frames))
    return plan


def _count(ranges: Iterable[range]) -> int:
    return sum(map(len, ranges))


def _cover(parts: Sequence[Part], frames: Sequence[range], folder: Path) -> tuple[dict[Part, list[Piece]], list[range]]:
    """Files that cover the frames, each joined from pieces of parts of one object, and the frames that no part
    holds."""
    owners: dict[int, Part] = {}
    for part in sorted(parts, key=lambda part: len(part.frames)):
        owners.update(dict.fromkeys(part.frames, part))
    files, missing = {}, []
    for wanted in frames:
        pieces = []
        for part, run in groupby(wanted, key=owners.get):
            first, *others = run
            last = others[-1] if others else first
            if part is None:
                missing.append(range(first, last + 1, wanted.step))
                continue
            start, stop = part.frames.index(first), part.frames.index(last) + 1
            step = max(1, wanted.step // part.frames.step)
            pieces.append(Piece(part.cache_in(folder), range(start, stop, step), part.sha256))
        whole = parts[0]
        name = whole.stem if len(frames) == 1 else name_part(whole.stem, wanted)
        files[replace(whole, name=name, frames=wanted)] = pieces
    return files, missing
