"""Swing: tails, ears and hair that lag and settle, as keys in the actions themselves.

Its doors are in `add`, and `remove_swing`. `choose` finds the parts, `actions` whose actions they are.
"""
