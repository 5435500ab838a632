"""Swing: tails, ears and hair that lag and settle, as keys in the actions themselves.

`add` and `remove` are the entrances; `choose` finds the parts, `read` how actions move them, `report` says what was
done.
"""
