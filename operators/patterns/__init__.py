"""Patterns: the library, sets, placing by the mouse, strokes, height maps."""

from . import library, maps, place, strokes

CLASSES = (
    library.SUPPLE_OT_asset_library_add,
    library.SUPPLE_OT_asset_library_remove,
    library.SUPPLE_OT_pattern_add,
    library.SUPPLE_OT_pattern_set_add,
    library.SUPPLE_OT_pattern_remove,
    library.SUPPLE_OT_pattern_remove_all,
    library.SUPPLE_OT_pattern_mirror,
    library.SUPPLE_OT_pattern_save,
    library.SUPPLE_OT_pattern_forget,
    place.SUPPLE_OT_pattern_place,
    strokes.SUPPLE_OT_pattern_stroke,
    maps.SUPPLE_OT_pattern_maps,
)
