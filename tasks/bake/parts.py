"""Files of bakes by several processes: which belong together, which are whole, and which are missing.

Beside each PC2 file stands a small JSON file of the same name, written after it: the content of the file and its
inputs. Only a PC2 file that agrees with its JSON file counts, so the remains of a killed process do not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import bpy

from ...bridge.files.point_caches import CacheHeader, HashedStream
from ...bridge.files.writing import digest_file, make_folder, open_replacing, read_json
from ...deformers import SkinningError
from ..subject.frames import frame_range
from .caches import write_caches
from .inputs import Inputs


@dataclass(frozen=True)
class Part:
    """A PC2 file of a bake, as its JSON file describes it.

    Attributes
    ----------
    name : str
        Name of both files, without their endings.
    object : str
        Whose points are in it.
    stem : str
        The name of the object, as files may be called.
    inputs : Inputs
        Inputs of the bake.
    choices : tuple of str
        The method and its choices, as options of the command line; none if they are those of the file.
    objects : tuple of str
        The stems of all objects that were to be baked.
    sha256 : str
        Bytes of the PC2 file, and their digest.
    """

    name: str
    object: str
    stem: str
    points: int
    frames: range
    inputs: Inputs
    choices: tuple[str, ...]
    objects: tuple[str, ...]
    size: int = 0
    sha256: str = ""

    def cache_in(self, folder: Path) -> Path:
        """The PC2 file."""
        return folder / f"{self.name}.pc2"

    def write(self, folder: Path) -> None:
        """Write the JSON file; raises SkinningError if that is not possible."""
        described: dict[str, Any] = {
            "object": self.object,
            "stem": self.stem,
            "points": self.points,
            "frames": [self.frames[0], self.frames[-1], self.frames.step],
            "inputs": {name: value for name, value in asdict(self.inputs).items() if name != "missing"},
            "choices": self.choices,
            "objects": self.objects,
            "size": self.size,
            "sha256": self.sha256,
        }
        with open_replacing(folder / f"{self.name}.json", follows_link=False) as stream:
            stream.write(json.dumps(described, indent=2).encode())

    @classmethod
    def read(cls, path: Path) -> Part | None:
        """Read a JSON file; None if `write` has not written it."""
        found = read_json(path)
        try:
            first, last, step = found.pop("frames")
            part = cls(
                name=path.stem,
                frames=frame_range(first, last, step),
                inputs=Inputs.parse(Inputs(**found.pop("inputs")).describe()),
                choices=tuple(map(str, found.pop("choices"))),
                objects=tuple(map(str, found.pop("objects"))),
                **found,
            )
            is_sound = all(isinstance(text, str) for text in (part.object, part.stem, part.sha256))
            is_sound = is_sound and isinstance(part.points, int)
            is_sound = is_sound and part.size == CacheHeader.of(part.points, part.frames).size
            is_sound = is_sound and part.name in (part.stem, name_part(part.stem, part.frames))
        except (KeyError, TypeError, ValueError, SkinningError):
            return None
        return part if is_sound else None

    def is_whole(self, folder: Path) -> bool:
        """Read the PC2 file: whether it is as it was baked."""
        try:
            return digest_file(self.cache_in(folder)) == self.sha256
        except OSError:
            return False

    def is_there(self, folder: Path) -> bool:
        """Whether this part was baked before, of the same inputs, and is whole."""
        found = Part.read(folder / f"{self.name}.json")
        if found is None or replace(self, objects=found.objects, size=found.size, sha256=found.sha256) != found:
            return False
        if self.made_with() != found.made_with() or not found.is_whole(folder):
            return False
        if found.objects != self.objects:  # whoever joins has to know of all
            replace(found, objects=self.objects).write(folder)
        return True

    def made_with(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The choices, and the objects that were bound by them: one may follow another."""
        return self.choices, self.objects if self.choices else ()


def name_part(stem: str, frames: range) -> str:
    """The name of a part, with its frames; Windows allows no colon there."""
    return f"{stem}_{frames[0]}-{frames[-1]}" + f"x{frames.step}" * (frames.step != 1)


def name_stems(objects: Sequence[bpy.types.Object]) -> dict[bpy.types.Object, str]:
    """The names of objects, as files may be called; raises SkinningError if two would share one."""
    stems: dict[bpy.types.Object, str] = {}
    for obj in objects:
        stem = bpy.path.clean_name(obj.name)
        for other, taken in stems.items():
            if taken.casefold() == stem.casefold():  # Windows takes them for one
                raise SkinningError(
                    f"'{other.name}' and '{obj.name}' would share the file '{stem}': rename one of them"
                )
        stems[obj] = stem
    return stems


def name_caches(objects: Sequence[bpy.types.Object], output: Path) -> dict[bpy.types.Object, Path]:
    """The PC2 file of each mesh: `output` itself if it is one, else a file in this folder, which is made."""
    if output.suffix.lower() == ".pc2":
        if len(objects) > 1:
            raise SkinningError(f"{len(objects)} meshes do not fit into the file '{output}': choose a folder")
        return {objects[0]: output}
    make_folder(output)
    return {obj: output / f"{stem}.pc2" for obj, stem in name_stems(objects).items()}


def plan_parts(
    objects: Sequence[bpy.types.Object], frames: range, inputs: Inputs, choices: Sequence[str], is_part: bool
) -> dict[bpy.types.Object, Part]:
    """The parts to bake, one for each object; sizes and digests are not known yet.

    Raises SkinningError if two objects would share a file.

    Parameters
    ----------
    inputs : Inputs
        Of the open file.
    choices : sequence of str
        As options of the command line.
    is_part : bool
        Whether names of files say which frames are in them.
    """
    stems = name_stems(objects)
    return {
        obj: Part(
            name=name_part(stem, frames) if is_part else stem,
            object=obj.name,
            stem=stem,
            points=len(obj.data.vertices),
            frames=frames,
            inputs=inputs,
            choices=tuple(choices),
            objects=tuple(sorted(stems.values())),
        )
        for obj, stem in stems.items()
    }


def bake_parts(parts: Mapping[bpy.types.Object, Part], scene: bpy.types.Scene, folder: Path) -> Iterator[int]:
    """Bake parts of the same frames in one pass, and yield how many frames are done.

    Raises SkinningError if an object cannot be deformed, or a file not be written. Then nothing counts as baked that is
    not whole.
    """
    (frames,) = {part.frames for part in parts.values()}
    with ExitStack() as files:
        caches = {obj: open_replacing(part.cache_in(folder), follows_link=False) for obj, part in parts.items()}
        streams = {obj: HashedStream(files.enter_context(cache)) for obj, cache in caches.items()}
        yield from write_caches(streams, scene, frames)
    for obj, part in parts.items():
        replace(part, size=streams[obj].size, sha256=streams[obj].sha256).write(folder)
