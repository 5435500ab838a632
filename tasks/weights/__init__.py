"""Weights of a character's meshes.

`automatic.assign_weights` computes them, `edits` changes them, `checks` reports mistakes, `lines` moves weight lines.
Behind them stand `parts`, `copies`, `line_mirror`, `group_writer` and `reports`.
"""
