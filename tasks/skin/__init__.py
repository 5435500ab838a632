"""Deformation of a character: bind, live, evaluated by nodes, baked.

`model` has what all else poses: a mesh bound by a method. `bind` is what operators and the command line call, `live`
(by Python) and `by_nodes` what the preview calls at each change. `particles` and `inspect` report what there is.
"""
