"""A folder of point caches, played by the objects of the open file that they were baked of."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import bpy

from ...bridge.files import read_json
from ...bridge.point_caches import CacheHeader, open_cache
from ...deformers import SkinningError
from ...settings.objects import settings_of
from ..frames import describe_frames
from ..skin.baked import find_live_modifier, show_caches
from ..stack import check_not_linked

KEYS = {"object", "points", "frames"}
"""Of the JSON file beside a cache: what it is a cache of."""


@dataclass(frozen=True)
class Applied:
    """What plays caches now.

    Attributes
    ----------
    frames : dict of str: list of range
        Of each object, by its name.
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
            f"'{name}' has no cache: where Supple is not installed, its Armature modifier deforms it. Bake it, too"
            for name in self.live
        ]


def apply_caches(names: Collection[str] | None, folder: Path) -> Applied:
    """Have objects play their caches through Mesh Cache modifiers, instead of live by Supple or an Armature modifier.

    Parameters
    ----------
    names : collection of str or None
        Of objects; if None, all that the folder has caches of.
    folder : Path
        Holds PC2 files, and beside each a JSON file that says what it is a cache of.

    Raises
    ------
    SkinningError
        Where a cache is missing, cut, or not of these objects; nothing is changed then.
    """
    found = _find_caches(folder.resolve())
    if not found:
        raise SkinningError(f"There are no caches with their JSON files in '{folder}': join the parts into it first")
    for name in names or ():
        if name not in found:
            raise SkinningError(f"There is no cache of '{name}' in '{folder}': choose one of {', '.join(found)}")
    chosen = {name: caches for name, caches in found.items() if not names or name in names}
    objects = [_check(name, caches) for name, caches in chosen.items()]
    for obj, caches in zip(objects, chosen.values(), strict=True):
        show_caches(obj, caches)
    live = [obj.name for obj in bpy.context.scene.objects if _is_live(obj)]
    return Applied({name: [header.frames for _, header in caches] for name, caches in chosen.items()}, live)


def _find_caches(folder: Path) -> dict[str, list[tuple[Path, CacheHeader]]]:
    """The caches in a folder with their headers, by object, in the order of their frames."""
    found: dict[str, list[tuple[Path, CacheHeader]]] = {}
    for path in _list_folder(folder):
        described = read_json(path)
        if described.keys() >= KEYS:
            cache = path.with_suffix(".pc2")
            found.setdefault(str(described["object"]), []).append((cache, _read_header(cache, described)))
    for name, caches in found.items():
        caches.sort(key=lambda cache: cache[1].frame_start)
        for (first, before), (second, after) in pairwise(caches):
            if before.frame_end >= after.frame_start:
                raise SkinningError(
                    f"The frames of '{first.name}' and '{second.name}' overlap: bake '{name}' in ranges that follow on "
                    "each other"
                )
    return found


def _list_folder(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".json")
    except OSError as error:
        raise SkinningError(f"Cannot read '{folder}' ({error.strerror}): check the path") from error


def _read_header(cache: Path, described: dict[str, Any]) -> CacheHeader:
    """The header of a cache; raises SkinningError where the file is not whole, or not what its JSON file says."""
    if not cache.exists():
        raise SkinningError(f"'{cache.name}' is missing beside its JSON file in '{cache.parent}': join the parts again")
    with open_cache(cache) as (header, _):
        pass
    said = described["points"], described["frames"]
    if said != (header.point_count, [header.frame_start, header.frame_end, header.frame_step]):
        raise SkinningError(
            f"'{cache.name}' has other points or frames than its JSON file says: join the parts again, into an empty "
            "folder"
        )
    return header


def _check(name: str, caches: list[tuple[Path, CacheHeader]]) -> bpy.types.Object:
    """The object of a name, which can play these caches; raises SkinningError where there is none."""
    obj = bpy.data.objects.get(name)
    if obj is None or obj.type != "MESH":
        raise SkinningError(
            f"There is a cache of '{name}', but no mesh of that name in the file: open the file that was baked, or "
            "choose others with --object"
        )
    check_not_linked(obj)
    for path, header in caches:
        if header.point_count != len(obj.data.vertices):
            raise SkinningError(
                f"'{path.name}' has {header.point_count} points, but '{name}' has {len(obj.data.vertices)} vertices: "
                "bake it again"
            )
    find_live_modifier(obj)
    return obj


def _is_live(obj: bpy.types.Object) -> bool:
    settings = settings_of(obj)
    return obj.type == "MESH" and settings.is_bound and (settings.evaluate, settings.bake) == ("PYTHON", "NONE")
