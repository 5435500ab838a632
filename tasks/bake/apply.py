"""A folder of point caches, played by the objects of the open file that they were baked of."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import bpy

from ...bridge.files.point_caches import CacheHeader, open_cache
from ...deformers import SkinningError
from ...settings.objects import settings_of
from ..skin.baked import find_live_modifier, show_caches
from ..subject.frames import describe_frames
from ..subject.stack import check_not_linked
from .parts import Part


@dataclass(frozen=True)
class Applied:
    """The objects that play caches.

    Attributes
    ----------
    frames : dict of str: list of range
        Frames of each object, by its name.
    live : list of str
        Bound objects that have no cache, and are deformed by Supple's Python.
    """

    frames: dict[str, list[range]]
    live: list[str]

    def describe(self) -> list[str]:
        """A line for each object that plays a cache."""
        return [f"{name}: frames {describe_frames(ranges)}" for name, ranges in self.frames.items()]

    def describe_missing(self) -> list[str]:
        """A line for each object that will look different where Supple is not installed."""
        return [
            f"'{name}' has no cache: on machines without Supple, its Armature modifier deforms it. Bake it as well"
            for name in self.live
        ]


def apply_caches(names: Collection[str] | None, folder: Path) -> Applied:
    """Have objects play their caches through Mesh Cache modifiers, instead of live by Supple or an Armature modifier.

    Raises SkinningError if a cache is missing, cut, or not of these objects; nothing is changed then.

    Parameters
    ----------
    names : collection of str or None
        Of objects; if None, all that the folder has caches of.
    folder : Path
        Holds PC2 files, and beside each a JSON file that says what it is a cache of.
    """
    found = _find_parts(folder.resolve())
    for name in names or ():
        if name not in found:
            raise SkinningError(f"There is no cache of '{name}' in '{folder}': choose one of {', '.join(found)}")
    chosen = {name: parts for name, parts in found.items() if not names or name in names}
    if not names:
        _check_complete(found, folder)
    caches = {_check_object(name, parts): _open_parts(parts, folder.resolve()) for name, parts in chosen.items()}
    for obj, own in caches.items():
        show_caches(obj, own)
    live = [obj.name for obj in bpy.context.scene.objects if _is_live(obj)]
    return Applied({name: [part.frames for part in parts] for name, parts in chosen.items()}, live)


def _find_parts(folder: Path) -> dict[str, list[Part]]:
    """The parts in a folder by object, in order of frames; raises SkinningError if there are none, or if some
    overlap."""
    try:
        read = [Part.read(path) for path in folder.iterdir() if path.suffix == ".json"]
    except OSError as error:
        raise SkinningError(f"Cannot read '{folder}' ({error.strerror}): check the path") from error
    found: dict[str, list[Part]] = {}
    for part in sorted(filter(None, read), key=lambda part: (part.object, part.frames[0])):
        found.setdefault(part.object, []).append(part)
    if not found:
        raise SkinningError(f"There are no caches with their JSON files in '{folder}': join the parts into it first")
    for name, parts in found.items():
        for first, second in pairwise(parts):
            if first.frames[-1] >= second.frames[0]:
                raise SkinningError(
                    f"The frames of '{first.name}.pc2' and '{second.name}.pc2' overlap: remove older files, or bake "
                    f"'{name}' in consecutive ranges"
                )
    return found


def _check_complete(found: dict[str, list[Part]], folder: Path) -> None:
    """Raise SkinningError if there is no cache of an object that was baked together with others."""
    stems = {part.stem for parts in found.values() for part in parts}
    missing = sorted({stem for parts in found.values() for part in parts for stem in part.objects} - stems)
    if missing:
        raise SkinningError(
            f"'{folder}' has no cache of {', '.join(missing)} that was baked with the others: join the parts again, "
            "or choose meshes with --object"
        )


def _open_parts(parts: list[Part], folder: Path) -> list[tuple[Path, CacheHeader]]:
    """The PC2 files with their headers; raises SkinningError if one is not whole, or not what its JSON file says."""
    opened = []
    for part in parts:
        cache = part.cache_in(folder)
        if not cache.exists():
            raise SkinningError(f"'{cache.name}' is missing next to its JSON file in '{folder}': join the parts again")
        with open_cache(cache) as (header, _):
            opened.append((cache, header))
        if header != CacheHeader.of(part.points, part.frames):
            raise SkinningError(
                f"'{cache.name}' does not match the points or frames in its JSON file: join the parts again, into an "
                "empty folder"
            )
    return opened


def _check_object(name: str, parts: list[Part]) -> bpy.types.Object:
    """The object of a name, which can play these caches; raises SkinningError if there is none."""
    obj = bpy.data.objects.get(name)
    if obj is None or obj.type != "MESH":
        raise SkinningError(
            f"There is a cache of '{name}', but the file has no mesh of that name: open the file that was baked, or "
            "choose other meshes with --object"
        )
    check_not_linked(obj)
    for part in parts:
        if part.points != len(obj.data.vertices):
            raise SkinningError(
                f"'{part.name}.pc2' has {part.points} points, but '{name}' has {len(obj.data.vertices)} vertices: bake "
                "it again"
            )
    find_live_modifier(obj)
    return obj


def _is_live(obj: bpy.types.Object) -> bool:
    settings = settings_of(obj)
    return obj.type == "MESH" and settings.is_bound and (settings.evaluate, settings.bake) == ("PYTHON", "NONE")
