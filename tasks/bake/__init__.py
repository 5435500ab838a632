"""Bakes: a frame range as shape keys or as PC2 point caches, which render the same without Supple.

`caches.py` and `shape_keys.py` are the entrances for one process; both go through `posed_frames.py`. `parts.py` and
`joining.py` are for several, and `inputs.py` reads whether they bake the same. `apply.py` has a file play a folder
of caches; how an object plays its bake is in `tasks/skin/baked.py`.
"""
