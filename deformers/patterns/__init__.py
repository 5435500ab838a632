"""Skin patterns: height maps on the skin that appear and disappear with the angles of joints.

`heights` is the law of a pattern. `charts` lays it on a `chart_mesh`, at `surface_points` or along `strokes`, and
`rasters` draws it into UV maps. `library` has eleven patterns, made of `shapes`.
"""
