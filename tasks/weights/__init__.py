"""Weights of a character's meshes.

`automatic.assign_weights` finds them, `edits` changes them, `checks` tells what is wrong, `lines` moves them along
the skin. Behind them stand `parts`, `copies`, `line_mirror` and `reports`.
"""
