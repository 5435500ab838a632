"""Stay Outside: clothes over a body, with what node modifiers need so that none pierces another.

Its doors are `add`, `remove` and `mend`; `read` finds the layers.
"""
