"""Corrections: shape keys sculpted on a posed character, and driven by its bones.

`posed_copy` makes and removes the copies to sculpt, `keep` turns them into keys, `keys` stores these.
"""
