"""Deformation of a character: bind, live, evaluated by nodes, baked.

`bind` and `bake` are what operators and the command line call, `live` what the preview calls at each change;
`by_nodes` stands behind them. `particles` and `inspect` tell what is there.
"""
