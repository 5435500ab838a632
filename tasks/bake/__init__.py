"""Bakes: a frame range as shape keys or as PC2 point caches, which render the same without Supple.

`caches.py` and `shape_keys.py` are the entrances; both go through `posed_frames.py`. How an object plays its bake is in
`tasks/skin/baked.py`.
"""
