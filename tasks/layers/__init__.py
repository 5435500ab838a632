"""Stay Outside: clothes over a body, with what node modifiers need so that none pierces another.

Its doors are `add` and `mend`; `read` finds the layers, `present` those that a character has.
"""
