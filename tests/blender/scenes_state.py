"""The state of the whole file, to compare before and after: that of random use, and Supple's settings."""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any

import bpy

from checkout import ROOT
from supple.settings.objects import settings_of

_spec: Any = importlib.util.spec_from_file_location("file_state", ROOT / "tests" / "random" / "state.py")
_state = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_state)
evaluated_points = _state.evaluated_points


SAID = {"message", "pattern_message", "remedy", "weights_report"}
"""Settings that hold what was said last."""


def read_state() -> dict[str, Any]:
    """Everything of the file that a user could have made, and Supple's settings, by path."""
    bpy.context.view_layer.update()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of properties that Blender is going to remove
        found = _state.dump()
        for obj in bpy.data.objects:
            settings = dict(_state.read_values(settings_of(obj), f"{obj.name_full}.supple", 1))
            found |= {path: value for path, value in settings.items() if path.rpartition(".")[2] not in SAID}
    return found


def find_changes(before: dict[str, Any]) -> list[str]:
    """What has changed since, in words; NaN is NaN."""
    now = read_state()
    before = {
        path: now[path] if path in now and repr(now[path]) == repr(value) else value for path, value in before.items()
    }
    return _state.differences(before, now)
