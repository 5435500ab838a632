"""The state of the whole file, to compare before and after: that of random use, and Supple's settings."""

from __future__ import annotations

import importlib.util
import re
import warnings
from collections.abc import Callable
from typing import Any

import bpy
import pytest

from checkout import ROOT
from supple.deformers import SkinningError
from supple.settings.objects import settings_of
from supple.translations import find_code

_spec: Any = importlib.util.spec_from_file_location("file_state", ROOT / "tests" / "random" / "state.py")
_state = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_state)
evaluated_points = _state.evaluated_points


SAID = {"message", "pattern_message", "remedy", "weights_report", "pattern_count", "pattern_state"}
"""Settings that hold what was said or drawn last, or that count what was made."""


def read_state() -> dict[str, Any]:
    """Everything of the file that a user could have made, and Supple's settings, by path."""
    bpy.context.view_layer.update()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of properties that Blender is going to remove
        found = _state.dump()
        for obj in bpy.data.objects:
            settings = _state.read_values(settings_of(obj), f"{obj.name_full}.supple", 1)
            found |= {path: value for path, value in settings.items() if path.rpartition(".")[2] not in SAID}
    return found


def find_changes(before: dict[str, Any]) -> list[str]:
    """What has changed since, in words; NaN is NaN."""
    return _state.differences(before, read_state())


def refuse(words: str, call: Callable[..., object], *given: Any, **options: Any) -> None:
    """Assert that a call raises an error with these words, or this pattern of words, and changes nothing of the file.

    An error of a task has a code; an operator reports it in words, and has not failed by a bug.
    """
    before, mode = read_state(), bpy.context.mode
    with pytest.raises((SkinningError, RuntimeError)) as caught:
        call(*given, **options)
    message = str(caught.value)
    assert words in message or re.search(words, message), message
    assert "Traceback" not in message
    assert isinstance(caught.value, RuntimeError) or find_code(message), f"without a code: {message}"
    assert bpy.context.mode == mode
    changes = find_changes(before)
    assert not changes, f"refused, but changed: {changes[:5]}"
