"""Swing: what lags behind an action and settles, as a function of the whole action, without a simulation.

`parts` says which bones swing, and how; `chains` makes of their paths how each bone rotates in each frame, with the
exact spring of `springs` and the paths of `paths`.
"""
