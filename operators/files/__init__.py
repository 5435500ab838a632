"""Bakes, farm jobs and engine copies: results for other files and programs."""

from . import bake, engine_copy, farm

CLASSES = (
    bake.SUPPLE_OT_bake_shape_keys,
    bake.SUPPLE_OT_bake_cache,
    bake.SUPPLE_OT_clear_bake,
    engine_copy.SUPPLE_OT_engine_copy,
    engine_copy.SUPPLE_OT_engine_copy_export,
    engine_copy.SUPPLE_OT_engine_copy_show,
    engine_copy.SUPPLE_OT_engine_copy_frame,
    farm.SUPPLE_OT_send_to_farm,
)
