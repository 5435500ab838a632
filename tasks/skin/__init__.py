"""Deformation of a character: bind, live, evaluated by nodes, baked.

`model` has what all else poses: a mesh bound by a method. `bind` is what operators and the command line call.
`evaluators` has what the preview and bakes call at each step: `by_nodes` and `by_python` behind one face. `particles`
and `inspect` report what there is.
"""
