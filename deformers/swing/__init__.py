"""Swing: parts lag behind an action and settle, computed from the whole action without a simulation.

`parts` chooses the bones that swing and their springs. `chains` computes rotations of bones from their paths, with the
exact spring of `springs` and the paths of `paths`. `regions` makes a bone for a painted region of flesh.
"""
