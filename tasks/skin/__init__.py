"""Deformation of a character: bind, live, evaluated by nodes, baked.

`model` has meshes bound by a method. Operators and the command line call `bind`. The preview and bakes call
`evaluators` at each step: `by_blender`, `by_stretch` and `by_python` behind one interface. `particles` and `inspect`
report.
"""
