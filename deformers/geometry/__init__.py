"""Meshes and solids: what every other room stands on.

`solid.read_surface` makes a surface of points and triangles, `solid_cells.link_cells` cuts it into linked cells.
Distances along a surface, its unfolding, its Laplacian and lines on it are modules of their own; `neighbors` and
`vectors` are small change that all of them use.
"""
