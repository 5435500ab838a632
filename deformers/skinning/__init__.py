"""Skinning by blends of joint transforms: one module for each method, SSD, DLB and DLBNT.

Each is `Params`, `bind`, `deform`, `vertex_transforms` and `with_points`, and a row of stages for `blending`, which
does the work. `polar` and `dual_quaternions` take joint transforms apart.
"""
