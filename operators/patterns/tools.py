"""Tools that follow the mouse for the patterns of a mesh."""

from __future__ import annotations

from typing import cast

import bpy

from ...settings.character import find_pattern_mesh
from ...settings.objects import settings_of
from ...settings.patterns import PatternSettings
from ...tasks.patterns.edit import check_index
from ...viewport.pattern_view import PatternView
from ..mouse_tools import ModalTool, needs_mode
from .library import OnePatternOperator, needs_mesh, needs_pattern


class PatternTool(OnePatternOperator, ModalTool):
    """Mix-in for tools on the patterns of a mesh."""

    requires = (needs_mesh, needs_pattern, needs_mode)

    def prepare(self, context: bpy.types.Context) -> None:
        self._obj = cast(bpy.types.Object, find_pattern_mesh(context))
        self._settings = settings_of(self._obj)
        check_index(self._obj, self._settings.active_pattern)
        self._scene = PatternView(self._obj)
        self.begin(context)
        self._began.enter_context(self._scene.keep_rest())

    @property
    def pattern(self) -> PatternSettings:
        """The active pattern."""
        return self._scene.pattern
