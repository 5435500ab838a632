"""Weights changed, moved and checked: from dense arrays to dense arrays.

`edits`, `mirror`, `transfer` and `checks` are used separately. `lines` finds the lines at which weight changes from
bone to bone, and computes the weights once they are moved, with `line_fields`, `line_moves` and `line_picking`.
`solid_smoothing` smooths through the solid.
"""
