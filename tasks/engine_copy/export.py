"""A copy as a file of a game engine's: written, read again by Blender's own importer, and measured."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...bridge.files.child import find_command
from ...bridge.files.exchange import read_scene, run_session, save_objects
from ...bridge.files.writing import check_writable, filling, replacing
from ...deformers import SkinningError
from ...deformers.engine_copy.bone_motion import without_scale
from ..steps import Steps
from .copy import Copy
from .examples import Motion
from .played import Played
from .targets import SUFFIXES, TARGETS

# Formats that Blender's own importer reads with all that a copy has
MEASURED = {"gltf", "fbx"}


@dataclass(frozen=True, eq=False)
class Reimport:
    """The file as read again.

    Attributes
    ----------
    apart : float32 array, shape (F, V), or None
        Distance of each vertex from its target in each frame of the clips, one clip after the other, in units of the
        world. A memory map of a file. None if the format is not measured.
    missing : int
        Vertices that the file lacks: those of no face.
    animations : list of str
        Names, as the importer gives them.
    keys : list of str
        Names of the file's shape keys.
    lacks : str
        The exporter that this Blender lacks; "" if the file was written.
    """

    apart: np.ndarray | None
    missing: int
    animations: list[str]
    keys: list[str]
    lacks: str = ""


@dataclass(frozen=True, eq=False)
class Export:
    """A file to be written.

    Attributes
    ----------
    folder : Path
        For files that the two Blenders exchange.
    command : list of str
        Starts the other Blender.
    job : dict
        Its job.
    """

    path: Path
    folder: Path
    command: list[str]
    job: dict[str, Any]

    def run(self) -> Steps[Reimport]:
        """Write the file, and measure it; if closed early, nothing is left behind.

        Raises
        ------
        SkinningError
            If it cannot be written.
        """
        result = yield from run_session(self.command, self.folder, self.job)
        if "lacks" in result:
            return Reimport(None, 0, [], [], result["lacks"])
        _put(Path(self.job["output"]), self.path)
        apart = None
        if "missing" in result:
            frames = sum(clip["end"] - clip["start"] + 1 for clip in self.job["clips"])
            apart = np.memmap(self.job["apart"], np.float32, "r").reshape(frames, -1)
        return Reimport(apart, result.get("missing", 0), result.get("animations", []), result.get("found_keys", []))


def check_path(path: Path, target: str) -> None:
    """Raise SkinningError if a file of a target cannot be written under a name: now, not after minutes."""
    check_writable(path)
    if target not in SUFFIXES:
        raise SkinningError(
            f"Only the VRM add-on can write {TARGETS[target]} files: make the copy without a file, select it, and "
            "export it with File > Export > VRM"
        )
    if path.suffix.lower() not in SUFFIXES[target]:
        endings = " or ".join(SUFFIXES[target])
        raise SkinningError(
            f"'{path.name}' is not a valid name for this file type: choose a name that ends in {endings}"
        )


def prepare_export(
    copy: Copy,
    motion: Motion,
    played: Sequence[Played],
    target: str,
    path: Path,
    folder: Path,
    targets: Path,
    influences: int,
) -> Export:
    """Prepare to write a copy into a file; the copy itself is not needed afterward.

    Parameters
    ----------
    motion : Motion
        Of the copy.
    target : str
        Key of `SUFFIXES`.
    path : Path
        Of the file.
    folder : Path
        Empty, for temporary files.
    targets : Path
        Target shapes from `write_targets`: float32 (F, V, 3), in the original's armature space.
    influences : int
        4 or 8.

    Raises
    ------
    SkinningError
        If the file cannot be written.
    """
    check_path(path, target)
    library, written = folder / "copy.blend", folder / "written"
    written.mkdir()
    save_objects(library, [copy.armature, *copy.meshes])
    clips = [
        {
            "name": clip.action,
            "start": clip.frames.start,
            "end": clip.frames.start + len(clip.frames) - 1,
            "first": clip.first,
            "worlds": _list_worlds(played[number] if played else None),
        }
        for number, clip in enumerate(motion.clips)
    ]
    job = {
        "format": target,
        "library": str(library),
        "objects": [obj.name for obj in (copy.armature, *copy.meshes)],
        "names": copy.originals,
        "scene": read_scene(),
        "output": str(written / path.with_suffix(path.suffix.lower()).name),
        "influences": influences,
        "clips": clips,
        "measured": target in MEASURED,
        "targets": str(targets),
        "apart": str(folder / "apart"),
        "scale": copy.scale,
        "world": copy.world.tolist(),
        "correctives": copy.correctives,
    }
    return Export(path, folder, find_command(), job)


def _list_worlds(played: Played | None) -> list[Any]:
    """Matrices of the copy's armature in each frame; none if it does not move."""
    return [] if played is None or played.worlds is None else without_scale(played.worlds).tolist()


def _put(written: Path, path: Path) -> None:
    """Move the written files into place: textures and the like first, so that the main file is whole when it
    appears."""
    for other in sorted(written.parent.iterdir()):
        if other.is_dir():
            with filling(path.parent / other.name) as folder:
                for file in other.iterdir():
                    shutil.copyfile(file, folder / file.name)
        elif other != written:
            with replacing(path.parent / other.name) as beside:
                shutil.copyfile(other, beside)
    with replacing(path) as beside:
        shutil.copyfile(written, beside)
