"""Corrections: sculpted in a pose, computed from Particles, or taken from another mesh."""

from . import computed, sculpted

CLASSES = (
    sculpted.SUPPLE_OT_correct_pose,
    sculpted.SUPPLE_OT_correction_keep,
    sculpted.SUPPLE_OT_correction_discard,
    sculpted.SUPPLE_OT_correction_edit,
    sculpted.SUPPLE_OT_correction_pose,
    sculpted.SUPPLE_OT_correction_select,
    sculpted.SUPPLE_OT_correction_remove,
    computed.SUPPLE_OT_corrections_from,
    computed.SUPPLE_OT_flesh_add,
    computed.SUPPLE_OT_flesh_pick,
    computed.SUPPLE_OT_flesh_take,
    computed.SUPPLE_OT_flesh_close,
    computed.SUPPLE_OT_flesh_remove,
)
