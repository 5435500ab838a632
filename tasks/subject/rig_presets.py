"""Which bones of an armature are which part of a body: by the rig presets of Supple and those of the user."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from ...bridge.files.user_folders import find_user_folder
from ...bridge.files.writing import read_json
from ...bridge.rigs.rest_bones import read_rest_bones
from ...deformers import SkinningError
from ...deformers.anatomy.body import RestBones
from ...deformers.anatomy.landmarks import Landmark, read_landmarks
from ...deformers.anatomy.presets import Rig, RigPreset, find_rig, read_preset
from ...deformers.fit.bones import FitPreset, read_fit_preset

# Presets that come with Supple
OWN_FOLDER = Path(__file__).parents[2] / "presets"

# Name of the folder of the user's presets, in the extension's user folder
USER_FOLDER = "rig_presets"

# Names of the folders in both of them where landmarks are, and bones for fitted skeletons
LANDMARKS, FITTED = "landmarks", "fit"


def read_presets() -> tuple[list[RigPreset], list[str]]:
    """All rig presets, and messages on the user's files that cannot be read as one.

    Files of the user come first; one of the same name as one of Supple's stands in for it.
    """
    return _read_files("", read_preset)


def read_fit_presets() -> dict[str, FitPreset]:
    """The bones of the rigs that skeletons can be fitted for, by the names of their files."""
    presets, _ = _read_files(FITTED, read_fit_preset)
    return {preset.key: preset for preset in presets}


def read_all_landmarks() -> tuple[list[Landmark], list[str]]:
    """All landmarks, those of the user first, and messages on files that cannot be read."""
    files, problems = _read_files(LANDMARKS, read_landmarks)
    return [landmark for landmarks in files for landmark in landmarks], problems


def _read_files(subfolder: str, read: Callable[[str, Any], Any]) -> tuple[list[Any], list[str]]:
    found: dict[str, Any] = {}
    problems = []
    for folder in (find_user_folder(USER_FOLDER) / subfolder, OWN_FOLDER / subfolder):
        for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
            content = _read_file(path, read)
            if isinstance(content, str):
                problems.append(content)
            else:
                found.setdefault(path.stem, content)
    return list(found.values()), problems


def _read_file(path: Path, read: Callable[[str, Any], Any]) -> Any:
    return _read_changed(path, path.stat().st_mtime_ns if path.exists() else 0, read)  # a link may lead nowhere


@cache
def _read_changed(path: Path, _changed: int, read: Callable[[str, Any], Any]) -> Any:
    """Read a changed file, or return a message if it is not usable."""
    shown = Path(os.fsencode(path).decode(errors="replace"))  # as can be printed
    try:
        return read(shown.stem, read_json(path))
    except SkinningError as error:
        return f"'{shown}' was left out. {error}"


def find_rig_of(armature: bpy.types.Object, bones: RestBones | None = None) -> Rig | None:
    """The rig of the preset that knows an armature's bones by their names; None if there is none.

    `bones` (RestBones, optional): of the armature, if they were read already.
    """
    bones = read_rest_bones(armature) if bones is None else bones
    order = np.argsort(~bones.deforming, kind="stable")
    return find_rig(read_presets()[0], [bones.names[index] for index in order])
