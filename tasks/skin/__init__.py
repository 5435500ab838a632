"""Deformation of a character: bind, live, evaluated by nodes, baked.

`bind` and `bake` are what operators and the command line call, `live` what the preview calls at each change;
`by_nodes` and `by_python`, the two ways to evaluate, stand behind them. `particles` and `inspect` report what there is.
"""
