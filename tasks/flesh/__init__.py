"""Flesh: shape keys that give a skin at each joint the best of several shapes, among them that of an elastic solid.

`joints` says which joints are bent and how far, `character` poses the meshes, `plan` chooses and fits, `add` stores.
"""
