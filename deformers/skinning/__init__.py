"""Skinning by blends of joint transforms: one module for each method, SSD, DLB, DLBNT and Centers.

Each has `Params`, `bind`, `deform`, `vertex_transforms` and `with_points`, and a list of stages for `blending`, which
does the work.
"""
