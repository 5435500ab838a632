"""Weights: automatic ones, edits, lines and the brush."""

from . import automatic, brush, edits, lines

CLASSES = (
    automatic.SUPPLE_OT_weights_auto,
    edits.SUPPLE_OT_weights_smooth,
    edits.SUPPLE_OT_weights_sharpen,
    edits.SUPPLE_OT_weights_limit,
    edits.SUPPLE_OT_weights_normalize,
    edits.SUPPLE_OT_weights_stiffen,
    edits.SUPPLE_OT_weights_prune,
    edits.SUPPLE_OT_weights_mirror,
    edits.SUPPLE_OT_weights_transfer,
    edits.SUPPLE_OT_weights_clean,
    edits.SUPPLE_OT_weights_check,
    edits.SUPPLE_OT_weights_select,
    lines.WeightLineMove,
    lines.SUPPLE_OT_weight_lines,
    brush.WeightTouch,
    brush.SUPPLE_OT_weights_brush,
)
