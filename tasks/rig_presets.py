"""Which bones of an armature are which part of a body: by the rig presets of Supple and those of the user."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np

from ..bridge.files import read_json
from ..bridge.rest_bones import read_rest_bones
from ..bridge.user_folders import find_user_folder
from ..deformers import SkinningError
from ..deformers.anatomy.body import RestBones
from ..deformers.anatomy.presets import Rig, RigPreset, find_rig, read_preset

OWN_FOLDER = Path(__file__).parents[1] / "presets"
"""Presets that come with Supple."""

USER_FOLDER = "rig_presets"
"""Name of the folder of the user's presets, in the extension's user folder."""

_cache: dict[str, RigPreset | str] = {}
"""By path and time of change: presets, and messages on files that hold none."""


def read_presets() -> tuple[list[RigPreset], list[str]]:
    """All rig presets, and messages on the user's files that can not be read as one.

    Files of the user come first; one of the same name as one of Supple's stands in for it.
    """
    found: dict[str, RigPreset] = {}
    problems = []
    for folder in (find_user_folder(USER_FOLDER), OWN_FOLDER):
        for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
            preset = _read_file(path)
            if isinstance(preset, str):
                problems.append(preset)
            else:
                found.setdefault(path.stem, preset)
    return list(found.values()), problems


def _read_file(path: Path) -> RigPreset | str:
    key = f"{path} {path.stat().st_mtime_ns}"
    if key not in _cache:
        try:
            _cache[key] = read_preset(path.stem, read_json(path))
        except SkinningError as error:
            _cache[key] = f"'{path}' is left out. {error}"
    return _cache[key]


def find_rig_of(armature: bpy.types.Object, bones: RestBones | None = None) -> Rig | None:
    """The bones of an armature that a preset knows by their names; None where none does.

    Parameters
    ----------
    armature : Object
    bones : RestBones, optional
        Of the armature, where they were read already.
    """
    bones = read_rest_bones(armature) if bones is None else bones
    order = np.argsort(~bones.deforming, kind="stable")
    return find_rig(read_presets()[0], [bones.names[index] for index in order])
