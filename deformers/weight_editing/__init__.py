"""Weights changed, moved and checked: dense arrays in, dense arrays out.

`edits`, `mirror`, `transfer` and `checks` are each a door of their own; `lines` finds and moves the lines along which
weight passes from bone to bone. `solid_smoothing` smooths through the body.
"""
