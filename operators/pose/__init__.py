"""Poses and motions: Drag Skin, loops and joined actions, swing."""

from . import drag_skin, motion, swing

CLASSES = (
    motion.SUPPLE_OT_motion_compare,
    motion.SUPPLE_OT_motion_loop,
    motion.SUPPLE_OT_motion_join,
    swing.SUPPLE_OT_swing_add,
    swing.SUPPLE_OT_swing_update,
    swing.SUPPLE_OT_swing_remove,
    drag_skin.SUPPLE_OT_drag_skin,
    drag_skin.SUPPLE_OT_clear_pins,
)
