"""Meshes and solids, which all other rooms use.

`solid.read_surface` makes a surface of points and triangles; `solid_cells.link_cells` cuts it into linked cells.
"""
