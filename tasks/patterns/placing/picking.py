"""Which objects' patterns are worked on, and which of them covers a point of the skin."""

from __future__ import annotations

import bpy

from ....bridge.meshes.rays import read_posed_skin
from ....deformers import SkinningError
from ....deformers.patterns.picking import PosedSkin, covers
from ....deformers.patterns.surface_points import SurfacePoint
from ....settings.objects import settings_of
from ...subject.character import list_deformed
from ..layout import MeshCharts, make_chart


def find_patterned(active: bpy.types.Object | None, layer: bpy.types.ViewLayer) -> list[bpy.types.Object]:
    """The objects whose patterns are worked on: the active object, or those that the active armature deforms."""
    if active is None or active.type not in ("MESH", "ARMATURE"):
        return []
    if active.type == "MESH":
        return [active] if settings_of(active).patterns else []
    return [obj for obj in list_deformed(layer, active) if settings_of(obj).patterns]


def read_skin(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> PosedSkin:
    """An object's skin as a depsgraph has it, with the charts of its patterns."""
    return read_posed_skin(obj, depsgraph, settings_of(obj).pattern_key)


def find_covering(obj: bpy.types.Object, charts: MeshCharts, point: SurfacePoint) -> int:
    """Index of the pattern that covers a surface point, the active pattern before others; -1 where none does."""
    settings = settings_of(obj)
    order = sorted(range(len(settings.patterns)), key=lambda index: index != settings.active_pattern)
    for index in order:
        pattern = settings.patterns[index]
        try:
            if pattern.show and covers(charts.mesh, make_chart(charts, pattern), point):
                return index
        except SkinningError:
            continue  # it lies nowhere, and the panel says why
    return -1
