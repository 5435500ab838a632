"""Weights changed, moved and checked: dense arrays in, dense arrays out.

`edits`, `mirror`, `transfer` and `checks` are each a door of their own. `lines` finds the lines where weight passes
from bone to bone, and computes the weights once they are moved; behind it stand `line_fields`, `line_moves` and
`line_picking`. `solid_smoothing` smooths through the solid.
"""
